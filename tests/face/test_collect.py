"""`arterial.collect`: frames in, frames out, in this process."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import arterial as art

FRAME = pl.DataFrame({"time": [0, 5, 4, 70, 1], "vehicle": [1] * 5, "speed": [120, 130, 140, 150, 500]})
ALERTS = [(1, 59, 140), (1, 119, 150)]


def speeding() -> art.Network:
    net = art.Network("speeding")
    reports = net.source("reports", {"time": int, "vehicle": "int32", "speed": int}, disorder=2)
    fast = reports.filter("fast", "speed > 100").group_by("vehicle")
    fast.tumble("per_minute", every="1 minute", peak="max(speed)").output("alerts")
    reports.late.output("late")
    return net


class Capsules:
    """Nothing but Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return FRAME.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "given",
    [
        lambda: FRAME,
        FRAME.lazy,
        FRAME.to_pandas,
        FRAME.to_arrow,
        lambda: FRAME.to_arrow().to_batches()[0],
        Capsules,
        FRAME.to_dicts,
        lambda: art.ArrivingSource([art.Train(FRAME.with_columns(pl.col("vehicle").cast(pl.Int32)), art.BEGIN)]),
    ],
)
def test_any_frame_out_of_order_within_the_disorder(given: Callable[[], Any]) -> None:
    got = art.collect(speeding(), reports=given())
    assert list(got) == ["alerts", "late"]
    assert got["alerts"].rows() == ALERTS
    assert got["late"].to_dicts() == [{"time": 1, "vehicle": 1, "speed": 500}]


def test_results_speak_arrow() -> None:
    table = pa.table(art.collect(speeding(), {"reports": FRAME})["alerts"])
    assert table.column("peak").to_pylist() == [140, 150]


def test_files(tmp_path: Path) -> None:
    FRAME.head(2).write_csv(tmp_path / "my reports.csv")
    path = tmp_path / "my reports.csv"
    for value in (path, str(path), path.as_uri(), art.FileSource(path)):
        assert art.collect(speeding(), reports=value)["alerts"].rows() == [(1, 59, 130)]


def test_lines_that_do_not_fit_are_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    path.write_text("time,vehicle,speed\n0,1,120\n5,one,130\n")
    with pytest.warns(UserWarning, match="1 of 2 lines were set aside") as warned:
        assert art.collect(speeding(), reports=path)["alerts"].rows() == [(1, 59, 120)]
    kept = Path(str(warned[0].message).rpartition(" ")[2])
    assert "vehicle is 'one'" in kept.read_text()


def test_tuples_that_come_too_late_are_a_warning_unless_a_box_takes_them() -> None:
    net = art.Network("late")
    stream = net.source("s", {"time": int, "x": int})
    stream.output("all")
    rows = [{"time": 5, "x": 1}, {"time": 1, "x": 2}, {"time": None, "x": 3}]
    with pytest.warns(UserWarning, match="source 's': 2 tuple.s. are late or have no time, and no box takes them"):
        assert art.collect(net, s=rows)["all"].to_dicts() == rows[:1]
    stream.late.output("late")
    assert art.collect(net, s=rows)["late"].to_dicts() == rows[1:]


def test_nothing_and_much() -> None:
    assert art.collect(speeding(), reports=[])["alerts"].height == 0
    times = [second // 3 for second in range(20)]
    from arterial.connectors.frames import frame_source

    stream = speeding().stream("reports").type
    tuples = {"time": times, "vehicle": times, "speed": [101 + time for time in times]}
    for frame in (pl.DataFrame(tuples), pl.DataFrame(tuples).reverse()):
        source = frame_source(frame, "reports", stream, size=4)
        assert len(source.trains) == 5
        for train in source.trains:
            assert train.through == art.BEGIN or train.tuples["time"].to_list()[-1] <= train.through
    whole = art.collect(speeding(), reports=pl.DataFrame(tuples))
    cut = art.collect(speeding(), reports=frame_source(pl.DataFrame(tuples), "reports", stream, size=4))
    assert cut["alerts"].equals(whole["alerts"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda n: art.collect(n, report=FRAME),
            "no source 'report'; it has the sources: reports; did you mean 'reports'",
        ),
        (lambda n: art.collect(n, reports=FRAME, alerts="x"), "no source 'alerts'"),
        (lambda n: art.collect(n), "the source 'reports' has no value; give reports="),
        (lambda n: art.collect(n, reports=FRAME.rename({"speed": "sped"})), "'speed' is missing.*did you mean 'sped'"),
        (lambda n: art.collect(n, reports=[{"sped": 3}]), "tuple 0 has an unknown column 'sped'.*did you mean 'speed'"),
        (lambda n: art.collect(n, reports=[{"speed": "fast"}]), "source 'reports': .*expected .*speed int64"),
        (lambda n: art.collect(n, reports=FRAME.with_columns(speed=pl.lit("x"))), "'speed' is String; expected int64"),
        (lambda n: art.collect(n, reports=FRAME.with_columns(vehicle=2**40)), "source 'reports': .*vehicle int32"),
        (lambda n: art.collect(n, reports="kafak://x"), "unknown scheme 'kafak'; expected file://, stdin://, tcp://"),
        (lambda n: art.collect(n, reports="file://elsewhere/x"), "expected file:///PATH, without a host"),
        (lambda n: art.collect(n, reports="nowhere.csv"), "nowhere.csv does not exist"),
        (lambda n: art.collect(n, reports=3), "got a int; expected a path, a URI"),
        (lambda n: art.collect(n, reports=FRAME)["alrts"], "no output 'alrts'; .*did you mean 'alerts'"),
        (lambda n: art.collect("net", reports=FRAME), "expected a Network, got a str"),
    ],
)
def test_mistakes(call: Callable[[art.Network], object], message: str) -> None:
    with pytest.raises(art.ArterialError, match=message):
        call(speeding())


def test_a_box_that_fails_is_named() -> None:
    net = art.Network("failing")
    never = art.function(reads=["x"], produces="int64")(lambda x: 1 // 0)
    net.source("s", {"time": int, "x": int}).map("m", y=never).output("out")
    with pytest.raises(art.RunError, match=r"box 'm'.*ZeroDivisionError"):
        art.collect(net, s=[{"time": 1, "x": 1}])


def test_closures_of_one_place_are_different_functions() -> None:
    def above(limit: int) -> art.Function:
        return art.function(reads=["x"], produces="int64")(lambda x: (x > limit).sum())

    net = art.Network("closures")
    stream = net.source("s", {"time": int, "x": int})
    stream.tumble("one", every=10, n=above(1)).output("out_one")
    stream.tumble("two", every=10, n=above(2)).output("out_two")
    got = art.collect(net, s=[{"time": i, "x": i} for i in range(5)])
    assert (got["out_one"]["n"].to_list(), got["out_two"]["n"].to_list()) == ([3], [2])


def test_signs_and_times_that_no_stream_has_leave_by_late() -> None:
    net = art.Network("n")
    source = net.source("s", {"time": int, "x": int, "sign": "int8"}, signed=True)
    source.output("o")
    source.late.output("late")
    rows = [{"time": 1, "x": x, "sign": sign} for x, sign in enumerate((1, 2, 0, None, -1))]
    found = art.collect(net, s=[*rows, {"time": 2**62 + 1, "x": 9, "sign": 1}])
    assert sorted(found["o"]["x"]) == [0, 4]
    assert sorted(found["late"]["x"]) == [1, 2, 3, 9]


@pytest.mark.parametrize("time", [-(2**63), -(2**62) - 1, 2**63 - 1])
def test_a_time_that_windows_cannot_reach_is_late(time: int) -> None:
    net = art.Network("far")
    net.source("s", {"time": int, "x": int}).tumble("t", every=60, n="count(*)").output("o")
    net.stream("s", "late").output("late")
    found = art.collect(net, s=sorted([{"time": time, "x": 1}, {"time": 5, "x": 1}], key=lambda row: row["time"]))
    assert found["o"].rows() == [(59, 1)]
    assert found["late"].rows() == [(time, 1)]


@pytest.mark.parametrize(
    "at",
    [
        "2026-03-01T07:00:00+01:00",
        1772344800,
        1772344800000,
        datetime(2026, 3, 1, 6),
        datetime(2026, 3, 1, 6, tzinfo=UTC),
    ],
)
def test_times_in_tuples_are_read_as_those_of_files(at: Any) -> None:
    net = art.Network("times")
    net.source("s", {"at": "timestamp"}, time="at").output("all")
    assert art.collect(net, s=[{"at": at}])["all"]["at"].to_list() == [datetime(2026, 3, 1, 6)]
    assert art.collect(net, s=[{"at": date(2026, 3, 1)}])["all"]["at"].to_list() == [datetime(2026, 3, 1)]
    with pytest.raises(art.DataError, match="source 's': tuple 1: at is 'noon', expected a time as 2026-03-01T06"):
        art.collect(net, s=[{"at": at}, {"at": "noon"}])
