"""Drawing networks, and every mistake that is found on the way."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from arterial import Network
from arterial.drawing import StreamHandle
from arterial.errors import NetworkError
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.qos import Delay


class PositionReport:
    vehicle: int
    time: int
    speed: int
    place: str


def drawn() -> tuple[Network, StreamHandle]:
    net = Network("speeding")
    return net, net.source("reports", PositionReport)


def test_the_example_of_the_design() -> None:
    net, reports = drawn()
    (
        reports.filter("fast", "speed > 100")
        .group_by("vehicle")
        .tumble("per_minute", every="1 minute", peak="max(speed)")
        .output("alerts", qos=Delay(good=2, zero=10))
    )
    assert [box.name for box in net.value.order] == ["reports", "fast", "by_vehicle", "per_minute", "alerts"]
    stream = net.value.streams[Port("per_minute", "out")]
    assert str(stream.schema) == "(vehicle int64, time int64, peak int64)"
    assert stream.keyed_by == ("vehicle",)


def test_types_of_python_are_types_of_columns() -> None:
    class Seen:
        at: datetime
        plate: str

    for schema in (Seen, {"at": datetime, "plate": str}):
        stream = Network("n").source("seen", schema, time="at")
        assert str(stream.schema) == "(at timestamp, plate string)"


def test_a_value_never_changes() -> None:
    net, reports = drawn()
    before = net.value
    reports.filter("fast", "speed > 100")
    assert [box.name for box in before.boxes] == ["reports"]


Mistake = Callable[[Network, StreamHandle], object]
MISTAKES: list[tuple[Mistake, list[str]]] = [
    (lambda n, s: s.filter("f", "sped > 1"), ["'speeding'", "'f'", "reports.out → f.in", "did you mean 'speed'"]),
    (lambda n, s: s.filter("f", "speed"), ["'f'", "expected a condition", "int64"]),
    (lambda n, s: s.filter("reports", "true"), ["two boxes are named 'reports'"]),
    (lambda n, s: s.group_by("vehicl"), ["did you mean 'vehicle'"]),
    (lambda n, s: s.tumble("t", every="1 minute"), ["at least one value"]),
    (lambda n, s: s.tumble("t", n="count(*)"), ["window by time", "by tuples"]),
    (lambda n, s: s.tumble("t", every="1 minute", size=3, n="count(*)"), ["window by time"]),
    (lambda n, s: s.tumble("t", every="soon", n="count(*)"), ["must be a duration", "'soon'"]),
    (lambda n, s: s.tumble("t", size=0, n="count(*)"), ["at least 1", "0"]),
    (lambda n, s: s.tumble("t", size=2, n="speed"), ["outside of an aggregate", "max(speed)"]),
    (lambda n, s: s.tumble("t", size=2, time="count(*)"), ["two columns 'time'"]),
    (lambda n, s: s.tumble("t", size=2, n="sum(place)"), ["sum needs a number", "string"]),
    (lambda n, s: s.slide("t", over="1 minute", n="count(*)"), ["over='5 minutes', every='1 minute'"]),
    (lambda n, s: s.latch("t", size=1, n="count(distinct place)"), ["a Latch goes on for ever"]),
    (lambda n, s: s.map("m", y="null"), ["has no type"]),
    (lambda n, s: s.map("m", keep=["speed"], y="1"), ["no column 'time'"]),
    (lambda n, s: s.group_by("vehicle").map("m", vehicle="1"), ["grouped by 'vehicle'", "before the GroupBy"]),
    (lambda n, s: s.map("m", time="speed").tumble("t", size=1, n="count(*)"), ["without order", "BSort"]),
    (lambda n, s: s.map("m", time="speed").union("u", s), ["without order", "BSort"]),
    (lambda n, s: s.union("u", s.map("m", y="1")), ["expected (vehicle", "in1"]),
    (lambda n, s: s.union("u", s.group_by("vehicle")), ["grouped alike"]),
    (lambda n, s: s.join("j", s.group_by("vehicle"), within=1), ["grouped alike", "GroupBy"]),
    (lambda n, s: s.join("j", s, within=1, on="left.speed > right.sped"), ["did you mean 'right.speed'"]),
    (lambda n, s: s.wait_for("w", "until.speed", s), ["expected a condition"]),
    (lambda n, s: s.drop("d", 1.5), ["rate from 0", "1.5"]),
    (lambda n, s: s.resample("r", every=1, within=5, place="linear"), ["only a number", "previous"]),
    (lambda n, s: s.resample("r", every=1, within=5, speed="cubic"), ["'linear' or 'previous'", "'cubic'"]),
    (lambda n, s: s.group_by("vehicle").bsort("b", 3), ["before the GroupBy"]),
    (lambda n, s: s.late.connection_point("c", "1 day"), ["BSort"]),
    (lambda n, s: s.connection_point("c", "1 day", ["spee"]), ["did you mean 'speed'"]),
    (lambda n, s: s.otherwise, ["no output 'otherwise'", "out, late"]),
    (lambda n, s: n.source("two", {"t": "float64"}, time="t"), ["must be an integer (seconds) or a timestamp"]),
    (lambda n, s: n.source("two", {"t": "complex"}, time="t"), ["unknown type 'complex'"]),
    (lambda n, s: n.source("two", {"t": int}), ["no column 'time'"]),
    (lambda n, s: n.source("two", {"t": int}, time="t", disorder="-1 s"), ["disorder"]),
    (lambda n, s: s.union("u", Network("other").source("o", {"time": int})), ["another network, 'other'"]),
    (lambda n, s: s.output("o", qos=3), ["qos=Delay"]),  # type: ignore[arg-type]
    (lambda n, s: Delay(good=3, zero=2), ["good < zero"]),
    (lambda n, s: s.filter("f", 3), ["expected an expression as text", "3"]),  # type: ignore[arg-type]
    (lambda n, s: s.filter("a/b", "true"), ["cannot be named 'a/b'"]),
    (lambda n, s: s.filter("..", "true"), ["cannot be named '..'", "without slashes"]),
    (lambda n, s: s.filter("x" * 300, "true"), ["at most 200 bytes"]),
    (lambda n, s: s.tumble("t", size=2, n=["count(*)"]), ["'n' must be an expression"]),  # type: ignore[arg-type]
    (lambda n, s: s.tumble("t", "count(*)", size=2), ["mapping of names"]),  # type: ignore[arg-type]
    (lambda n, s: s.group_by(["vehicle"]), ["expected the name of a column"]),  # type: ignore[arg-type]
    (lambda n, s: s.union("u", 7), ["expected a stream for input 'in1'"]),  # type: ignore[arg-type]
    (lambda n, s: n.source("two", [1, 2]), ["expected a schema"]),  # type: ignore[arg-type]
    (lambda n, s: n.source("two", {"@x": int}), ["do not begin with @"]),
    (lambda n, s: n.source("two", {"*": int}), ["cannot be named '*'"]),
    (lambda n, s: n.source("two", {"^x.*$": int}), ["cannot be named '^x.*$'", "a text from ^ to $"]),
    (lambda n, s: s.map("m", **{"@alive": "1"}), ["box 'm'", "cannot be named '@alive'"]),
    (lambda n, s: s.top("m", 2, "1", 5, rank="*"), ["box 'm'", "cannot be named '*'"]),
    (lambda n, s: n.relation("r", {"k": int, "v": str}, key="k", rows=[(1, 2)]), ["'v' as string, got 2"]),
    (lambda n, s: n.relation("r", {"k": int}, key="k"), ["a column beside its key"]),
    (lambda n, s: n.relation("r", {"k": int, "v": int}, key="k", rows=[(1, 2), (1, 3)]), ["two rows"]),
    (
        lambda n, s: s.update_relation("u", n.relation("r", {"vehicle": int, "v": int}, "vehicle"), v="speed"),
        ["grouped by the key", "GroupBy"],
    ),
    (
        lambda n, s: s.group_by("vehicle").update_relation(
            "u", n.relation("r", {"vehicle": int, "v": float}, "vehicle"), v="speed"
        ),
        ["is float64, got int64", "cast"],
    ),
    (
        lambda n, s: s.group_by("vehicle").update_relation(
            "u", n.relation("r", {"vehicle": int, "v": float}, "vehicle"), v="avg(speed)"
        ),
        ["one of count, sum"],
    ),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_mistakes_are_told_at_construction(mistake: Mistake, message: list[str]) -> None:
    net, reports = drawn()
    with pytest.raises(NetworkError) as told:
        mistake(net, reports)
    for part in message:
        assert part in str(told.value)


def test_a_cycle_and_an_unconnected_input() -> None:
    net, reports = drawn()
    reports.union("u", reports)
    boxes = net.value.boxes
    with pytest.raises(NetworkError, match="box 'u': input 'in1' needs exactly one arc, got none"):
        NetworkValue("n", boxes, (Arc(Port("reports", "out"), Port("u", "in0")),))
    with pytest.raises(NetworkError, match="has a cycle among: u"):
        NetworkValue("n", boxes, tuple(Arc(Port("u", "out"), Port("u", f"in{i}")) for i in range(2)))
    with pytest.raises(NetworkError, match=r"needs exactly one arc, got .*put a Union before it"):
        NetworkValue("n", boxes, (*net.value.arcs, Arc(Port("reports", "out"), Port("u", "in0"))))


def test_a_relation_is_drawn_before_it_is_read() -> None:
    net, reports = drawn()
    relation = net.relation("r", {"vehicle": int, "top": int}, key="vehicle")
    by = reports.group_by("vehicle")
    by.read_relation("early", relation)
    with pytest.raises(NetworkError, match="draw its update first"):
        by.update_relation("late", relation, top="max(speed)")


def test_an_error_names_the_line_once() -> None:
    net, reports = drawn()
    with pytest.raises(NetworkError) as raised:
        reports.filter("f", "sped > 1")
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    assert str(raised.value).endswith(f"did you mean 'speed'? (drawn at {_shown(Path(__file__))}:{line})")
    assert str(raised.value).count("drawn at") == 1
    with pytest.raises(NetworkError, match=rf"\(drawn at {re.escape(_shown(Path(__file__)))}:\d+\)$"):
        reports.unmet  # noqa: B018
    with net.composed("one"):
        reports.filter("f", "speed > 1")
    with (
        pytest.raises(NetworkError, match=rf"named 'one'.*\(drawn at {re.escape(_shown(Path(__file__)))}:\d+\)$"),
        net.composed("one"),
    ):
        pass


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def test_a_wrong_delay_names_the_line() -> None:
    with pytest.raises(NetworkError, match=r"did you mean Delay\(1, 5\)\? \(drawn at .*test_drawing.py:\d+\)"):
        Delay(5, 1)
