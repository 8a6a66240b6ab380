"""UpdateRelation and ReadRelation: a table is written and read in time."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.testing import check_network, run
from tests.boxes.drawn import COLUMNS, tuples
from tests.conformance.choices import Draw, grouped_like


def case(s: StreamHandle) -> None:
    columns = {"k": int, "tot": int, "n": int, "last": str, "mx": float, "fi": str}
    rows = [{"k": 1, "tot": 100, "n": 5, "last": "b"}, (None, None, None, "x", 9.0, "first")]
    relation = s.network.relation("r", columns, "k", rows)
    values = {"tot": "sum(x)", "n": "count(x)", "last": "s", "mx": "max(f)", "fi": "first(s)"}
    s.group_by("k").update_relation("box", relation, values, delete="n = 3").output("o1")
    s.group_by("k").read_relation("reader", relation, prefix="r_").output("o2")
    s.group_by("k").read_relation("reader_before", relation, prefix="b_", before=True).output("o5")
    single = s.network.relation("one", {"most": float}, (), [(3.0,)])
    s.update_relation("box2", single, most="max(f)").output("o3")
    s.read_relation("reader2", single).output("o4")


def add(draw: Draw, net: Network, name: str, stream: StreamHandle, others: list[StreamHandle]) -> StreamHandle:
    if not {"s", "x", "f"} <= set(stream.schema.names):
        raise NetworkError("nothing to write into a relation")
    key = stream.type.keyed_by
    columns = {k: stream.schema[k].value for k in key}
    columns |= {"total": "int64", "times": "int64", "latest": stream.schema["s"].value, "most": "float64"}
    relation = net.relation(f"{name}_relation", columns, key)
    stream.update_relation(
        f"{name}_update",
        relation,
        total="sum(x)",
        times="count(*)",
        latest="s",
        most="max(f)",
        delete=draw(st.sampled_from([None, "n = 1", "b"])),
    )
    reader = draw(st.sampled_from(grouped_like(stream, others)))
    return reader.read_relation(name, relation, prefix=f"{name}_")


@pytest.mark.thorough
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
