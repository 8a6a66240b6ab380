"""Boxes that look at tuples one by one, or pass them on in other groups or order. Begin with `filter`."""
