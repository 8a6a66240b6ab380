"""Load shedding (Aurora §4.5): which tuples to leave out, and where, so that the least utility is lost.

`shedder` is what a run calls; it asks `overload` how much is too much, and `greedy` what to leave out at the drop
points that `points` finds. `curve` and `upstream` are about shedding by value; `optimum` is the yardstick. Begin with
`greedy`.
"""
