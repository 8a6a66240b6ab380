"""What the boxes with relations mean, a tuple at a time; one file for each of `arterial.boxes.relations`.

Begin with `read_relation`.
"""
