"""Spark's own files in a checkpoint: its logs, what is damaged in them, what a power cut left."""
