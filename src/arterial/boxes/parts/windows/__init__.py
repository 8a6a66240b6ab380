"""Windows over streams: where they begin and end, and the aggregates over them.

For the boxes with windows. Begin with `cut` (which tuples a window has), then `accumulate` (aggregates of many windows
at once); `recompute` and `running` serve windows that overlap, `sessions` those that end with silence.
"""
