"""Every box on both engines from the same cases: short and long streams, many trains, shards, restarts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from arterial import Network
from arterial.drawing import StreamHandle
from arterial.reference.interpret import MEANINGS
from arterial.testing import check_network
from tests.conformance.tuples import SCHEMA, arrivals

ALL = {
    "n": "count(*)", "nx": "count(x)", "su": "sum(x)", "sf": "sum(f)", "lo": "min(f)", "hi": "max(x)", "hs": "max(s)",
    "ls": "min(s)", "fi": "first(s)", "la": "last(x)", "av": "avg(x)", "sd": "stddev(f)",
    "mix": "max(n) + count(*) * 2", "hb": "max(b)", "tf": "first(t)",
}  # fmt: skip
START = {"start": "window_start()"}
DISTINCT = {"d": "count(distinct s)", "df": "count(distinct f)"}


def case_filter(s: StreamHandle) -> None:
    some = s.filter("box", "x > 1 or s like 'a%'")
    some.output("o1")
    some.otherwise.output("o2")


def case_map(s: StreamHandle) -> None:
    s.map("box", y="x * 2 + coalesce(f, 0)", z="x // 2", w="case when x > 1 then s else j end").output("o1")
    s.group_by("k").map("box2", {"x": "n", "u": "f / 3"}, keep=["k", "t"]).output("o2")


def case_drop(s: StreamHandle) -> None:
    s.drop("box", 0.4, seed=7).output("o1")
    s.group_by("k").drop("box2", 0.1).output("o2")


def case_union(s: StreamHandle) -> None:
    s.filter("a", "x > 0").union("box", s.filter("b", "f < 1"), s).output("o1")
    s.group_by("k").union("box2", s.group_by("k")).output("o2")


def case_group_by(s: StreamHandle) -> None:
    s.group_by("k").group_by("k", "j").output("o1")
    s.group_by("k").group_by("j").output("o2")
    s.group_by("f").group_by().output("o3")


def case_tumble(s: StreamHandle) -> None:
    s.group_by("k", "s").tumble("box", ALL | START, every=10).output("o1")
    s.tumble("box2", ALL | START, every=7).output("o2")
    s.group_by("k").tumble("box3", ALL | START, size=3).output("o3")
    s.tumble("box4", ALL, size=4).output("o4")
    s.group_by("j").tumble("box5", ALL | DISTINCT | START, every=10).output("o5")
    s.group_by("f").tumble("box6", ALL | DISTINCT | START, size=2).output("o6")


def case_slide(s: StreamHandle) -> None:
    s.group_by("k").slide("box", ALL | START, over=12, every=5).output("o1")
    s.slide("box2", ALL | DISTINCT, over=3, every=10).output("o2")
    s.group_by("k").slide("box3", ALL | START, size=3, advance=2).output("o3")
    s.slide("box4", ALL | DISTINCT, size=2, advance=5).output("o4")
    s.slide("box5", ALL, size=4).output("o5")


def case_latch(s: StreamHandle) -> None:
    s.group_by("k").latch("box", ALL, every=10).output("o1")
    s.latch("box2", ALL, size=3).output("o2")
    s.group_by("j").latch("box3", ALL, size=1).output("o3")
    s.latch("box4", ALL, every=4).output("o4")


def case_latest(s: StreamHandle) -> None:
    s.latest("box", "k").output("o1")
    s.latest("box2", "j", "s", timeout=3).output("o2")
    s.group_by("k").latest("box3", "k", "j", timeout=20).output("o3")
    s.latest("box4", "f").output("o4")


def case_net(s: StreamHandle) -> None:
    s.latest("a", "k").map("few", keep=["t", "k", "j"]).net("box").output("o1")
    s.latest("b", "k", timeout=2).map("fewer", keep=["t", "f"]).group_by("f").net("box2").output("o2")


def case_resample(s: StreamHandle) -> None:
    s.group_by("k").resample("box", every=3, within=10, x="linear", f="linear", s="previous").output("o1")
    s.resample("box2", every=5, within=6, f="linear", n="previous").output("o2")


def case_bsort(s: StreamHandle) -> None:
    b = s.map("m", at="t + n", time_column="at").bsort("box", 3)
    b.output("o1")
    b.late.output("o2")
    s.bsort("box2", 2, time="x").output("o3")


def case_join(s: StreamHandle) -> None:
    a, b = s.filter("a", "x > 0"), s.filter("b", "f < 1")
    a.join("box", b, within=3, on="left.x <> right.x or right.s = 'a'").output("o1")
    a.group_by("k").join("box2", b.group_by("k"), within=10).output("o2")
    a.join("box3", a, within=0).output("o3")


def signed(s: StreamHandle) -> StreamHandle:
    """What stands of the stream by a key: rows come and go."""
    return s.latest("signed", "k", "j", timeout=30).filter("stay", "n <> 2")


def case_distinct(s: StreamHandle) -> None:
    s.distinct("box").output("o1")
    signed(s).distinct("box2", by=["s", "f"]).output("o2")
    s.group_by("k").distinct("box3", by=["k"]).output("o3")


def case_aggregate(s: StreamHandle) -> None:
    values = {name: text for name, text in ALL.items() if not text.startswith(("first", "last", "stddev"))} | DISTINCT
    rows = signed(s)
    rows.aggregate("box", values | {"a": "avg(f)", "hf": "max(f)", "mb": "min(b)"}).output("o1")
    rows.group_by("k").aggregate("box2", values).output("o2")
    s.group_by("k", "s").aggregate("box3", values).output("o3")
    s.group_by("f").aggregate("box4", n="count(*)", sf="sum(f) + 1").output("o4")


def case_match(s: StreamHandle) -> None:
    a, b = s.latest("a", "k"), s.filter("some", "x > 0")
    a.match("box", b, on="left.j = right.j and left.n <> right.n").output("o1")
    a.group_by("k").match("box2", a.group_by("k")).output("o2")
    b.match("box3", a, on="left.f = right.f and right.x + 1 = left.x + 1").output("o3")
    a.match("box4", s.latest("c", "j"), on="left.x < right.x or left.b").output("o4")


def case_wait_for(s: StreamHandle) -> None:
    a, b = s.filter("a", "x > 0"), s.filter("b", "f < 1")
    w = a.wait_for("box", "until.t > t + 2", b)
    w.output("o1")
    w.unmet.output("o2")
    w = a.group_by("k").wait_for("box2", "until.x < x or until.s = s", b.group_by("k"))
    w.output("o3")
    w.unmet.output("o4")


def case_update_relation(s: StreamHandle) -> None:
    columns = {"k": int, "tot": int, "n": int, "last": str, "mx": float, "fi": str}
    rows = [{"k": 1, "tot": 100, "n": 5, "last": "b"}, (None, None, None, "x", 9.0, "first")]
    relation = s.network.relation("r", columns, "k", rows)
    values = {"tot": "sum(x)", "n": "count(x)", "last": "s", "mx": "max(f)", "fi": "first(s)"}
    s.group_by("k").update_relation("box", relation, values, delete="n = 3").output("o1")
    s.group_by("k").read_relation("reader", relation, prefix="r_").output("o2")
    single = s.network.relation("one", {"most": float}, (), [(3.0,)])
    s.update_relation("box2", single, most="max(f)").output("o3")
    s.read_relation("reader2", single).output("o4")


def case_read_relation(s: StreamHandle) -> None:
    s.read_relation("box", s.network.relation("r", {"j": str, "v": int}, "j", [("a", 7), (None, 8)])).output("o1")
    s.read_relation("box2", s.network.relation("r2", {"f": float, "w": int}, "f", [(0.5, 7), (0.0, 8)])).output("o2")


def case_connection_point(s: StreamHandle) -> None:
    s.connection_point("box", "1 hour", ["k"]).output("o1")


def case_output(s: StreamHandle) -> None:
    s.output("o1")


def case_source(s: StreamHandle) -> None:
    s.output("o1")


CASES: dict[str, Callable[[StreamHandle], None]] = {
    name.removeprefix("case_"): case for name, case in list(globals().items()) if name.startswith("case_")
}


def test_every_kind_has_cases() -> None:
    assert set(CASES) == set(MEANINGS)


@pytest.mark.parametrize(
    ("length", "seed"), [(0, 0), (1, 1), (12, 2), (40, 3), pytest.param(150, 4, marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("kind", CASES)
def test_both_engines_agree(kind: str, length: int, seed: int) -> None:
    net = Network(kind)
    stream = net.source("s", SCHEMA, "t", disorder=seed)
    stream.late.output("late")
    CASES[kind](stream)
    check_network(net, {"s": arrivals(length, seed)}, tries=5, trains=max(2, length // 3), seed=seed)
