"""What moving queries are and mean, in plain Python: events, space, the skeleton of GPAC and its instances.

Begin with `skeleton`; `brute` gives the answers by definition.
"""
