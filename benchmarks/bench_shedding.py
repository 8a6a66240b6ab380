"""Load shedding by the real clock: runs in this process at 1.5, 2 and 4 times what they can do, and back.

Every box has a known price: it rests so long for each tuple. So the machine's own speed matters little, the best plan
of all is known, and several runs can go on beside each other. Linear Road on Spark is in `bench_overload`.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl
from tests.service.networks import FAN_OUT_COST, JOIN_COST, fan_out, join, load_of, slowed

from arterial import FileSource, NetworkValue, Settings
from arterial.arrays import Array
from arterial.engine.run.local import run_locally
from arterial.figures.step import StepFigures
from arterial.figures.steps_file import read_steps
from arterial.figures.window import Window
from arterial.network.network import Port
from arterial.service.shedding.greedy import Choices, Plan
from arterial.service.shedding.optimum import optimum, uniform
from arterial.service.shedding.overload import late
from arterial.service.utility import total, utilities
from arterial.service.values import histogram
from benchmarks.figure import Figure

SLOWER = 1.5
"""The prices of the test networks, so many times: some 8,000 tuples a second are as much as can be done."""
HEADROOM = 0.9
BEFORE, BURST, AFTER = 8, 24, 14
LOW = 0.4
TIMES = (1.5, 2.0, 4.0)
AT_ONCE = 3
SELECTIVITY = {"fan-out": {"d": 0.2}, "join": {"some": 0.5, "pairs": 0.5, "rare": 0.1}}


@dataclass(frozen=True)
class Seen:
    """What became of a run."""

    back: float
    """Seconds from the begin of the burst to the end of the last late step in it; 0 if none was late."""
    again: float
    """Seconds from the end of the burst to the last step that left something out."""
    late_after: int
    """Late steps after that."""
    utility: float
    changes: int
    """How often the plan was changed, after the first ten seconds."""


def measure() -> list[Figure]:
    """All runs, some at once."""
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        wanted = [(name, times) for name in ("fan-out", "join") for times in TIMES]
        found = dict(zip(wanted, pool.map(_burst, *zip(*wanted, strict=True)), strict=True))
        swings = pool.submit(_swing).result()
    figures = []
    for (name, times), seen in found.items():
        what = f"shedding: {name} at {times:g} ×"
        choices = _choices(name)
        capacity = choices.work(Plan()) / times * HEADROOM
        best, alike = (choices.utility(plan(choices, capacity)) for plan in (optimum, uniform))
        remark = f"reached {seen.utility:.3f}, best {best:.3f}, alike everywhere {alike:.3f}"
        figures += [
            Figure(f"{what}, every output in its good zone again after", seen.back, "s", at_most=10),
            Figure(f"{what}, utility", seen.utility / best, "of the best", at_least=0.95, remark=remark),
            Figure(f"{what}, utility above that of leaving out alike", seen.utility - alike, "", at_least=0.0),
            Figure(f"{what}, nothing is left out any more after", seen.again, "s", at_most=10),
        ]
    figures.append(Figure("shedding: changes of the plan, load 1 ± 0.15, 30 s", swings.changes, "changes", at_most=3))
    return figures


def _network(name: str) -> tuple[NetworkValue, dict[str, float]]:
    value, cost = (fan_out("timestamp"), FAN_OUT_COST) if name == "fan-out" else (join("timestamp"), JOIN_COST)
    return slowed(value, {box: SLOWER * price for box, price in cost.items() if value.box(box).inputs})


def _choices(name: str) -> Choices:
    value, cost = _network(name)
    load = load_of(value, cost, 1.0, SELECTIVITY[name])
    return Choices.of(load, {"valued": _values()} if name == "fan-out" else {})


def _values() -> dict[str, int]:
    return histogram(pl.Series("v", _speeds(10_000) * 1.6), ((0.0, 0.0), (80.0, 0.2), (160.0, 1.0)))


def _speeds(number: int) -> Array:
    return np.arange(number) * 7 % 125.0 + 0.0


def _burst(name: str, times: float) -> Seen:
    return _run(name, lambda t: times if BEFORE <= t < BEFORE + BURST else LOW, BEFORE + BURST + AFTER)


def _swing() -> Seen:
    return _run("fan-out", lambda t: 1 + 0.15 * math.sin(2 * math.pi * t / 3), 30)


def _run(name: str, load: Callable[[float], float], seconds: int) -> Seen:
    value, cost = _network(name)
    rate = 1 / load_of(value, cost, 1.0, SELECTIVITY[name]).work()
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        sources = {
            box.name: _data(folder, box.name, value, rate, load, seconds) for box in value.boxes if not box.inputs
        }
        settings = Settings(shards=1, schedule="trains", shed=True, headroom=HEADROOM)
        running = run_locally(value, sources, {}, folder / "c", settings)
        running.wait()
        return _seen(value, list(read_steps(running.checkpoint)))


def _data(
    folder: Path, name: str, value: NetworkValue, rate: float, load: Callable[[float], float], seconds: int
) -> FileSource:
    """Tuples by the load at every tenth of a second."""
    counts = [round(rate * load(tenth / 10) / 10) for tenth in range(10 * seconds)]
    times = np.concatenate([1e5 * (tenth + np.arange(n) / max(n, 1)) for tenth, n in enumerate(counts)]).astype(
        np.int64
    )
    stream = value.streams[Port(name, "out")]
    order = np.arange(len(times))
    columns = {
        "time": pl.Series(times).cast(pl.Datetime("us")), "vehicle": order, "speed": _speeds(len(times)),
        "k": order * 7919 % int(20 * rate), "x": order % 4 * 0.5, "y": (order % 10 == 0) * 1.0,
    }  # fmt: skip
    frame = pl.DataFrame({one: columns[one] for one in stream.schema.names}).cast(
        {one.name: one.type.polars for one in stream.schema}
    )
    frame.write_parquet(folder / f"{name}.parquet")
    return FileSource(folder / f"{name}.parquet", speed=1.0)


def _seen(value: NetworkValue, steps: list[StepFigures]) -> Seen:
    began = steps[0].born
    ends = [(step.born - began, step.born + step.seconds - began, step) for step in steps]
    burst = [end for _, end, step in ends if BEFORE <= end < BEFORE + BURST + 1 and late(value, step)]
    shed = [at for at, _, step in ends if step.shed and at > BEFORE + BURST]
    again = max(shed, default=BEFORE + BURST) - BEFORE - BURST
    steady = [step for at, _, step in ends if BEFORE + 10 < at < BEFORE + BURST]
    histograms = {"valued": _values()} if any(box.name == "valued" for box in value.boxes) else {}
    utility = total(value, utilities(Window(math.inf, steady), value, histograms)) if steady else 0.0
    plans = [frozenset(step.shed) for at, _, step in ends if at > 10]
    return Seen(
        max(burst, default=float(BEFORE)) - BEFORE,
        again,
        sum(bool(late(value, step)) for at, _, step in ends if at > BEFORE + BURST + again),
        utility,
        sum(one != other for one, other in pairwise(plans)),
    )
