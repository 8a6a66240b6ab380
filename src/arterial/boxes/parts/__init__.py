"""What several boxes are made of: groups, windows, running values, kernels. Nothing here is a box.

For the boxes of this package and of `arterial.moving`. Begin with `groups` (how tuples meet their group's state) and
the room `windows`.
"""
