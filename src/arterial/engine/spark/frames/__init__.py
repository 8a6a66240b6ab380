"""Spark's own streaming DataFrames as sources and sinks of a run.

Others import `frame_source.FrameSource` and `frame_sink.FrameSink`. Begin with `frame_source`.
"""
