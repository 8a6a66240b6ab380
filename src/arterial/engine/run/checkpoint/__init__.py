"""The folder of a run: made, locked, checked, trusted, copied aside, and cleared for a new start.

Others may import all of it. Begin with `folder`, then `manifest`, which says what a checkpoint was made with.
"""
