"""Expressions: the text of an expression to a typed tree, and the tree to whole columns at a time.

Others import `parser.parse`, `tree`, `vectorised` and `function`. Begin with `tree`.
"""
