"""Shared execution: all queries over one grid of objects, a time unit at a time, in compiled kernels (§3.4).

Others import `shared.SharedExecution` and `state`. Begin with `shared`, then `grid`.
"""
