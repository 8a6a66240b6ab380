"""Fences: enter, exit and dwell; borders, silence, fences that move, change and go; against everything from scratch."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.engine.host.inprocess import InProcess
from arterial.errors import NetworkError
from arterial.moving.boxes.fences import Fences, fences
from arterial.moving.boxes.fences_meaning import fences as meaning
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import END, Train
from arterial.testing import check_box, check_network, run
from tests.conformance.choices import Draw

FIXED = {
    "a": "circle(0 0, 3)",
    "b": "rectangle(-1 -1, 4 2)",
    "c": "polygon((0 0, 6 0, 6 6, 0 6), (1 1, 2 1, 2 3, 1 3))",
    "d": "multipolygon(((-3 -3, 0 -3, 0 0)), ((2 2, 4 2, 3 9)))",
}
MOVING = {"m": "circle(object 1, 2.5)", "n": "rectangle(object 2, 4 6)", "o": "circle(object 99, 4)"}


def case(s: StreamHandle) -> None:
    fences(s.group_by("k"), "box", FIXED, object="k", x="n", y="f", timeout=9, dwell=4, keep=["j"]).output("o1")
    made = fences(s, "box2", FIXED, object="j", x="f", y="n")
    made.output("o2")
    made.port_named("rejects").output("o3")
    moving = {
        name: shape.replace("object 1", "object 'a'").replace("object 2", "object b") for name, shape in MOVING.items()
    }
    fences(s, "box3", FIXED | moving, object="j", x="n", y="f", timeout=20, dwell=6, keep=["s", "b"]).output("o4")
    shape = "case n when 1 then 'circle(object 1, 3)' when 2 then null when 3 then s else 'rectangle(-1 -1, 4 2)' end"
    changes = s.filter("asks", "b").map("changes", fence="coalesce(j, 'c')", shape=shape, keep=["t"])
    made = fences(s, "box4", FIXED | MOVING, changes=changes, object="k", x="n", y="f", timeout=30, dwell=5)
    made.output("o5")
    made.port_named("rejects").output("o6")
    fences(s, "box5", FIXED | MOVING, changes=changes, object="k", x="n", y="f", lonlat=True, keep=["x"]).output("o7")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    numbers = [f.name for f in stream.schema if f.type.is_number]
    ids = [f.name for f in stream.schema if f.type.is_integer and f.name not in ("fence", "event", "since")]
    if not numbers or not ids:
        raise NetworkError("no columns for an object and its place")
    key = next((k for k in stream.type.keyed_by), draw(st.sampled_from(ids)))
    return fences(
        stream, name, FIXED, object=key, x=draw(st.sampled_from(numbers)), y=draw(st.sampled_from(numbers)),
        dwell=draw(st.sampled_from([None, 5])), timeout=draw(st.sampled_from([None, 8])),
    )  # fmt: skip


STREAM = Stream(Schema.of({"t": int, "id": int, "x": float, "y": float, "load": int}), "t")
CHANGES = Stream(Schema.of({"t": int, "fence": str, "shape": str}), "t")


def events(arrivals: list[tuple[int, ...]], zones: dict[str, str], **settings: Any) -> list[tuple[Any, ...]]:
    net = Network("test")
    source = net.source("s", {"t": int, "id": int, "x": float, "y": float}, "t")
    fences(source, "z", zones, object="id", **settings).output("o")
    rows = [dict(zip(("t", "id", "x", "y"), one, strict=True)) for one in arrivals]
    check_network(net, {"s": rows})
    return [tuple(row.values()) for row in run(net, {"s": rows})["o"]]


def test_enter_exit_and_first_seen_inside() -> None:
    zones = {"near": "circle(0 0, 5)", "box": "rectangle(4 -1, 9 1)"}
    got = events([(1, 7, 0, 0), (2, 7, 1, 1), (3, 7, 5, 0), (4, 7, 6, 0), (5, 7, 0, 0)], zones)
    assert got == [
        (1, 7, "near", "enter", 1),
        (3, 7, "box", "enter", 3),
        (4, 7, "near", "exit", 1),
        (5, 7, "box", "exit", 3),
        (5, 7, "near", "enter", 5),
    ]


@pytest.mark.thorough
def test_borders_and_holes() -> None:
    zones = {"p": "polygon((0 0, 6 0, 6 6, 0 6, 0 0), (2 2, 4 2, 4 4, 2 4))"}
    inside = [(0, 0), (6, 6), (3, 0), (6, 3), (2, 3), (4, 4), (1, 5)]
    outside = [(3, 3), (-0.1, 3), (7, 3), (3, 6.1), (-1, 0), (7, 0), (-1, 6)]
    for place, expected in [*((p, 1) for p in inside), *((p, 0) for p in outside)]:
        assert len(events([(1, 7, *place)], zones)) == expected, place


def test_dwell_fires_once_a_stay_and_not_if_it_leaves_at_that_instant() -> None:
    zones = {"z": "circle(0 0, 1)"}
    got = events(
        [(0, 1, 0, 0), (3, 1, 0, 1), (10, 1, 0, 0), (20, 1, 5, 5), (30, 1, 0, 0), (40, 1, 5, 5)], zones, dwell=10
    )
    assert [row[0] for row in got if row[3] == "dwell"] == [10]
    assert got[-1] == (40, 1, "z", "exit", 30)


def test_silence_is_an_exit_and_the_next_report_enters_again() -> None:
    got = events([(0, 1, 0, 0), (10, 1, 0, 0), (21, 1, 0, 0)], {"z": "circle(0 0, 1)"}, timeout=10)
    assert [(row[0], row[3]) for row in got] == [(0, "enter"), (20, "exit"), (21, "enter"), (31, "exit")]


def test_a_fence_that_moves() -> None:
    zones = {"escort": "circle(object 1, 2)"}
    got = events([(1, 2, 0, 0), (2, 1, 1, 0), (3, 1, 9, 0), (4, 2, 8, 0), (9, 2, 8, 1)], zones, timeout=6)
    assert [(row[0], row[1], row[3]) for row in got] == [
        (2, 2, "enter"),
        (3, 2, "exit"),
        (4, 2, "enter"),
        (9, 2, "exit"),
    ]


def test_the_last_report_of_an_instant_counts() -> None:
    assert events([(1, 7, 0, 0), (1, 7, 9, 9), (2, 7, 0, 0), (2, 7, 0, 0)], {"z": "circle(0 0, 1)"}) == [
        (2, 7, "z", "enter", 2)
    ]


@pytest.mark.parametrize(
    "seed",
    [
        0,
        *(pytest.param(n, marks=pytest.mark.thorough) for n in range(1, 5)),
        *(pytest.param(n, marks=pytest.mark.slow) for n in range(5, 60)),
    ],
)
@pytest.mark.parametrize("lonlat", [False, True])
def test_random_worlds(seed: int, lonlat: bool) -> None:
    chance = random.Random(seed)
    shapes = _shapes(chance, lonlat)
    if seed % 4 == 3:  # of fences that stand still, not everybody is looked at when one changes
        shapes = [shape for shape in shapes if "object" not in shape]
    t, reports, changes = 0, [], []
    for _ in range(60):
        t += chance.choice([0, 0, 1, 1, 2, 9])
        x, y = _place(chance, lonlat)
        reports.append({"t": t, "id": chance.randrange(6), "x": x, "y": y, "load": chance.randrange(5)})
        if chance.random() < 0.15:
            shape = chance.choice([None, "what", *shapes])
            changes.append({"t": t, "fence": chance.choice("abcd"), "shape": shape})
    begin = tuple((name, chance.choice(shapes)) for name in "abc")
    settings = {
        "object": "id", "lonlat": lonlat, "keep": ("load",), "dwell": chance.choice([None, 1, 7]),
        "timeout": chance.choice([None, 5, 12]),
    }  # fmt: skip
    inputs, streams = {"in": reports}, {"in": STREAM}
    if seed % 2:
        inputs, streams = inputs | {"changes": changes}, streams | {"changes": CHANGES}
    box = Fences("z", begin, changing=bool(seed % 2), **settings)
    check_box(box, inputs, streams, meaning=meaning, tries=6, seed=seed)


def _place(chance: random.Random, lonlat: bool) -> tuple[float, float]:
    if lonlat:
        return chance.choice([179.99, -179.99, 180.0, -180.0, 0.01, 0.0]) + chance.choice([0, 0.001]), chance.choice(
            [0.0, 0.005, 89.999, 90.0, -0.01]
        )
    return float(chance.randint(-4, 6)), float(chance.randint(-4, 6))


def _shapes(chance: random.Random, lonlat: bool) -> list[str]:
    if lonlat:
        return [
            "circle(180 0, 1500)", "circle(0 90, 300000)", "rectangle(179.99 -1, -179.99 1)", "circle(object 3, 2000)",
            "rectangle(object 2, 3000 2000)", "polygon((179.98 -1, 180.02 -1, 180.02 1, 179.98 1))",
            "polygon((-180 -1, -179.9 -1, -179.9 1))", "rectangle(-180 -90, 180 0)", "circle(object 1, 30000000)",
        ]  # fmt: skip
    points = ", ".join(f"{chance.randint(-4, 6)} {chance.randint(-4, 6)}" for _ in range(5))
    return [
        "circle(0 0, 3)", "circle(2 2, 0)", "rectangle(-1 -1, 4 2)", f"polygon(({points}, 7 7, -5 -5))",
        "circle(object 1, 2.5)",
        "rectangle(object 2, 4 6)", "circle(object 77, 1)", "polygon((0 0, 6 0, 6 6, 0 6), (1 1, 2 1, 2 3, 1 3))",
    ]  # fmt: skip


def many(cuts: list[int], *, workers: bool) -> list[tuple[Any, ...]]:
    """The events of 9,000 objects of which a few report at each instant, by trains that end at these instants."""
    net = Network("n")
    stream = net.source("s", {"t": int, "id": int, "x": float, "y": float}, time="t")
    fences(stream.group_by("id"), "zones", FIXED, object="id", timeout=60, dwell=7).output("o")
    host, made = InProcess(net.value, ordered_sources=["s"]), []
    chance = np.random.default_rng(1)
    who = np.concatenate([np.arange(9_000), chance.integers(0, 9_000, 3_000)])
    times = np.concatenate([np.repeat(np.arange(30), 300), np.sort(chance.integers(30, 130, 3_000))])
    x, y = chance.uniform(-4, 7, (2, len(who)))
    reports = pl.DataFrame({"t": times, "id": who, "x": x, "y": y})
    for begin, end in pairwise([-1, *cuts, 130]):
        some = reports.filter(pl.col("t").is_between(begin + 1, end))
        made += host.step({"s": Train(some, END if end == 130 else end)})["o"].tuples.rows()
        if workers:
            host.change_worker()
    return made


def test_of_many_objects_only_those_that_report_or_whose_time_comes_are_looked_at() -> None:
    whole = many([], workers=False)
    assert len(whole) > 20_000
    assert many([29, 30, 31, 50, 89, 90, 91, 120], workers=False) == whole
    assert many([10, 29, 33, 70, 100], workers=True) == whole


@pytest.mark.parametrize(
    ("zones", "settings", "said"),
    [
        ({}, {}, "expected fences"),
        (
            {"z": "square(1 1, 2)"},
            {},
            "the fence 'z': the shape 'square(1 1, 2)' begins with 'square'; expected circle",
        ),
        ({"z": "circle(1, 2)"}, {}, "has '1' where 2 numbers are expected"),
        ({"z": "circle(1 1, -2)"}, {}, "has the radius -2"),
        ({"z": "polygon((0 0, 1 1))"}, {}, "fewer than three points"),
        ({"z": "polygon(0 0, 1 1, 2 0)"}, {}, "brackets or commas"),
        ({"z": "circle(object bus, 2)"}, {}, "the ids of objects are integers"),
        ({"z": "circle(1 95, 2)"}, {"lonlat": True}, "no longitude and latitude"),
        ({"z": "circle(1 1, 2)"}, {"dwell": 0}, "dwell must be more than 0"),
        ({"z": "circle(1 1, 2)"}, {"keep": ["speed"]}, "speed"),
    ],
)
def test_what_it_refuses(zones: dict[str, str], settings: dict[str, Any], said: str) -> None:
    with pytest.raises(NetworkError) as error:
        events([], zones, **settings)
    assert said in str(error.value)


def test_fences_that_move_need_all_objects_in_one_place() -> None:
    net = Network("test")
    source = net.source("s", {"t": int, "id": int, "x": float, "y": float}, "t")
    with pytest.raises(NetworkError, match="need all objects in one place"):
        fences(source.group_by("id"), "z", {"m": "circle(object 1, 2)"}, object="id")
