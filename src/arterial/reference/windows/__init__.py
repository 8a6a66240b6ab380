"""What the boxes with windows mean, a tuple at a time; one file for each of `arterial.boxes.windows`.

Begin with `tumble`.
"""
