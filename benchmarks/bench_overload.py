"""Linear Road on Spark beyond its rating: what `check` predicts at two L, and what shedding makes of up to 4 × as much.

Costs are those of an earlier, shorter run; what is reached counts from the middle of a run on, when memory is touched
and Java's code compiled. For the same reason an overload comes when a run has been at work: the first minute of a city
that begins full takes seconds once, since all its vehicles begin a trip in it.

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

from arterial.engine.run.checkpoint.folder import find_checkpoint
from arterial.engine.run.control.controllers import cores_here
from arterial.figures.step import StepFigures
from arterial.figures.steps_file import read_steps
from arterial.figures.window import Window
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.semantics.profiles import SPEC
from arterial.service.load import measure as load_in
from arterial.service.prediction.analysis import analyse
from arterial.service.shedding.greedy import Choices
from arterial.service.shedding.optimum import uniform
from arterial.service.shedding.overload import late
from arterial.service.utility import total, utilities
from benchmarks.figure import Figure

SECONDS, PEAK_SECOND = 800, 9_600
TWO = (128, 512)
OVER = (1.5, 2, 4)
OVER_SECONDS, WARM_UNTIL = 25, 70
"""An overload lasts so long by the clock, at most; what came before this second of the data is worked off first."""
EARLIER_UNTIL, LATER_UNTIL = 240, 400
NETWORK = linear_road_network(SPEC, History())


def measure() -> list[Figure]:
    """Run it as fast as it can with two numbers of expressways, then with more than it can do."""
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
        a_second = said["window_reports"] / LATER_UNTIL
        for times in OVER:
            figures += _overloaded(kit, folder / f"over-{times}", times, reached[TWO[1]], a_second)
        return figures


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


def _overloaded(kit: Path, out: Path, times: float, reached: float, a_second: float) -> list[Figure]:
    """So many times the reports a second that were reached, by the clock; `a_second` is what a second of data has."""
    speed = times * reached / a_second
    until = min(SECONDS, WARM_UNTIL + round(OVER_SECONDS * speed))
    words = ("--replicate", TWO[1], "--speed", f"{speed:.2f}", "--from", WARM_UNTIL, "--until", until, "--shed")
    said = _run(kit, out, *words)
    steps = [step for step in read_steps(find_checkpoint(out)) if step.sources["reports"].waiting is not None]
    began = steps[0].born
    steady = Window(math.inf, [step for step in steps if step.born - began > 10])
    lates = [step.born + step.seconds - began for step in steps if late(NETWORK, step)]
    first = next((step.born - began for step in steps if step.shed), math.inf)
    load = load_in(steady, NETWORK, cores_here())
    assert load is not None
    choices = Choices.of(load)
    worth, alike = total(NETWORK, utilities(steady, NETWORK)), choices.utility(uniform(choices, load.work(load.kept)))
    left_out = ", ".join(f"{arc} {number:,}" for arc, number in said["left_out"].items())
    worst = max(output.delay for step in steps for output in step.outputs.values() if output.tuples)
    what = f"Linear Road on Spark at {times:g} × {reached:,.0f} reports/s"
    remark = (
        f"worst delay {worst:.1f} s; first left out {first:.1f} s after it began; {steps[-1].born - began:.0f} s long"
    )
    return [
        Figure(f"{what}: good zones again after", max(lates, default=0.0), "s", at_most=10, remark=remark),
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
