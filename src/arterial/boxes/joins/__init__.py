"""Boxes that put a tuple together with others: of another stream, or earlier ones of its own. Begin with `join`."""
