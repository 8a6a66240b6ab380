"""What the boxes that put tuples together mean, a tuple at a time; one file for each of `arterial.boxes.joins`.

Begin with `join`.
"""
