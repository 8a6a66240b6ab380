"""The life of a run: bind sources and sinks, lock the checkpoint, start the query, take in reports, end.

Others import `run.run`, `run.Settings` and `run.Run`. Begin with `run`.
"""
