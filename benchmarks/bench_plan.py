"""Sizing: what `arterial linear-road plan` says of three numbers of expressways, against runs of them in real time.

Costs come from a run in real time and one as fast as possible. `ARTERIAL_BENCH_CITY` may name a folder with
`city`, made before.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from arterial.engine.run.checkpoint.folder import find_checkpoint
from arterial.engine.run.control.controllers import cores_here
from arterial.figures.step import StepFigures
from arterial.figures.steps_file import read_steps
from arterial.figures.window import Window
from benchmarks.figure import Figure

PEAK_SECOND, SECONDS, WINDOW = 9_600, 180, (120, 180)
PACED, FREE, PLANNED = 16, 64, (8, 32, 128)
"""The runs that costs are taken from, and those that are planned."""
ERROR = 0.25


def measure() -> list[Figure]:
    """How far each statement of the plan is from the run."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        city = Path(os.environ.get("ARTERIAL_BENCH_CITY", folder)) / "city"
        if not city.exists():
            span = ("--seconds", SECONDS, "--start-at", PEAK_SECOND, "--seed", 1)
            _arterial("simulate", "--out", city, "--xways", 1, *span)
        known = [folder / "free", folder / "paced"]
        _arterial("run", "--data", city, "--out", known[0], "--replicate", FREE, "--speed", "max", "--json")
        _real_time(city, known[1], PACED)
        return [figure for xways in PLANNED for figure in _compared(city, known, folder / f"run-{xways}", xways)]


def _real_time(city: Path, out: Path, xways: int) -> dict[str, Any]:
    window = ("--from", WINDOW[0], "--until", WINDOW[1])
    said: dict[str, Any] = json.loads(
        _arterial("run", "--data", city, "--out", out, "--replicate", xways, *window, "--json")
    )
    return said


def _compared(city: Path, known: list[Path], out: Path, xways: int) -> list[Figure]:
    said = _real_time(city, out, xways)
    steps = _in_real_time(list(read_steps(find_checkpoint(out))))
    span = steps[-1].born + steps[-1].seconds - steps[0].born
    reports = sum(step.sources["reports"].tuples for step in steps) / span
    words = ["--xways", xways, "--reports", reports / xways, "--cores", cores_here(), "--json"]
    plan = json.loads(_arterial("plan", *words, *(word for run in known for word in ("--figures", run))))
    ran = {
        "work": sum(box.seconds for step in steps for box in step.boxes.values()) / span,
        "step": statistics.median(step.seconds for step in steps),
        "delay": max(times["worst"] for times in said["responses"].values() if times["answers"]),
        "state": sum(slot.state_bytes for slot in steps[-1].slots),
        "written": Window(math.inf, steps).state_written / span,
    }
    return [
        Figure(
            f"plan: error of {name}, Linear Road at L = {xways}", abs(plan[name] / value - 1), "share", at_most=ERROR,
            remark=f"planned {plan[name]:,.3g}, measured {value:,.3g}; {reports:,.0f} reports/s",
        )
        for name, value in ran.items()
    ]  # fmt: skip


def _in_real_time(steps: list[StepFigures]) -> list[StepFigures]:
    """Those that read the window, without its first seconds: before it the run never rests."""
    read = [step for step in steps if step.sources["reports"].tuples]
    end = read[-1].born
    return [step for step in read if end - step.born < WINDOW[1] - WINDOW[0] - 10]


def _arterial(*words: object) -> str:
    command = [sys.executable, "-m", "arterial", "linear-road", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:  # 1: the cores are not enough
        raise RuntimeError(done.stderr)
    return done.stdout
