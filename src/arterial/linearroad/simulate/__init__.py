"""Linear City's traffic: a microscopic simulation of its expressways (VLDB 2004, §3.1.1)."""

from pathlib import Path

from arterial.linearroad.simulate.stale import forget_stale_kernels

forget_stale_kernels(Path(__file__).parent)
