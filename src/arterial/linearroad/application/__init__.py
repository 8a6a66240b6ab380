"""Linear Road as an application of the engine: its network, its feed, its answers, its run.

Others import `run.LinearRoadRun` and `feed`. Begin with `network` (the boxes and arcs), then `run`.
"""
