"""What sources, outputs, connection points and views mean, a tuple at a time; a file for each of `boxes.ends`.

Begin with `source`.
"""
