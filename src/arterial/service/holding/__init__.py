"""Holding (Aurora §4.3): which branches wait when not all outputs can be in time, and for how long.

`holder` is what a run calls; it holds back `branches`. `waits` counts what has waited too long, for utility. Other
rooms may import all three; they import `load` and `utility`. Begin with `branches`.
"""
