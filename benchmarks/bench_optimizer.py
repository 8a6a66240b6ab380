"""The optimizer on a network that is drawn badly on purpose: what a step costs before and after it has changed it.

An expensive Map before a selective Filter, columns that nobody needs, three Filters in a row, and a GPAC box above a
filter in Python that costs as much or more. CPU time of one process, on the in-process engine. The optimizer sees only
what it measures; the outputs before and after are compared.
"""

from __future__ import annotations

import statistics
import time
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from arterial import function
from arterial.connectors.memory_source import MemorySource
from arterial.drawing import Network
from arterial.engine.host.inprocess import InProcess
from arterial.engine.run.checkpoint.folder import FOLDER
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.engine.run.versions.optimizer import Optimizer, read_log
from arterial.figures.steps_file import read_steps
from arterial.moving import gpac_in
from arterial.network.network import NetworkValue
from arterial.network.train import Train
from benchmarks.figure import Figure

TUPLES = 50_000
STEPS = 20
UNNEEDED = 12
CITY = 10_000.0


def measure() -> list[Figure]:
    """What the change saves, and how soon it is in force."""
    before, after, changes, decided = _run(_badly_drawn())
    return [
        Figure(
            "optimizer: a badly drawn network, CPU of a step before against after", before / after, "times", at_least=2
        ),
        Figure("optimizer: changes until it stays", changes, "changes", at_most=3),
        Figure("optimizer: steps seen before the first change", decided, "steps", remark="patience: 6"),
        Figure("optimizer: the decision itself", 1e3 * _decision_seconds(), "ms"),
        *_flipped(),
    ]


@function(reads=["plate"], produces="bool")
def valid(plate: pl.Series) -> pl.Series:
    """Whether the check digits of a number plate are right: Python code, a value at a time."""
    return pl.Series([_check_digits(text) != 1 for text in plate.to_list()])


def _check_digits(text: str) -> int:
    """The remainder by which account numbers are checked: every sign as two digits, divided by 97."""
    return int("".join(f"{int(sign, 36):02d}" for sign in text)) % 97


def _badly_drawn() -> NetworkValue:
    net = Network("badly drawn")
    columns = {"time": int, "object": int, "x": float, "y": float, "plate": str, "speed": int}
    reports = net.source("reports", {**columns, **{f"spare{i}": int for i in range(UNNEEDED)}})
    words = reports.map("words", label="upper(concat(plate, concat('-', cast(object as varchar))))")
    some = words.filter("a", "speed > 5").filter("b", "x > 100").filter("c", "y > 100")
    some.filter("few", "object % 20 = 0").map("some columns", keep=["time", "object", "label"]).output("labels")
    near = gpac_in(reports.filter("valid", valid), "near", region=(0.0, 0.0, 1_500.0, 1_500.0), fixed=["plate"])
    near.map("few columns", keep=["time", "object", "x", "y"]).output("near_ones")
    return net.value


def _run(network: NetworkValue) -> tuple[float, float, int, int]:
    """CPU seconds of a step before the first change and after the last one, the changes, and when the first came."""
    host, calm = (InProcess(network, ordered_sources=["reports"]) for _ in range(2))
    spent: dict[int, list[float]] = {}
    decided: list[int] = []
    with TemporaryDirectory() as folder:
        optimizer = Optimizer(Path(folder), automatic=True)
        for number, train in enumerate(_trains()):
            began = time.process_time()
            outcomes = host.step_by_slot({"reports": [[train]]})
            spent.setdefault(host.version, []).append(time.process_time() - began)
            flat = [outcome for level in outcomes for outcome in level]
            counts = [
                {name: [c.tuples_in, c.tuples_out, c.seconds] for name, c in outcome.counts.items()} for outcome in flat
            ]
            _compare({n: t for o in flat for n, t in o.deliveries.items()}, calm.step({"reports": train}))
            optimizer.add_step(host.version, [{"boxes": boxes} for boxes in counts])
            decision = optimizer.next_network(host.plan.network)
            if decision is not None:
                host.replace(decision.network)
                optimizer.note(decision, host.version, number)
                decided.append(number + 1)
    first, last = spent[1], spent[max(spent)]
    return statistics.median(first[1:]), statistics.median(last[1:]), len(decided), decided[0] if decided else 0


FILTERS = {name: f"{name} like '%x%y%z%'" for name in ("a", "b", "c")}
"""Expensive enough that they are not merged: text is searched."""


def _ordered(*order: str) -> NetworkValue:
    net = Network("filters")
    stream = net.source("reports", {"time": int, **dict.fromkeys(FILTERS, str)})
    for name in order:
        stream = stream.filter(name, FILTERS[name])
    stream.output("out")
    return net.value


def _flipped() -> list[Figure]:
    """Three filters whose selectivities change places in the middle, against the best order for the second half."""
    chance = np.random.default_rng(3)
    words = np.array(["nothing of the kind is found in here", "xax byb czc and the rest of it is not read"])
    halves = []
    for shares in ({"a": 0.05, "b": 0.5, "c": 0.95}, {"a": 0.95, "b": 0.5, "c": 0.05}):
        columns = {name: words[(chance.random(4 * TUPLES) < share).astype(int)] for name, share in shares.items()}
        halves.append(pl.DataFrame({"time": np.zeros(4 * TUPLES, int), **columns}))
    trains = [
        Train(half.with_columns(time=pl.lit(s)), s) for s, half in enumerate(h for h in halves for _ in range(30))
    ]
    changes, reached = _optimized(_ordered("c", "b", "a"), trains)
    orders = list(permutations(FILTERS))
    cost, *costs = _by_turns([reached, *(_ordered(*order) for order in orders)], trains[30:])
    best = min(zip(costs, orders, strict=True))
    after = [step for step in changes if step >= 30]
    remark = f"{1e3 * cost:.1f} ms against {1e3 * best[0]:.1f} ms a step for {', '.join(best[1])}"
    return [
        Figure("optimizer: after a flip of selectivities, against the best order", cost / best[0], "times",
               at_most=1.1, remark=remark),
        Figure("optimizer: changes after a flip", len(after), "changes", at_most=3),
        Figure("optimizer: steps from a decision to its effect", _effective(trains), "steps", at_most=2),
    ]  # fmt: skip


def _effective(trains: list[Train]) -> int:
    """In a run that optimises itself: from the step after which it decided to the first step of the new version."""
    with TemporaryDirectory() as folder:
        settings = Settings(shards=1, train_size=len(trains[0]), optimise=True)
        running = run_locally(_ordered("c", "b", "a"), {"reports": MemorySource(trains[:20])}, {}, folder, settings)
        running.wait()
        decided = read_log(Path(folder) / FOLDER)[0]
        first = min(one.step for one in read_steps(Path(folder)) if one.version == decided["version"])
        return first - int(decided["step"])


def _by_turns(networks: list[NetworkValue], trains: list[Train]) -> list[float]:
    """CPU seconds of a step of each network, the median; all take the same train before any takes the next one."""
    hosts = [InProcess(network, ordered_sources=["reports"]) for network in networks]
    spent: list[list[float]] = [[] for _ in hosts]
    for train in trains:
        for host, seconds in zip(hosts, spent, strict=True):
            began = time.process_time()
            host.step_by_slot({"reports": [[train]]})
            seconds.append(time.process_time() - began)
    return [statistics.median(seconds) for seconds in spent]


def _optimized(network: NetworkValue, trains: list[Train]) -> tuple[list[int], NetworkValue]:
    """The steps after which the network was changed, and what it was at the end."""
    host, changes = InProcess(network, ordered_sources=["reports"]), list[int]()
    with TemporaryDirectory() as folder:
        optimizer = Optimizer(Path(folder), automatic=True)
        for number, train in enumerate(trains):
            outcomes = host.step_by_slot({"reports": [[train]]})
            counts = [
                {name: [c.tuples_in, c.tuples_out, c.seconds] for name, c in outcome.counts.items()}
                for level in outcomes
                for outcome in level
            ]
            optimizer.add_step(host.version, [{"boxes": boxes} for boxes in counts])
            decision = optimizer.next_network(host.plan.network)
            if decision is not None:
                host.replace(decision.network)
                optimizer.note(decision, host.version, number)
                changes.append(number)
    return changes, host.plan.network


def _compare(got: dict[str, Train], expected: dict[str, Train]) -> None:
    for name, train in expected.items():
        assert got[name].tuples.equals(train.tuples), f"{name} differs"


def _decision_seconds() -> float:
    network = _badly_drawn()
    host = InProcess(network, ordered_sources=["reports"])
    with TemporaryDirectory() as folder:
        optimizer = Optimizer(Path(folder), automatic=True)
        for _, train in zip(range(6), _trains(), strict=False):
            host.counts.clear()
            host.step({"reports": train})
            boxes = {name: [c.tuples_in, c.tuples_out, c.seconds] for name, c in host.counts.items()}
            optimizer.add_step(1, [{"boxes": boxes}])
        began = time.perf_counter()
        optimizer.next_network(network)
        return time.perf_counter() - began


def _trains() -> list[Train]:
    chance = np.random.default_rng(7)
    objects = np.arange(TUPLES)
    plates = pl.Series([f"AB{number * 7919 % 1_000_000:06d}X" for number in range(TUPLES)])
    spare = {f"spare{i}": chance.integers(0, 1000, TUPLES) for i in range(UNNEEDED)}
    x, y = chance.uniform(0, CITY, TUPLES), chance.uniform(0, CITY, TUPLES)
    trains = []
    for second in range(STEPS):
        x, y = (np.clip(side + chance.normal(0, 5, TUPLES), 0, CITY) for side in (x, y))
        tuples = pl.DataFrame(
            {
                "time": np.full(TUPLES, second),
                "object": objects,
                "x": x,
                "y": y,
                "plate": plates,
                "speed": chance.integers(0, 100, TUPLES),
                **spare,
            }
        )
        trains.append(Train(tuples, second))
    return trains
