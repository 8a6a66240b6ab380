"""The Spark host: session, the data source that plans steps, the stateful step of each level, the task.

Others import `session.spark_session`. Begin with `levels` (a level as a step of Spark), then `task` (what a task does).
"""
