"""Moving queries over a file of events as a streaming job of Spark, through the engine.

Others import `run` and `network`. Begin with `network`.
"""
