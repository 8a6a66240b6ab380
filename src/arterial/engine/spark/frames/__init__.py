"""Spark's own streaming DataFrames as sources and sinks of a run."""
