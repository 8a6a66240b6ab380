"""What the boxes over signed streams mean, a tuple at a time; one file for each of `arterial.boxes.signed`.

Begin with `distinct`.
"""
