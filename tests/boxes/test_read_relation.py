"""ReadRelation of a relation that nothing changes."""

from __future__ import annotations

from arterial import Network
from arterial.testing import check_network, run
from tests.boxes.drawn import COLUMNS, tuples


def test_a_table_of_constants() -> None:
    net = Network("n")
    relation = net.relation(
        "r", {"k": int, "name": str}, "k", rows=[{"k": 1, "name": "one"}, {"k": None, "name": "none"}]
    )
    net.source("s", COLUMNS).read_relation("r", relation).output("o")
    arrivals = tuples((1, 0), (2, 0), (None, 1))
    check_network(net, {"s": arrivals})
    assert [row["name"] for row in run(net, {"s": arrivals})["o"]] == ["one", None, "none"]
