"""Small worlds for queries, and their answers by plain Python: everything anew at every instant."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from arterial.drawing import Network
from arterial.engine.host.inprocess import InProcess
from arterial.network.train import END, Train
from arterial.sql.catalog import Catalog, StreamEntry, TableEntry
from arterial.sql.draw import ANSWER, table_schema

Row = dict[str, Any]

OBJECTS = StreamEntry.of({"t": int, "ObjectID": int, "x": float, "y": float, "type": str, "speed": int})
CARS = TableEntry.of({"ObjectID": int, "owner": str})
STATES = StreamEntry.of({"t": int, "id": int, "state": str})
CATALOG = Catalog({"MovingObjects": OBJECTS, "Cars": CARS, "States": STATES}, {"MyArea": "-4, 4, 4, -4"})


@dataclass(frozen=True)
class World:
    """What happens: reports of objects, a table of cars, and reports of states, by name."""

    rows: dict[str, list[Row]]
    timeout: int | None

    @property
    def instants(self) -> list[int]:
        """The times at which an answer may change."""
        times = {row["t"] for name in ("MovingObjects", "States") for row in self.rows[name]}
        return sorted(times | ({t + self.timeout for t in times} if self.timeout is not None else set()))

    def latest(self, name: str, key: str, t: int) -> list[Row]:
        """The latest report of each object that is not silent."""
        known: dict[Any, Row] = {}
        for row in self.rows[name]:
            if row["t"] <= t:
                known[row[key]] = row
        return [row for row in known.values() if self.timeout is None or t - row["t"] < self.timeout]


def random_world(seed: int, *, instants: int = 14, objects: int = 9) -> World:
    """Objects that move on a small grid, so that ties and sides are common, and change their attributes."""
    chance = random.Random(seed)
    at: dict[int, list[int]] = {}
    rows: dict[str, list[Row]] = {"MovingObjects": [], "Cars": [], "States": []}
    t = 0
    for _ in range(instants):
        t += chance.choice([1, 1, 2, 5])
        for identity in chance.choices(range(1, objects + 1), k=chance.randint(0, objects)):
            place = at.setdefault(identity, [chance.randint(-6, 6), chance.randint(-6, 6)])
            place[0] += chance.choice([-1, 0, 0, 1])
            place[1] += chance.choice([-2, 0, 0, 2])
            kind = ("car", "truck", "van")[identity % 3] if chance.random() < 0.9 else "tank"
            speed = chance.choice([30, 50, 60, 90])
            x, y = map(float, place)
            rows["MovingObjects"].append({"t": t, "ObjectID": identity, "x": x, "y": y, "type": kind, "speed": speed})
        for identity in chance.choices(range(1, objects + 1), k=chance.choice([0, 0, 1, 3])):
            rows["States"].append({"t": t, "id": identity, "state": chance.choice(["free", "busy"])})
    for identity in chance.choices(range(1, objects + 3), k=objects):
        rows["Cars"].append({"ObjectID": identity, "owner": chance.choice(["ann", "bob"])})
    return World(rows, chance.choice([None, None, 3, 6]))


def changes_of(net: Network, world: World, seed: int) -> list[tuple[int, int, tuple[Any, ...]]]:
    """What the network tells, cut into trains at random: time, sign and row."""
    chance = random.Random(seed)
    host = InProcess(net.value, shards=chance.choice([1, 2]), ordered_sources=list(world.rows))
    sources = {box.name for box in net.value.boxes if not box.inputs}
    first = min((row["t"] for name in ("MovingObjects", "States") for row in world.rows[name]), default=0)
    frames = {}
    for name in sources:
        entry = CATALOG.entries[name]
        schema = entry.schema if isinstance(entry, StreamEntry) else table_schema(entry.schema, OBJECTS.schema["t"])
        rows = [{"loaded": first, **row} for row in world.rows[name]]
        frames[name] = pl.DataFrame([[row[c] for c in schema.names] for row in rows], schema.polars(), orient="row")
    cuts = [*sorted(chance.sample(world.instants, min(4, len(world.instants)))), END]
    before, told = -(2**63), []
    for through in cuts:
        step = {}
        for name, frame in frames.items():
            time = "loaded" if name == "Cars" else "t"
            step[name] = Train(frame.filter((pl.col(time) > before) & (pl.col(time) <= through)), through)
        train = host.step(step)[ANSWER]
        time = net.value.box(ANSWER).fed_by["in"].time
        names = [name for name in train.tuples.columns if name not in (time, "sign")]
        for row in train.tuples.rows(named=True):
            told.append((row[time], row["sign"], tuple(row[name] for name in names)))
        before = through
        if chance.random() < 0.3:
            host.restart()
    return told


def check_answers(net: Network, world: World, answer: Callable[[int], Iterable[Sequence[Any]]], seed: int) -> None:
    """Raise unless the answer is right at every instant, and no row leaves that is not there."""
    told = changes_of(net, world, seed)
    assert [t for t, _, _ in told] == sorted(t for t, _, _ in told)
    now: Counter[tuple[Any, ...]] = Counter()
    at = 0
    for t in world.instants:
        began = at
        while at < len(told) and told[at][0] <= t:
            assert told[at][0] == t, f"{told[at]} is told between instants"
            now[_rounded(told[at][2])] += told[at][1]
            assert now[_rounded(told[at][2])] >= 0, f"{told[at]} leaves, but is not there"
            at += 1
        rows = [(sign, row) for _, sign, row in told[began:at]]
        assert not any((-sign, row) in rows for sign, row in rows), f"changes at {t} that cancel: {rows}"
        expected = Counter(_rounded(tuple(row)) for row in answer(t))
        assert +now == expected, f"at {t}: expected {dict(expected)}, got {dict(+now)}"
    assert at == len(told)


def _rounded(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(round(value, 9) if isinstance(value, float) else value for value in row)
