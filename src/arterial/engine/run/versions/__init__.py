"""Versions of a network that runs: asked for, decided, kept in the checkpoint, and taken up between two trains.

Others may import all of it. Begin with `versions`; `requests` is how another process asks.
"""
