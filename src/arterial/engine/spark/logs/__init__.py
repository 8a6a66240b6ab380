"""Spark's own files in a checkpoint: its logs, what is damaged in them, what a power cut left.

Others may import all of it. Begin with `offset_log`; `damage` names the file that is damaged and what to do.
"""
