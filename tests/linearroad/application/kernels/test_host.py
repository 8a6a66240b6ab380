"""The kernels together against the interpreter, on random cities cut at random into trains."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import astuple
from itertools import groupby

import numpy as np
import pytest

from arterial.linearroad.application.kernels.base.reports import REPORT_DTYPES
from arterial.linearroad.application.kernels.host import LinearRoadKernels
from arterial.linearroad.reference import Event, answer
from arterial.linearroad.semantics.profiles import Profile, profile
from arterial.network.state import Chunk, MemoryState
from tests.linearroad.cases import CASES, Case
from tests.linearroad.cities import generate, small
from tests.linearroad.jams import jam

TABLES = ("notices", "alerts", "balances")


class FrozenState(MemoryState):
    """State whose chunks cannot be written to, like those that come from Spark's store."""

    def put(self, table: str, key: str, chunk: Chunk) -> None:
        """Replace the chunk."""
        assert isinstance(chunk, dict)
        for values in chunk.values():
            whole = not isinstance(values.base, np.ndarray) or values.base.size == values.size
            assert whole, "no chunk holds on to a train"
            values.flags.writeable = False
        super().put(table, key, chunk)


def rows(table: object) -> list[tuple[int, ...]]:
    """A table of answers as tuples."""
    return list(zip(*(column.tolist() for column in astuple(table)), strict=True))  # type: ignore[call-overload]


def columns(events: Sequence[Event], kind: int, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The events of one type as columns, read-only as a train's are."""
    made = {name: np.array([getattr(e, name) for e in events if e.type == kind], np.int64) for name in names}
    for values in made.values():
        values.flags.writeable = False
    return made


def trains(events: Sequence[Event], rng: random.Random) -> list[list[Event]]:
    """The events cut at random between seconds."""
    how_often = rng.choice([0.0, 0.05, 0.3, 1.0])
    cut: list[list[Event]] = [[]]
    for _, second in groupby(sorted(events, key=lambda event: event.time), key=lambda event: event.time):
        if rng.random() < how_often:
            cut.append([])
        cut[-1].extend(second)
    return cut


def run(events: Sequence[Event], rules: Profile, rng: random.Random, balance_at: str) -> dict[str, list]:
    """All answers of the kernels."""
    kernels = LinearRoadKernels(rules, "last_notice" if balance_at == "last_notice" else None)
    states = {part: FrozenState() for part in ("trips", "accidents", "statistics", "tolls", "accounts")}
    vars(kernels).update(states)
    given: dict[str, list] = {name: [] for name in TABLES}
    for train in trains(events, rng):
        if rng.random() < 0.1:
            for state in states.values():  # what can be computed again; the engine may drop it at any time
                state.memo.clear()
        answered = kernels.feed(
            columns(train, 0, tuple(REPORT_DTYPES)),
            columns(train, 2, ("time", "vid", "qid")),
            columns(train, 3, ("time", "vid", "xway", "qid")),
        )
        for name in TABLES:
            given[name] += rows(getattr(answered, name))
        if answered.expenditures is not None:
            given.setdefault("expenditures", []).extend(rows(answered.expenditures))
    given["notices"] = [row[:4] for row in given["notices"]]
    given["balances"] = [(time, result, qid, amount) for time, qid, result, amount in given["balances"]]
    return given


def check(events: Sequence[Event], rules: Profile, seed: int, balance_at: str = "request") -> list[int]:
    """Compare one city; how many answers of each kind it has that say something."""
    expected = answer(events, (), (), rules, balance_at=balance_at)  # type: ignore[arg-type]
    given = run(events, rules, random.Random(seed), balance_at)
    for name in given:
        assert sorted(given[name]) == sorted(getattr(expected, name)), (name, rules.name, seed)
    said = {"notices": 3, "alerts": 1, "balances": 3}
    return [sum(row[said[name]] > 0 for row in given[name]) for name in TABLES]


PROFILES = ["spec", "walmart", "thesis2003"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROFILES)
def test_small_cities(name: str) -> None:
    seen = np.array([check(generate(seed).events, small(name), seed) for seed in range(20)]).sum(axis=0)
    assert seen.min() > 10, "these cities test something"


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROFILES)
def test_jams(name: str) -> None:
    seen = np.array([check(jam(seed), profile(name), seed) for seed in range(6)]).sum(axis=0)
    assert seen.min() > 10, "these cities test something"


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROFILES)
def test_balances_at_the_last_notice(name: str) -> None:
    for seed in range(8):
        check(generate(seed).events, small(name), seed, "last_notice")
    for seed in range(1):
        check(jam(seed), profile(name), seed, "last_notice")


@pytest.mark.parametrize("case", [c for c in CASES if c.profile.name in PROFILES], ids=lambda case: case.name)
def test_case(case: Case) -> None:
    given = run(case.events, case.profile, random.Random(0), case.balance_at)
    for table, expected in case.expected.items():
        if table in given:
            assert case.seen(table, given[table]) == sorted(expected), case.rule


@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
def test_thousands_of_cities(name: str) -> None:
    for seed in range(10_000, 12_000):
        check(generate(seed).events, small(name), seed)
    for seed in range(10_000, 10_060):
        check(jam(seed), profile(name), seed)
