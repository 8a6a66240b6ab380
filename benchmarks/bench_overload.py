"""Linear Road on Spark beyond its rating: what `check` predicts at two L, and what shedding makes of 1.5 × as much.

Costs are those of an earlier, shorter run; what is reached counts from the middle of a run on, when memory is touched
and Java's code compiled.

`ARTERIAL_BENCH_CITY` may name a folder with `city` and `history`, made before (`linear-road simulate`, `history`).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from arterial.engine.run.control.controllers import cores_here
from arterial.engine.run.figures.status import find_checkpoint
from arterial.figures.step import StepFigures
from arterial.figures.steps_file import read_steps
from arterial.figures.window import Window
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.semantics.profiles import SPEC
from arterial.service.analysis import analyse
from arterial.service.load import measure as load_in
from arterial.service.shedding.greedy import Choices
from arterial.service.shedding.optimum import uniform
from arterial.service.shedding.overload import late
from arterial.service.utility import total, utilities
from benchmarks.figure import Figure

SECONDS, PEAK_SECOND = 420, 9_600
TWO = (128, 512)
OVER = 1.5
EARLIER_UNTIL, LATER_UNTIL, OVER_UNTIL = 240, 400, 300
NETWORK = linear_road_network(SPEC, History())


def measure() -> list[Figure]:
    """Run it as fast as it can with three numbers of expressways, then with more than it can do."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        kit = Path(os.environ["ARTERIAL_BENCH_CITY"]) if "ARTERIAL_BENCH_CITY" in os.environ else _made(folder)
        figures, reached = [], {}
        for xways in TWO:
            earlier, later = folder / f"earlier-{xways}", folder / f"later-{xways}"
            _run(kit, earlier, "--replicate", xways, "--speed", "max", "--until", EARLIER_UNTIL)
            said = _run(kit, later, "--replicate", xways, "--speed", "max", "--until", LATER_UNTIL)
            steps = _busy(list(read_steps(find_checkpoint(later))))
            steps = steps[len(steps) // 2 :]
            reached[xways] = _tuples(steps, "reports") / sum(step.seconds for step in steps)
            figures.append(_predicted(_busy(list(read_steps(find_checkpoint(earlier)))), xways, reached[xways]))
        a_second = said["window_reports"] / (TWO[1] * LATER_UNTIL)
        return [*figures, *_overloaded(kit, folder, reached[TWO[1]], OVER * reached[TWO[1]] / (TWO[1] * a_second))]


def _made(folder: Path) -> Path:
    span = ("--xways", 1, "--seconds", SECONDS, "--start-at", PEAK_SECOND, "--seed", 1)
    _arterial("simulate", "--out", folder / "city", *span)
    _arterial("history", "--data", folder / "city", "--out", folder / "history")
    return folder


def _predicted(steps: list[StepFigures], xways: int, reached: float) -> Figure:
    share = _tuples(steps, "requests") / _tuples(steps, "reports")
    longest = max(step.sources["reports"].tuples for step in steps)
    found = analyse(Window(math.inf, steps), NETWORK, {"reports": 1.0, "requests": share}, cores_here(), 0.8, longest)
    assert found is not None
    remark = f"predicted {found.saturates_at:,.0f} by an earlier run, reached {reached:,.0f} reports/s"
    return Figure(
        f"check: error of the saturation, Linear Road at L = {xways}", abs(found.saturates_at / reached - 1), "share",
        at_most=0.2, remark=remark,
    )  # fmt: skip


def _overloaded(kit: Path, folder: Path, reached: float, speed: float) -> list[Figure]:
    """1.5 times the reports a second that were reached, by the clock."""
    out = folder / "over"
    words = ("--replicate", TWO[1], "--speed", f"{speed:.2f}", "--until", OVER_UNTIL, "--shed")
    said = _run(kit, out, *words)
    steps = _busy(list(read_steps(find_checkpoint(out))))
    began = steps[0].born
    steady = Window(math.inf, [step for step in steps if step.born - began > 10])
    lates = [step.born + step.seconds - began for step in steps if late(NETWORK, step)]
    load = load_in(steady, NETWORK, cores_here())
    assert load is not None
    choices = Choices.of(load)
    worth, alike = total(NETWORK, utilities(steady, NETWORK)), choices.utility(uniform(choices, load.work(load.kept)))
    left_out = ", ".join(f"{arc} {number:,}" for arc, number in said["left_out"].items())
    times = "; ".join(f"{kind} p99 {one['p99']:.2f} s" for kind, one in said["responses"].items() if one["answers"])
    what = f"Linear Road on Spark at {OVER:g} × {reached:,.0f} reports/s"
    return [
        Figure(f"{what}: good zones again after", max(lates, default=0.0), "s", at_most=10, remark=times),
        Figure(f"{what}: utility", worth, "", remark=f"left out: {left_out or 'nothing'}"),
        Figure(f"{what}: utility above that of leaving out alike", worth - alike, "", at_least=0.0),
    ]


def _busy(steps: list[StepFigures]) -> list[StepFigures]:
    """The steps that read reports, without the first two."""
    return [step for step in steps if step.sources["reports"].tuples][2:]


def _tuples(steps: list[StepFigures], source: str) -> int:
    return sum(step.sources[source].tuples for step in steps if source in step.sources)


def _run(kit: Path, out: Path, *words: object) -> dict[str, Any]:
    history = kit / "history"
    given = ("--data", kit / "city", "--tolls", history, "--segments", history, "--out", out, "--json")
    said: dict[str, Any] = json.loads(_arterial("run", *given, *words))
    return said


def _arterial(*words: object) -> str:
    command = [sys.executable, "-c", "from arterial.cli.main import main; main()", "linear-road", *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
