"""GPAC-IN and GPAC-kNN as boxes: as defined, in any cut, after restarts, on reports and on signed streams."""

from __future__ import annotations

import random
from typing import Any

import pytest

from arterial import Network
from arterial.drawing import StreamHandle
from arterial.errors import NetworkError
from arterial.moving import gpac_in, gpac_knn
from arterial.network.serial import from_json, to_json
from arterial.testing import check_network, run

Rows = list[dict[str, Any]]

SEEDS = [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)]

COLUMNS = {"time": int, "object": int, "x": float, "y": float, "type": str, "speed": int}


def reports(seed: int, length: int = 120, objects: int = 8) -> Rows:
    """Objects that wander over a small area, change their speed, and sometimes do not know where they are."""
    chance = random.Random(seed)
    now, made = 0, []
    at = {o: (chance.uniform(-9, 9), chance.uniform(-9, 9), 40) for o in range(objects)}
    for _ in range(length):
        now += chance.choice([0, 0, 0, 1, 1, 3, 9])
        o = chance.randrange(objects)
        x, y, speed = at[o]
        step = chance.choice([0.0, 1.0, 4.0])
        x, y = x + chance.uniform(-step, step), y + chance.uniform(-step, step)
        speed = chance.choice([speed, speed, 60, 40])
        at[o] = (x, y, speed)
        place: tuple[Any, Any] = (x, y) if chance.random() < 0.95 else (None, y)
        who = o if chance.random() < 0.98 else None
        made.append(dict(zip(COLUMNS, (now, who, *place, "truck" if o % 3 else "car", speed), strict=True)))
    return made


def signed(rows: Rows, seed: int) -> Rows:
    """Rows that come and go, by chance, at the times of the reports."""
    chance = random.Random(seed)
    made: Rows = []
    stand: Rows = []
    for row in rows:
        if stand and chance.random() < 0.45:
            gone = stand.pop(chance.randrange(len(stand)))
            made.append(gone | {"time": row["time"], "sign": -1})
        stand.append(row)
        made.append(row | {"sign": 1})
        if chance.random() < 0.1:
            made.append({**row, "sign": chance.choice([1, -1, None])})
    return made


QUERIES: dict[str, Any] = {
    "region": lambda s, **o: gpac_in(s, "q", region=(-4, -4, 4, 4), **o),
    "moving": lambda s, **o: gpac_in(s, "q", focal=2, length=9, width=7, **o),
    "knn": lambda s, **o: gpac_knn(s, "q", k=3, at=(0, 0), **o),
    "moving_knn": lambda s, **o: gpac_knn(s, "q", k=2, focal=2, **o),
}
FIRST_QUICK = ["region", *(pytest.param(one, marks=pytest.mark.thorough) for one in list(QUERIES)[1:])]


def drawn(query: str, *, is_signed: bool = False, **options: Any) -> Network:
    net = Network("n")
    columns = COLUMNS | ({"sign": "int8"} if is_signed else {})
    answer = QUERIES[query](net.source("s", columns, signed=is_signed), **options)
    answer.output("o")
    return net


@pytest.mark.parametrize("query", FIRST_QUICK)
@pytest.mark.parametrize(
    "options",
    [{"timeout": 5}, *(pytest.param(o, marks=pytest.mark.thorough) for o in ({}, {"moves": True, "timeout": 3}))],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_on_reports(query: str, options: dict[str, Any], seed: int) -> None:
    check_network(drawn(query, **options), {"s": reports(seed)}, trains=20, seed=seed)


@pytest.mark.parametrize("query", FIRST_QUICK)
@pytest.mark.parametrize("moves", [pytest.param(False, marks=pytest.mark.thorough), True])
@pytest.mark.parametrize("seed", SEEDS)
def test_on_signed_streams(query: str, moves: bool, seed: int) -> None:
    net = drawn(query, is_signed=True, moves=moves)
    check_network(net, {"s": signed(reports(seed), seed)}, trains=20, seed=seed)


@pytest.mark.thorough
@pytest.mark.parametrize("query", ["moving", "moving_knn"])
@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("timeout", [None, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_focal_object_on_a_stream_of_its_own(query: str, is_signed: bool, timeout: int | None, seed: int) -> None:
    net = Network("n")
    columns = COLUMNS | ({"sign": "int8"} if is_signed else {})
    focals = net.source("f", columns, signed=is_signed)
    QUERIES[query](net.source("s", COLUMNS), focals=focals, timeout=timeout).output("o")
    positions = reports(seed + 50, objects=4)
    arrivals = {"s": reports(seed), "f": signed(positions, seed) if is_signed else positions}
    check_network(net, arrivals, trains=20, seed=seed)


@pytest.mark.thorough
@pytest.mark.parametrize("query", ["region", "moving_knn"])
def test_on_longitude_and_latitude(query: str) -> None:
    for seed in range(2):
        check_network(drawn(query, lonlat=True), {"s": reports(seed)}, trains=10, seed=seed)


@pytest.mark.thorough
def test_with_a_smaller_cache_it_is_the_same_in_any_cut() -> None:
    rows = reports(3, 200)
    net = Network("n")
    answer = gpac_in(net.source("s", COLUMNS), "q", focal=2, length=9, width=7, cache=25.0, timeout=20)
    answer.output("o")
    answer.port_named("uncertainty").output("u")
    once = run(net, {"s": rows})
    assert once["o"]
    assert once["u"]
    for seed in range(6):
        assert run(net, {"s": rows}, trains=15, seed=seed, restarts=bool(seed % 2)) == once


def test_a_member_is_told_again_only_where_an_attribute_changes() -> None:
    rows = [(1, 1, 0.0, 0.0, "truck", 40), (2, 1, 1.0, 0.0, "truck", 40), (3, 1, 2.0, 0.0, "truck", 60)]
    rows += [(4, 1, 9.0, 0.0, "truck", 60)]
    arrivals = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    got = run(drawn("region"), {"s": arrivals})["o"]
    assert [tuple(row.values()) for row in got] == [
        (1, 1, 0.0, 0.0, "truck", 40, 1),
        (3, 1, 0.0, 0.0, "truck", 40, -1),
        (3, 1, 2.0, 0.0, "truck", 60, 1),
        (4, 1, 2.0, 0.0, "truck", 60, -1),
    ]


@pytest.mark.thorough
def test_texts_as_ids() -> None:
    net = Network("n")
    columns = COLUMNS | {"object": str}
    gpac_knn(net.source("s", columns), "q", k=3, focal="7", timeout=6).output("o")
    rows = [row | {"object": None if row["object"] is None else "ab7"[row["object"] % 3]} for row in reports(1)]
    check_network(net, {"s": rows}, trains=20)


def test_it_goes_to_json_and_back() -> None:
    net = drawn("moving", timeout="5 s", fixed=["type"])
    assert from_json(to_json(net.value)) == net.value


def mistake(draw: Any, **source: Any) -> str:
    net = Network("n")
    with pytest.raises(NetworkError) as error:
        draw(net.source("s", COLUMNS | source))
    return str(error.value)


def test_mistakes() -> None:
    assert "expected region" in mistake(lambda s: gpac_in(s, "q"))
    assert "expected region" in mistake(lambda s: gpac_in(s, "q", region=(1, 2, 3)))
    assert "expected region" in mistake(lambda s: gpac_in(s, "q", focal=1, length=3))
    assert "must not be negative" in mistake(lambda s: gpac_in(s, "q", focal=1, length=3, width=-1))
    assert "expected at" in mistake(lambda s: gpac_knn(s, "q", k=1))
    assert "whole number" in mistake(lambda s: gpac_knn(s, "q", k=0, at=(0, 0)))
    assert "whole number" in mistake(
        lambda s: gpac_knn(s, "q", k=1.5, at=(0, 0))  # type: ignore[arg-type]
    )
    assert "of the type int64" in mistake(lambda s: gpac_knn(s, "q", k=1, focal="a"))
    assert "0 to 100" in mistake(lambda s: gpac_in(s, "q", region=(0, 0, 1, 1), cache=101))
    assert "group_by()" in mistake(lambda s: gpac_in(s.group_by("type"), "q", region=(0, 0, 1, 1)))
    assert "latitude" in mistake(lambda s: gpac_in(s, "q", region=(0, 0, 1, 100), lonlat=True))
    assert "no column 'z'" in mistake(lambda s: gpac_in(s, "q", region=(0, 0, 1, 1), x="z"))
    assert "must be a number" in mistake(lambda s: gpac_in(s, "q", region=(0, 0, 1, 1), x="type"))
    assert "leave focals out" in mistake(lambda s: gpac_in(s, "q", region=(0, 0, 1, 1), focals=s))
    assert "rename it" in mistake(lambda s: gpac_in(s, "q", region=(0, 0, 1, 1)), sign=int)

    def chained(s: StreamHandle) -> StreamHandle:
        return gpac_in(gpac_in(s, "a", region=(0, 0, 1, 1)), "b", region=(0, 0, 1, 1), timeout=3)

    assert "says itself" in mistake(chained)
