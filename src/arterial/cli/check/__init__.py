"""`arterial check`: what a network can bear, by its figures, and `--replay`, which tries it.

Begin with `check`; nothing outside of the commands imports from here.
"""
