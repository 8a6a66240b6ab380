"""Linear City's traffic: a microscopic simulation of its expressways (VLDB 2004, §3.1.1).

Others import `job` (the simulation as a Spark job) and `settings`. Begin with `expressway`, then the room `model`.
"""

from pathlib import Path

from arterial.linearroad.simulate.stale import forget_stale_kernels

forget_stale_kernels(Path(__file__).parent)
