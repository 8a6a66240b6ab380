"""The ten weeks before: made by a Spark job, kept as memory-mapped columns, looked up by the stream.

Others import `make` (the job), `lookup` (the look-up form) and `travel_time` (its kernel). Begin with `lookup`.
"""
