"""ReadRelation of a relation that nothing changes."""

from __future__ import annotations

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.testing import check_network, run
from tests.boxes.drawn import COLUMNS, tuples
from tests.conformance.choices import Draw


def case(s: StreamHandle) -> None:
    s.read_relation("box", s.network.relation("r", {"j": str, "v": int}, "j", [("a", 7), (None, 8)])).output("o1")
    s.read_relation("box2", s.network.relation("r2", {"f": float, "w": int}, "f", [(0.5, 7), (0.0, 8)])).output("o2")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, _: list[StreamHandle]) -> StreamHandle:
    rows = draw(st.dictionaries(st.sampled_from([1, 2, None]), st.integers(0, 5), max_size=3))
    relation = net.relation(f"{name}_relation", {"k": "int64", "v": "int64"}, "k", [(k, v) for k, v in rows.items()])
    return stream.read_relation(name, relation, prefix=f"{name}_")


def test_a_table_of_constants() -> None:
    net = Network("n")
    relation = net.relation(
        "r", {"k": int, "name": str}, "k", rows=[{"k": 1, "name": "one"}, {"k": None, "name": "none"}]
    )
    net.source("s", COLUMNS).read_relation("r", relation).output("o")
    arrivals = tuples((1, 0), (2, 0), (None, 1))
    check_network(net, {"s": arrivals})
    assert [row["name"] for row in run(net, {"s": arrivals})["o"]] == ["one", None, "none"]
