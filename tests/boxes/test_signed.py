"""Signed streams: which boxes take them, and what Filter, Map, Union and GroupBy make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from arterial import Network
from arterial.boxes.ends.source import Source
from arterial.drawing import StreamHandle
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.schema import Schema
from arterial.network.serial import from_json, to_json
from arterial.testing import check_network, run

COLUMNS = {"k": int, "time": int, "x": int, "sign": "int8"}
ROWS = [(1, 1, 5, 1), (2, 1, 7, 1), (1, 2, 5, -1), (1, 2, 6, 1), (2, 4, 7, -1)]
TUPLES = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]


def source(net: Network) -> StreamHandle:
    return net.source("s", COLUMNS, signed=True)


def rows(draw: Callable[[StreamHandle], StreamHandle]) -> list[tuple[Any, ...]]:
    net = Network("n")
    made = draw(source(net))
    assert made.type.signed
    made.output("o")
    arrivals = {
        box.name: [{name: values[name] for name in box.schema.names} for values in TUPLES]
        for box in net.value.boxes
        if isinstance(box, Source) and box.name in ("s", "plain")
    }
    check_network(net, arrivals)
    return [tuple(row.values()) for row in run(net, arrivals)["o"]]


def refused(draw: Callable[[StreamHandle], Any]) -> str:
    with pytest.raises(NetworkError) as error:
        draw(source(Network("n")))
    return str(error.value)


def test_a_filter_sends_a_row_the_same_way_when_it_comes_and_when_it_goes() -> None:
    assert rows(lambda s: s.filter("f", "x > 5")) == [ROWS[1], ROWS[3], ROWS[4]]
    assert rows(lambda s: s.filter("f", "x > 5").otherwise) == [ROWS[0], ROWS[2]]


def test_a_map_takes_the_sign_along() -> None:
    got = rows(lambda s: s.map("m", y="x * 2", keep=["time"]))
    assert got == [(1, 1, 10), (1, 1, 14), (2, -1, 10), (2, 1, 12), (4, -1, 14)]
    assert rows(lambda s: s.map("m", keep=["sign", "time"]))[0] == (1, 1)


def test_a_union_counts_tuples_without_signs_as_rows_that_come() -> None:
    def draw(s: StreamHandle) -> StreamHandle:
        plain = s.network.source("plain", {"k": int, "time": int, "x": int})
        return plain.filter("some", "k = 1").union("u", s)

    assert rows(draw)[:3] == [(1, 1, 5, 1), *ROWS[:2]]
    columns = {"sign": "int8", "k": int, "time": int}

    def sign_first(s: StreamHandle) -> StreamHandle:
        one = s.network.source("first", columns, signed=True)
        return one.union("u", s.network.source("plain", {"k": int, "time": int}))

    assert set(rows(sign_first)) == {(1, 1, 1), (1, 2, 1), (1, 1, 2), (1, 2, 4)}


def test_groups() -> None:
    assert sorted(rows(lambda s: s.group_by("k").group_by("x").group_by())) == sorted(ROWS)


def test_a_signed_network_goes_to_json() -> None:
    net = Network("n")
    source(net).output("o")
    assert from_json(to_json(net.value)) == net.value


def test_what_is_late_is_not_signed() -> None:
    assert not source(Network("n")).late.type.signed


@pytest.mark.parametrize(
    ("draw", "instead"),
    [
        (lambda s: s.tumble("b", every=5, n="count(*)"), "use aggregate"),
        (lambda s: s.slide("b", size=3, n="count(*)"), "use aggregate"),
        (lambda s: s.latch("b", size=3, n="count(*)"), "use aggregate"),
        (lambda s: s.resample("b", every=1, within=5, x="linear"), "resample before"),
        (lambda s: s.drop("b", 0.5), "drop before"),
        (lambda s: s.bsort("b", 3), "in the order"),
        (lambda s: s.join("b", s, within=3), "use match"),
        (lambda s: s.wait_for("b", "until.x > x", s), "wait before"),
        (lambda s: s.read_relation("b", s.network.relation("r", {"k": int, "v": int}, "k")), "use match"),
        (
            lambda s: s.group_by("k").update_relation("b", s.network.relation("r", {"k": int, "x": int}, "k"), x="x"),
            "use",
        ),
    ],
)
def test_boxes_that_take_no_signs(draw: Callable[[StreamHandle], Any], instead: str) -> None:
    message = refused(draw)
    assert "signed stream" in message
    assert instead in message


def test_mistakes() -> None:
    assert "the sign of a signed stream" in refused(lambda s: s.filter("f", "sign > 0"))
    assert "the time of a signed stream" in refused(lambda s: s.filter("f", "time > 0"))
    assert "the time of a signed stream" in refused(lambda s: s.map("m", y="time // 60"))
    assert "stays as it is" in refused(lambda s: s.map("m", sign="cast(1 as int8)"))
    assert "cannot become 'x'" in refused(lambda s: s.map("m", time_column="x"))
    assert "the sign of a signed stream" in refused(lambda s: s.group_by("sign"))
    assert "needs an int8 column 'sign'" in refused(lambda s: s.network.source("t", {"time": int}, signed=True))
    assert "rename it" in refused(lambda s: s.union("u", s.network.source("t", COLUMNS)))


@dataclass(frozen=True)
class Passing(Box):
    """A box of one's own that says nothing of signs."""

    kind: ClassVar[str] = "passing"

    def streams(self, inputs: Any) -> Any:
        return {OUT: inputs[IN]}

    def process(self, trains: Any, state: Any) -> Any:
        return {OUT: trains[IN]}


@dataclass(frozen=True)
class Lying(Passing):
    """A box that says that its output is signed, which has no sign."""

    def streams(self, inputs: Any) -> Any:
        return {OUT: Stream(Schema.of({"time": int}), "time", signed=True)}


def test_a_box_of_ones_own_takes_signs_only_if_it_says_so() -> None:
    assert "takes_signed = True" in refused(lambda s: s.box(Passing("p")))
    assert "needs an int8 column" in refused(lambda s: s.network.source("t", {"time": int}).box(Lying("p")))
