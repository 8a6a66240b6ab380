"""Estimate and correction: a predicate upstream of a box that cannot be inverted, found by watching the output."""

from __future__ import annotations

import polars as pl
import pytest

from arterial import Network, NetworkValue, QoS, collect, function
from arterial.boxes.ends.output import Output
from arterial.service.shedding.forward import Estimate, corrected, first_estimate
from arterial.service.values import histogram, worth_of

GRAPH = ((0.0, 0.0), (100.0, 1.0))
SCHEMA = {"time": "int64", "noise": "float64", "a": "float64"}
ROWS = [{"time": i, "noise": float(i * 37 % 100), "a": float(i * 61 % 1000)} for i in range(2000)]


@function(reads=("noise", "a"), produces={"v": "float64"})
def scaled(noise: pl.Series, a: pl.Series) -> pl.Series:
    return a / 10


@function(reads=("noise", "a"), produces={"v": "float64"})
def upside_down(noise: pl.Series, a: pl.Series) -> pl.Series:
    return 100 - a / 10


@function(reads=("a",), produces={"v": "float64"})
def folded(a: pl.Series) -> pl.Series:
    return 100 - (a - 500).abs() / 5


def network(how: object) -> NetworkValue:
    net = Network("n")
    s = net.source("s", SCHEMA)
    s.output("all")
    s.map("m", how).output("o", qos=QoS(value=("v", GRAPH)))  # type: ignore[arg-type]
    return net.value


def tried(estimate: Estimate, how: object) -> tuple[float, float]:
    """The shares of the tuples left out and of the worth left, by a real run with the predicate."""
    net = Network("n")
    assert estimate.keep is not None
    kept = net.source("s", SCHEMA).filter("keep", estimate.keep)
    kept.map("m", how).output("o")  # type: ignore[arg-type]
    some, everything = collect(net, s=ROWS)["o"], collect(network(how), s=ROWS)["o"]
    worth = [worth_of(histogram(frame["v"], GRAPH), GRAPH) for frame in (some, everything)]
    return 1 - some.height / everything.height, worth[0] / worth[1]


@pytest.mark.thorough
@pytest.mark.parametrize("how", [scaled, upside_down], ids=["rising", "falling"])
@pytest.mark.parametrize("wanted", [0.3, 0.6])
def test_it_finds_the_predicate(how: object, wanted: float) -> None:
    output = network(how).box("o")
    assert isinstance(output, Output)
    estimate = first_estimate(network(how), output, 30.0)
    assert estimate is not None
    assert estimate.columns == ("noise", "a")
    for _ in range(60):
        left_out, worth = tried(estimate, how)
        after = corrected(estimate, wanted, left_out, worth)
        if after.keep == estimate.keep:
            break
        estimate = after
    left_out, worth = tried(estimate, how)
    assert estimate.columns == ("a",)
    assert left_out == pytest.approx(wanted, abs=0.1)
    assert worth > 1 - 0.8 * left_out, "more than by chance"


def test_what_is_no_use_is_given_up() -> None:
    """Neither high nor low values of the column are worth more: in the end it is left to chance."""
    output = network(folded).box("o")
    assert isinstance(output, Output)
    estimate = first_estimate(network(folded), output, 30.0)
    assert estimate is not None
    for _ in range(80):
        if estimate.keep is None:
            break
        estimate = corrected(estimate, 0.5, *tried(estimate, folded))
    assert estimate.keep is None


def test_where_the_value_is_known_there_is_nothing_to_estimate() -> None:
    net = Network("n")
    s = net.source("s", SCHEMA)
    s.output("all")
    s.map("m", v="a / 10").output("o", qos=QoS(value=("v", GRAPH)))
    output = net.value.box("o")
    assert isinstance(output, Output)
    assert first_estimate(net.value, output, 1.0) is None
