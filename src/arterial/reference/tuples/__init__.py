"""What the boxes that look at tuples one by one mean, a tuple at a time; a file for each of `boxes.tuples`.

Begin with `filter`.
"""
