"""What a process tree uses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from arterial.linearroad.rate.meter import Meter, machine

BUSY = """
import subprocess, sys
child = "block = b'x' * 150_000_000\\nx = 0\\nwhile x < 3e7: x += 1"
subprocess.run([sys.executable, "-c", child], check=True)
"""


@pytest.mark.thorough
def test_children_count_too() -> None:
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    meter = Meter(process.pid)
    process.wait()
    usage = meter.stop()
    assert usage.memory > 150_000_000
    assert usage.cores > 0


def test_the_machine_is_named() -> None:
    assert set(machine()) == {"processor", "cores", "memory_gib"}
