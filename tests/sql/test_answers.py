"""Answers of queries in generated worlds, against plain Python that evaluates everything anew at every instant."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from arterial.moving.queries.events import MovingRange
from arterial.moving.queries.geometry import in_moving_range, squared
from arterial.moving.queries.space import Space
from arterial.sql import compile_sql
from tests.sql.worlds import CATALOG, Row, World, check_answers, random_world

Rows = list[Row]
FOCAL = 4


@dataclass(frozen=True)
class Where:
    text: str
    holds: Callable[[Row], bool]


@dataclass(frozen=True)
class Clause:
    """GPAC clauses, and the objects that they choose of those that qualify, given where all are."""

    text: str
    choose: Callable[[Rows, Rows], Rows]


@dataclass(frozen=True)
class With:
    """A second relation: its place in FROM, its condition, and the rows of it that go with an object."""

    relation: str
    condition: str
    partners: Callable[[World, int, Row], Rows]


@dataclass(frozen=True)
class Select:
    text: str
    group: str
    rows: Callable[[Rows], Iterable[Sequence[Any]]]


def within(rows: Rows, centre: Row | None, dx: float, dy: float) -> Rows:
    if centre is None:
        return []
    return [
        row
        for row in rows
        if row["ObjectID"] != centre["ObjectID"]
        and abs(row["x"] - centre["x"]) <= dx
        and abs(row["y"] - centre["y"]) <= dy
    ]


def nearest(rows: Rows, k: int, x: float, y: float) -> Rows:
    return sorted(rows, key=lambda row: ((row["x"] - x) ** 2 + (row["y"] - y) ** 2, row["ObjectID"]))[:k]


def focal(everybody: Rows) -> Row | None:
    return next((row for row in everybody if row["ObjectID"] == FOCAL), None)


def nearest_to_focal(rows: Rows, everybody: Rows, k: int) -> Rows:
    centre = focal(everybody)
    if centre is None:
        return []
    return nearest([row for row in rows if row["ObjectID"] != FOCAL], k, centre["x"], centre["y"])


def in_area(rows: Rows) -> Rows:
    return [row for row in rows if -4 <= row["x"] <= 4 and -4 <= row["y"] <= 4]


WHERES = [
    Where("", lambda row: True),
    Where("speed > 50", lambda row: row["speed"] > 50),
    Where("M.type = \"truck\" OR M.type = 'van'", lambda row: row["type"] in ("truck", "van")),
    Where("x > 0 AND speed BETWEEN 40 AND 70", lambda row: row["x"] > 0 and 40 <= row["speed"] <= 70),
]
CLAUSES = [
    Clause("", lambda rows, everybody: rows),
    Clause("GPAC-IN (-4, 4, 4, -4)", lambda rows, everybody: in_area(rows)),
    Clause("GPAC-IN ('M', 4, 6, 8)", lambda rows, everybody: within(rows, focal(everybody), 3, 4)),
    Clause("GPAC-kNN (2, 1, -1)", lambda rows, everybody: nearest(rows, 2, 1, -1)),
    Clause("GPAC-kNN ('M', 3, 4)", lambda rows, everybody: nearest_to_focal(rows, everybody, 3)),
    Clause("GPAC-IN MyArea GPAC-kNN (M, 2, 4)", lambda rows, everybody: nearest_to_focal(in_area(rows), everybody, 2)),
    Clause(
        "GPAC-kNN (2, 0, 0) GPAC-IN (M, 4, 6, 8)",
        lambda rows, everybody: nearest(within(rows, focal(everybody), 3, 4), 2, 0, 0),
    ),
]
WITHS = [
    With("", "", lambda world, t, row: [{}]),
    With(
        ", Cars F",
        "M.ObjectID = F.ObjectID",
        lambda world, t, row: [
            {"owner": car["owner"]} for car in world.rows["Cars"] if car["ObjectID"] == row["ObjectID"]
        ],
    ),
    With(
        " JOIN States S ON S.id = M.ObjectID AND S.state = 'free'",
        "",
        lambda world, t, row: [
            {"state": one["state"]}
            for one in world.latest("States", "id", t)
            if one["id"] == row["ObjectID"] and one["state"] == "free"
        ],
    ),
]


def by_type(rows: Rows) -> list[Sequence[Any]]:
    made: list[Sequence[Any]] = []
    for kind in sorted({row["type"] for row in rows}):
        speeds = [row["speed"] for row in rows if row["type"] == kind]
        made.append((kind, len(speeds), sum(speeds), min(speeds)))
    return made


def totals(rows: Rows) -> list[Sequence[Any]]:
    speeds, xs = [row["speed"] for row in rows], [row["x"] for row in rows]
    return [(len(rows), sum(speeds) / len(speeds), max(xs))] if rows else [(0, None, None)]


SELECTS = [
    Select("M.ObjectID", "", lambda rows: [(row["ObjectID"],) for row in rows]),
    Select(
        "M.ObjectID, x, y + 1 AS north, speed",
        "",
        lambda rows: [(row["ObjectID"], row["x"], row["y"] + 1, row["speed"]) for row in rows],
    ),
    Select("M.ObjectID, M.t AS seen", "", lambda rows: [(row["ObjectID"], row["t"]) for row in rows]),
    Select("DISTINCT type", "", lambda rows: [(kind,) for kind in {row["type"] for row in rows}]),
    Select("type, count(*) AS n, sum(speed), min(speed)", "GROUP BY type", by_type),
    Select(
        "type, count(*) AS n",
        "GROUP BY type HAVING count(*) > 1",
        lambda rows: [row[:2] for row in by_type(rows) if row[1] > 1],
    ),
    Select("count(*) AS n, avg(speed) AS mean, max(x) AS east", "", totals),
]
PLANS = list(itertools.product(CLAUSES, WHERES, WITHS, SELECTS))


def selected(world: World, t: int, clause: Clause, where: Where, other: With) -> Rows:
    everybody = world.latest("MovingObjects", "ObjectID", t)
    qualified = [row for row in everybody if where.holds(row) and other.partners(world, t, row)]
    chosen = clause.choose(qualified, everybody)
    return [{**row, **partner} for row in chosen for partner in other.partners(world, t, row)]


def check(clause: Clause, where: Where, other: With, select: Select, seed: int) -> None:
    conditions = " AND ".join(f"({text})" for text in (other.condition, where.text) if text)
    text = f"SELECT {select.text} FROM MovingObjects M{other.relation}"
    text += f" WHERE {conditions}" if conditions else ""
    text += f" {clause.text} {select.group}" if seed % 2 else f" {select.group} {clause.text}"
    world = random_world(seed)

    def answer(t: int) -> Iterable[Sequence[Any]]:
        if select.rows is totals and not any(
            selected(world, u, clause, where, other) for u in world.instants if u <= t
        ):
            return []  # the one row of all totals is there as soon as there was anything
        return select.rows(selected(world, t, clause, where, other))

    net = compile_sql(text, CATALOG, timeout=world.timeout)
    try:
        check_answers(net, world, answer, seed)
    except AssertionError as wrong:
        raise AssertionError(f"{text}\nworld {seed}, timeout {world.timeout}: {wrong}") from None


@pytest.mark.thorough
@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause.text or "no clause")
def test_each_clause_with_everything(clause: Clause) -> None:
    chance = random.Random(clause.text)
    for seed in range(6):
        check(clause, chance.choice(WHERES), chance.choice(WITHS), chance.choice(SELECTS), seed)


@pytest.mark.slow
def test_every_plan() -> None:
    for seed, (clause, where, other, select) in enumerate(PLANS):
        check(clause, where, other, select, seed)


@pytest.mark.parametrize("seed", range(6))
def test_degrees(seed: int) -> None:
    world = random_world(seed)
    for row in world.rows["MovingObjects"]:
        row["x"], row["y"] = 179.998 + row["x"] / 1000, 60 + row["y"] / 1000  # across the 180th meridian
    for row in world.rows["MovingObjects"]:
        row["x"] -= 360 if row["x"] > 180 else 0

    def answer(t: int) -> list[Sequence[Any]]:
        everybody = world.latest("MovingObjects", "ObjectID", t)
        centre = focal(everybody)
        if centre is None:
            return []
        middle = (centre["x"], centre["y"])
        box = MovingRange(FOCAL, 500.0, 901.0)
        fast = [row for row in everybody if row["speed"] > 30 and row["ObjectID"] != FOCAL]
        inside = [row for row in fast if in_moving_range(Space.LONLAT, box, middle, (row["x"], row["y"]))]
        inside.sort(key=lambda row: (squared(Space.LONLAT, middle, (row["x"], row["y"])), row["ObjectID"]))
        return [(row["ObjectID"], row["speed"]) for row in inside[:2]]

    text = "SELECT ObjectID, speed FROM MovingObjects WHERE speed > 30 GPAC-IN (M, 4, 500, 901) GPAC-kNN (M, 2, 4)"
    check_answers(compile_sql(text, CATALOG, timeout=world.timeout, lonlat=True), world, answer, seed)
