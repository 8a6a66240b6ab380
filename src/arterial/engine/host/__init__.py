"""Runs the levels of a plan in one slot, the same on every host: here without Spark, in `engine.spark` with it.

Others import `inprocess.InProcess` (a whole network in this process) and `level.run_level`. Begin with `level`.
"""
