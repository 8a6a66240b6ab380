"""Follow: ways through a relation, their ends, and relations that change under way."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.testing import check_network, run
from tests.boxes.drawn import COLUMNS, tuples
from tests.conformance.choices import Draw

RING = [(0, 1, 0.5), (1, 2, 1.0), (2, 0, 2.0)]


def case(s: StreamHandle) -> None:
    ring = s.network.relation("ring", {"at": int, "to": int, "km": float}, "at", RING)
    start = {"at": "abs(n) % 4", "far": "coalesce(f, 0.0)", "legs": "0"}
    s.follow("box", ring, start, {"at": '"to"', "far": "far + km", "legs": "legs + 1"}, "far > 3", most=5).output("o1")
    heads = s.network.relation("heads", {"k": "int64", "at": "int64", "head": "int64"}, ("k", "at"))
    writers = s.map("writers", at="cast(coalesce(n, 0) % 3 as int64)", keep=["t", "k", "n"]).group_by(
        "k", "at", name="by_office"
    )
    writers.update_relation("write", heads, head="cast(n as int64)", delete="n = 2")
    steps = ({"at": "0", "seen": "0"}, {"at": "coalesce(head, 0) % 3", "seen": "seen + coalesce(head, 100)"})
    s.group_by("k", name="by_k").follow("box2", heads, *steps, "seen > 50", most=4).output("o2")
    s.group_by(name="all").follow("box3", heads, *steps, "seen > 50", most=2).output("o3")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    rows = draw(st.dictionaries(st.integers(0, 3), st.integers(0, 3), max_size=4))
    columns = {f"{name}_at": "int64", f"{name}_to": "int64"}
    relation = net.relation(f"{name}_relation", columns, f"{name}_at", list(rows.items()))
    begin, each = {f"{name}_at": "0"}, {f"{name}_at": f"{name}_to"}
    return stream.follow(name, relation, begin, each, f"{name}_at = 3", most=draw(st.integers(1, 4)))


def test_a_way_ends_where_it_should() -> None:
    net = Network("n")
    relation = net.relation("legs", {"at": int, "to": int, "km": int}, "at", [(1, 2, 10), (2, 3, 5), (7, 7, 1)])
    source = net.source("s", COLUMNS)
    source.follow("way", relation, {"at": "x", "far": "0"}, {"at": '"to"', "far": "far + km"}, "at = 3", most=4).output(
        "o"
    )
    arrivals = tuples((1, 0, 1), (1, 1, 3), (1, 2, 7), (1, 3, 9), (1, 4, None))
    check_network(net, {"s": arrivals})
    got = [(row["at"], row["far"]) for row in run(net, {"s": arrivals})["o"]]
    assert got == [(3, 15), (3, 0), (7, 4), (None, None), (None, None)]


def test_mistakes() -> None:
    net = Network("n")
    stream = net.source("s", COLUMNS)
    relation = net.relation("legs", {"at": int, "to": int}, "at")

    def follow(begin: dict[str, str], each: dict[str, str], until: str = "at = 3") -> None:
        stream.follow("way", relation, begin, each, until)

    with pytest.raises(NetworkError, match="there is no column 'at'"):
        follow({"on": "x"}, {"on": "x"}, "on = 3")
    with pytest.raises(NetworkError, match="needs an expression in `each`"):
        follow({"at": "x", "far": "0"}, {"at": "x"})
    with pytest.raises(NetworkError, match="begins as int64, got float64"):
        follow({"at": "x"}, {"at": "x / 2"})
    with pytest.raises(NetworkError, match="has a column 'x' already"):
        follow({"x": "1"}, {"x": "2"})
    with pytest.raises(NetworkError, match="is int64, got float64"):
        follow({"at": "1.5"}, {"at": "1.5"})
    with pytest.raises(NetworkError, match="has no type"):
        follow({"at": "null"}, {"at": "null"})
