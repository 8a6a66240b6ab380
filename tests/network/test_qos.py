"""Graphs of quality of service: what is accepted, what is refused, and what they say."""

from __future__ import annotations

import math
from typing import Any

import pytest

from arterial import Delay, Network, NetworkError, QoS
from arterial.boxes.ends.output import Output
from arterial.network.qos import good_zone, utility_at
from arterial.network.serial import from_json, to_json

SHARE = [(0, 0), (0.8, 1), (1, 1)]


def drawn(qos: Delay | QoS | None) -> Network:
    net = Network("n")
    net.source("s", {"time": "int64", "speed": "float64", "name": "string"}).output("o", qos=qos)
    return net


def test_all_graphs_reach_the_output_and_json() -> None:
    qos = QoS(Delay(2, 10), SHARE, ("speed", [(0, 0.1), (100, 1)]), weight=3)
    network = drawn(qos).value
    output = network.box("o")
    assert isinstance(output, Output)
    assert output.delay == ((2, 1), (10, 0))
    assert output.share == ((0, 0), (0.8, 1), (1, 1))
    assert output.value_of == "speed"
    assert output.value == ((0, 0.1), (100, 1))
    assert output.weight == 3
    assert from_json(to_json(network)) == network


def test_a_delay_alone_is_a_whole_specification() -> None:
    assert drawn(Delay(1, 2)).value == drawn(QoS(Delay(1, 2))).value == drawn(QoS([(1, 1), (2, 0)])).value
    assert drawn(None).value == drawn(QoS()).value


def test_between_points_a_graph_is_a_line_and_level_outside() -> None:
    graph = ((2.0, 1.0), (10.0, 0.0))
    assert [utility_at(graph, x) for x in (0, 2, 6, 10, 99)] == [1, 1, 0.5, 0, 0]
    assert good_zone(graph) == 2
    assert good_zone(((1.0, 1.0), (3.0, 1.0), (4.0, 0.0))) == 3
    assert good_zone(()) == math.inf


@pytest.mark.parametrize(
    ("graphs", "says"),
    [
        ({"delay": [(1, 0.5), (2, 0)]}, "begin with the utility 1"),
        ({"delay": [(1, 1), (2, 0.5), (3, 0.6)]}, "never rises"),
        ({"delay": [(1, 1), (2, 0.2), (9, 0)]}, "each further second to cost at least as much"),
        ({"delay": [(2, 1), (1, 0)]}, "rising order of x"),
        ({"delay": [(-1, 1), (1, 0)]}, "seconds from 0 on"),
        ({"delay": [(1, 2), (2, 0)]}, "utilities from 0 to 1"),
        ({"delay": [(1, 1), (math.nan, 0)]}, "rising order of x"),
        ({"delay": 3}, "expected points"),
        ({"share": [(0, 0), (1, 0.5)]}, "the utility 1 at share 1"),
        ({"share": [(0, 0), (50, 1), (100, 1)]}, "shares from 0 to 1"),
        ({"share": [(0, 0.5), (0.5, 0.2), (1, 1)]}, "never falls"),
        ({"share": [(0, 0), (0.9, 0.1), (1, 1)]}, "each further tuple left out to cost at least as much"),
        ({"value": ("speed", [(0, 0), (1, 0.5)])}, "divide all by the greatest"),
        ({"value": [(0, 0), (1, 1)]}, 'expected ."column"'),
        ({"weight": 0}, "a number above 0"),
    ],
)
def test_what_is_refused(graphs: dict[str, Any], says: str) -> None:
    with pytest.raises(NetworkError, match=rf"QoS: .*{says}.* \(drawn at .*test_qos.py:\d+\)"):
        QoS(**graphs)


@pytest.mark.parametrize(
    ("good", "zero", "says"),
    [
        (5, 2, r"did you mean Delay\(2, 5\)"),
        (1, math.inf, "both finite"),
        (math.nan, 2, "0 ≤ good < zero"),
        ("1", 2, "two numbers of seconds"),
        (None, 2, "two numbers of seconds"),
    ],
)
def test_a_delay_is_two_numbers_of_seconds(good: Any, zero: Any, says: str) -> None:
    with pytest.raises(NetworkError, match=rf"Delay: expected .*{says}.* \(drawn at .*test_qos.py:\d+\)"):
        Delay(good, zero)


def test_a_flat_end_is_allowed_for_what_is_lost() -> None:
    QoS([(1, 1), (2, 0.3), (5, 0.3)], [(0, 0.2), (0.5, 0.2), (1, 1)])


@pytest.mark.parametrize(
    ("column", "says"), [("speeed", "no column 'speeed'.*'speed'"), ("name", "a column of numbers, got 'name'")]
)
def test_the_value_is_a_column_of_numbers(column: str, says: str) -> None:
    with pytest.raises(NetworkError, match=rf"box 'o'.*{says}.*test_qos.py:\d+"):
        drawn(QoS(value=(column, [(0, 0), (1, 1)])))


def test_an_output_box_from_elsewhere_is_checked_too() -> None:
    net = Network("n")
    with pytest.raises(NetworkError, match=r"box 'o'.*both value_of"):
        net.source("s", {"time": "int64"}).box(Output("o", value=((0, 1),)))
