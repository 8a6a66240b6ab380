"""Boxes that read and change relations, and that wait for such a change (thesis ch. 5). Begin with `read_relation`."""
