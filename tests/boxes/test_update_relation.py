"""UpdateRelation and ReadRelation: a table is written and read in time."""

from __future__ import annotations

from arterial import Network
from arterial.testing import check_network, run
from tests.boxes.drawn import COLUMNS, tuples


def test_a_read_sees_every_update_up_to_its_instant() -> None:
    net = Network("n")
    by = net.source("s", COLUMNS).group_by("k")
    relation = net.relation("r", {"k": int, "total": int, "word": str}, "k", rows=[(1, 100, "first")])
    by.filter("writes", "x is not null").update_relation(
        "u", relation, total="sum(x)", word="s", delete="x < 0"
    ).output("c")
    by.filter("reads", "x is null").read_relation("r", relation, prefix="r_").output("o")
    arrivals = tuples(
        (1, 0), (1, 1), (1, 1, 5, "a"), (1, 1, 6, None), (2, 1), (1, 3, -1), (1, 3), (1, 4, 2, "b"), (1, 5)
    )  # fmt: skip
    check_network(net, {"s": arrivals}, tries=6)
    got = run(net, {"s": arrivals})
    read = [(row["k"], row["time"], row["r_total"], row["r_word"]) for row in got["o"]]
    assert read == [(1, 0, 100, "first"), (1, 1, 111, None), (2, 1, None, None), (1, 3, None, None), (1, 5, 2, "b")]
    assert [(row["total"], row["deleted"]) for row in got["c"]] == [
        (105, False),
        (111, False),
        (None, True),
        (2, False),
    ]
