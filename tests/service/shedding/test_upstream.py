"""Carrying the value of an output upstream: through which boxes, and that it stays the same value."""

from __future__ import annotations

import polars as pl
import pytest

from arterial import Network, NetworkValue, QoS, StreamHandle, collect, function
from arterial.boxes.ends.output import Output
from arterial.network.network import Arc
from arterial.service.shedding.curve import Curve
from arterial.service.shedding.upstream import value_point
from arterial.service.values import histogram

GRAPH = ((0.0, 0.0), (100.0, 1.0))
SCHEMA = {"time": "int64", "k": "int32", "a": "float64", "b": "float64"}


@function(reads=("a",), produces={"v": "float64"})
def doubled(a: pl.Series) -> pl.Series:
    return a * 2


def network(draw: object) -> NetworkValue:
    net = Network("n")
    s = net.source("s", SCHEMA)
    s.output("all")
    draw(s).output("o", qos=QoS(value=("v", GRAPH)))  # type: ignore[operator]
    return net.value


def found(draw: object) -> tuple[Arc, str | None] | None:
    value = network(draw)
    output = value.box("o")
    assert isinstance(output, Output)
    point = value_point(value, output)
    return None if point is None else (point.arc, point.by_value)


CASES = [
    (lambda s: s.map("m", v="a + b").filter("f", "v > 1"), "s.out → m.in", "(a + b)"),
    (lambda s: s.filter("f", "k > 1").map("m", v="a").group_by("k"), "s.out → f.in", "a"),
    (lambda s: s.map("x", c="a * 2").map("y", v="c + 1"), "s.out → x.in", "((a * 2) + 1)"),
    (lambda s: s.map("x", a="b", b="a").map("y", v="a - b"), "s.out → x.in", "(b - a)"),
    (lambda s: s.map("m", doubled).filter("f", "v > 1"), "m.out → f.in", '"v"'),
    (lambda s: s.group_by("k").tumble("t", size=10, v="avg(a)").filter("f", "v > 1"), "t.out → f.in", '"v"'),
]


@pytest.mark.parametrize(("draw", "arc", "text"), CASES)
def test_how_far_it_goes(draw: object, arc: str, text: str) -> None:
    point = found(draw)
    assert point is not None
    assert (str(point[0]), point[1]) == (arc, text)


def test_it_stops_at_the_split_point() -> None:
    def draw(s: StreamHandle) -> StreamHandle:
        shared = s.map("m", v="a")
        shared.output("too")
        return shared.filter("f", "v > 1")

    point = found(draw)
    assert point is not None
    assert str(point[0]) == "m.out → f.in"


@pytest.mark.parametrize("draw", [case[0] for case in CASES[:4]])
@pytest.mark.parametrize("out", [0.2, 0.5])
def test_what_is_kept_upstream_is_what_would_be_kept_at_the_output(draw: object, out: float) -> None:
    """The predicate at the drop point leaves out just the tuples of the least valued intervals."""
    rows = [{"time": i, "k": i % 5, "a": float(i % 37), "b": float(i % 11) if i % 13 else None} for i in range(400)]
    value = network(draw)
    everything = collect(value, s=rows)["o"]
    output = value.box("o")
    assert isinstance(output, Output)
    point = value_point(value, output)
    assert point is not None
    assert point.by_value is not None
    curve = Curve.of(GRAPH, histogram(everything["v"], GRAPH))
    upstream, here = curve.keep(point.by_value, out), curve.keep("v", out)
    assert upstream is not None
    assert here is not None
    net = Network("kept")
    kept = draw(net.source("s", SCHEMA).filter("drop", upstream))  # type: ignore[operator]
    kept.output("o")
    expected = Network("expected")
    draw(expected.source("s", SCHEMA)).filter("drop", here).output("o")  # type: ignore[operator]
    answer = collect(net, s=rows)["o"]
    assert answer.equals(collect(expected, s=rows)["o"])
    assert 0 < answer.height < everything.height


def test_a_curve_leaves_out_the_least_first() -> None:
    counts = histogram(pl.Series([5.0] * 50 + [95.0] * 50), GRAPH)
    curve = Curve.of(GRAPH, counts)
    assert curve.worth_left(0.5) > 0.9
    assert curve.worth_left(0.0) == 1
    assert curve.keep("v", 0.5) == "v is null or (not (v >= 0.0 and v < 12.5))"
    assert curve.keep("v", 0.0) is None
    assert curve.next_stop(0.5, 0.02) == pytest.approx(0.5), "the most valued stay"


def test_tuples_without_a_value_are_the_least() -> None:
    counts = histogram(pl.Series([None] * 10 + [50.0] * 90), GRAPH)
    assert Curve.of(GRAPH, counts).keep("v", 0.1) == "v is not null and true"
