"""Runs networks: on Spark, or in this process.

The rooms in the order of a tuple's way: `plan` (network to plan), `run` (the life of a run), `steering` (what the next
step does), `spark` and `host` (where it runs), `transport` (between slots), `state` (what is kept), `attach` (ad-hoc
queries). Others import from the rooms as their docstrings say. Begin with `run`.
"""
