"""The traffic simulator: one expressway of three hours on one core, its memory, and two expressways on two cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.peak import Peak

COMMAND = (sys.executable, "-m", "arterial", "linear-road", "simulate", "--json")
GB = 1e9


@dataclass(frozen=True)
class Run:
    """What one run of the command took."""

    seconds: float
    bytes: int
    reports: int


def measure() -> list[Figure]:
    """Three runs of the command, Spark's start included; the first, a short one, compiles the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        first = _run(place / "warm", "local[1]", "--seconds", "60")
        one = _run(place / "one", "local[1]")
        two = _run(place / "two", "local[2]", "--xways", "2")
    return [
        Figure("simulate: one expressway, 3 h, one core", one.seconds, "s", at_most=60),
        Figure("simulate: memory, Spark and Python together", one.bytes / GB, "GB", at_most=2),
        Figure("simulate: two expressways on two cores", two.seconds / one.seconds, "times one", at_most=1.3),
        Figure("simulate: position reports of one expressway", one.reports / 1e6, "million", at_least=11),
        Figure("simulate: first run, 60 s of traffic", first.seconds, "s", remark="compiles if need be"),
    ]


def _run(out: Path, master: str, *options: str) -> Run:
    started = time.monotonic()
    running = subprocess.Popen(
        [*COMMAND, "--out", str(out), *options],
        env={**os.environ, "ARTERIAL_MASTER": master},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    peak = Peak(running.pid)
    with peak:
        said, _ = running.communicate()
    if running.returncode:
        raise RuntimeError(f"simulate ended with {running.returncode}; run it by hand to see why")
    return Run(time.monotonic() - started, peak.bytes, int(json.loads(said)["reports"]))
