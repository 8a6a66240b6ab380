"""A network as Python: what the text draws is the same network."""

from __future__ import annotations

from typing import Any

import pytest

import arterial as art
from arterial.drawing.as_python import as_python
from arterial.network.network import NetworkValue
from arterial.network.serial import from_json, to_json
from tests.studio.traffic import traffic


def _many() -> NetworkValue:
    net = art.Network('a "net"')
    a = net.source("a b", {"time": int, "k": int, "x": float, "class": str}, disorder=5)
    b = net.source("for", {"t": "timestamp", "k": "int16"}, time="t")
    net.source("empty", {"time": int}).output("all", qos=art.QoS(art.Delay(1, 2), weight=3))
    fast = a.filter("x", "x > 1")
    fast.otherwise.drop("some", 0.5, seed=3).output("rest")
    a.late.output("late ones")
    by = fast.group_by("k")
    by.slide("slid", over="1 minute", every="10 seconds", n="count(*)").output("slides")
    by.tumble("odd names", {"every": "max(x)", "a b": "count(*)"}, size=4).output("tumbles")
    by.top("best", 3, "x", "1 minute", ascending=True).output("tops")
    by.deduplicate("once", "class", within="1 hour").output("ones")
    mapped, other = (fast.map(name, keep=["time", "k"], y="x * 2") for name in ("mapped", "other"))
    mapped.union("both", other).output("unions")
    b.group_by("k", name="keyed").session("visits", gap="1 minute", n="count(*)").view("seen", retention="2 hours")
    points = [(0.0, 0.2), (10.0, 1.0)]
    quality = art.QoS([(1, 1), (2, 0.5), (3, 0)], share=[(0.0, 0.0), (1.0, 1.0)], value=("x", points))
    fast.output("valued", qos=quality)
    cities = net.relation("cities", {"k": int, "name": str}, "k", [(1, "a'b")])
    by.read_relation("where", cities, "at_").output("places")
    return net.value


@pytest.mark.parametrize("network", [traffic(), _many()], ids=lambda network: network.name)
def test_the_text_draws_the_network(network: NetworkValue) -> None:
    scope: dict[str, Any] = {}
    exec(as_python(network), scope)
    drawn: NetworkValue = scope["net"].value
    assert {box.name: box for box in drawn.boxes} == {box.name: box for box in network.boxes}
    assert set(drawn.arcs) == set(network.arcs)
    assert drawn.groups == dict(network.groups)
    assert drawn.name == network.name
    assert as_python(from_json(to_json(network))) == as_python(network)


def test_it_reads_as_if_written_by_hand() -> None:
    assert as_python(traffic()).splitlines()[2:10] == [
        'net = art.Network("traffic")',
        'reports = net.source("reports", {"time": int, "vehicle": int, "road": int, "speed": int})',
        'reports.connection_point("kept", "1 hour")',
        'fast = reports.filter("fast", "speed > 100")',
        'by_vehicle = fast.group_by("vehicle")',
        'per_ten = by_vehicle.tumble("per_ten", every="10 seconds", reports="count(*)", top="max(speed)")',
        'per_ten.output("alerts", qos=art.QoS(art.Delay(2, 10), weight=2))',
        'by_road = reports.group_by("road")',
    ]


def test_no_name_becomes_code() -> None:
    net = art.Network('"); import os #')
    net.source('x"); boom(', {"time": int, "a\nb": int}).filter("y\\", "time > 1").output("'''")
    scope: dict[str, Any] = {}
    exec(as_python(net.value), scope)
    assert scope["net"].value == net.value
