"""`why`: from Python, from a run, and on the command line; what is said where no row, or more than one, fits."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from typer.testing import CliRunner

import arterial as art
from arterial.boxes.tuples.filter import Filter
from arterial.causes.explanation import plain
from arterial.causes.page import page_of
from arterial.causes.recorded import why_in
from arterial.causes.why import explain_row
from arterial.cli.main import app
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.local import run_locally
from arterial.errors import RunError
from arterial.face.bindings import sources_from
from arterial.network.train import Train

TUPLES = [{"time": t, "car": t % 3, "speed": 95 + t % 17} for t in range(0, 300, 2)]


def speeding() -> art.Network:
    net = art.Network("speeding")
    reports = net.source("reports", {"time": int, "car": int, "speed": int})
    fast = reports.filter("fast", "speed > 100").group_by("car")
    fast.tumble("per_minute", every="1 minute", n="count(*)", top="max(speed)").output("alerts")
    return net


def times(said: art.Explanation) -> list[int]:
    return [one.values["time"] for one in said.causes]


def test_every_tuple_of_a_counted_window_is_needed() -> None:
    said = art.why(speeding(), "alerts", "car = 2 and time = 119", reports=TUPLES)
    assert times(said) == [t["time"] for t in TUPLES if t["car"] == 2 and 60 <= t["time"] < 120 and t["speed"] > 100]
    assert said.in_scope == 10  # of 150: one car, one minute
    assert "the window from 60 through 119 of car = 2" in str(said)
    assert "#2–#8 pass: belongs to the group car = 2" in str(said)
    data = json.loads(json.dumps(said.as_data()))
    assert data["causes"] == [2, 3, 4, 5, 6, 7, 8]
    assert "Why this row of alerts?" in page_of(said).html()


def test_of_two_that_suffice_neither_is_needed() -> None:
    net = art.Network("best")
    orders = net.source("orders", {"time": int, "amount": int})
    orders.tumble("minute", every=60, best="max(amount)").output("best")
    said = art.why(net, "best", orders=[{"time": 1, "amount": 9}, {"time": 2, "amount": 9}, {"time": 3, "amount": 1}])
    assert not said.causes
    assert len(said.witnesses) == 3


def test_a_tuple_that_kept_another_away_is_needed() -> None:
    net = art.Network("shop")
    orders = net.source("orders", {"time": int, "customer": int, "amount": int})
    once = orders.deduplicate("once", "amount", within=60)
    once.group_by("customer").tumble("minute", every=60, best="max(amount)").output("best")
    rows = [(1, 7, 30), (5, 8, 90), (9, 7, 90), (20, 7, 40)]
    given = [dict(zip(("time", "customer", "amount"), row, strict=True)) for row in rows]
    said = art.why(net, "best", "customer = 7", orders=given)
    assert [one.values["time"] for one in said.also_needed] == [5]
    assert [one.values["time"] for one in said.witnesses] == [1]


def test_rows_that_do_not_fit_are_listed() -> None:
    with pytest.raises(RunError, match=r"no output 'alrts'; it has: alerts; did you mean 'alerts'"):
        art.why(speeding(), "alrts", reports=TUPLES)
    with pytest.raises(RunError, match=r"no row with car = 9 .* columns are: car, time, n, top"):
        art.why(speeding(), "alerts", "car = 9", reports=TUPLES)
    with pytest.raises(RunError, match=r"(?s)5 rows with car = 2; .*--row 1.*1: car=2  time=59"):
        art.why(speeding(), "alerts", "car = 2", reports=TUPLES)
    with pytest.raises(RunError, match=r"--row 6 is not one of them"):
        art.why(speeding(), "alerts", "car = 2", reports=TUPLES, row=6)
    assert art.why(speeding(), "alerts", "car = 2", reports=TUPLES, row=2).row["time"] == 119


def test_time_that_is_over_is_reported() -> None:
    said = art.why(speeding(), "alerts", "car = 2 and time = 119", reports=TUPLES, seconds=0)
    assert not said.tried
    assert "0 of 10 tuples" in said.summary
    assert any("--seconds" in note for note in said.notes)


def test_tuples_out_of_order() -> None:
    net = art.Network("late")
    reports = net.source("reports", {"time": int, "x": int}, disorder=5)
    reports.tumble("ten", every=10, n="count(*)").output("counts")
    reports.late.output("late")
    given = art.ArrivingSource(
        [art.Train(pl.DataFrame({"time": [3, 9, 1, 30, 5, 28], "x": [1, 2, 3, 4, 5, 6]}), art.END)]
    )
    assert sorted(times(art.why(net, "counts", "time = 9", reports=given))) == [3, 9]
    assert times(art.why(net, "late", "x = 5", reports=given)) == [5]


class Halves(Filter):
    """A box of the user's own that says nothing of its causes."""

    kind: ClassVar[str] = "test_halves"
    meaning: ClassVar[str] = "arterial.reference.tuples.filter:filter"


def test_a_box_that_says_nothing_is_tried_on_its_whole_group() -> None:
    net = art.Network("own")
    reports = net.source("reports", {"time": int, "car": int, "speed": int}).group_by("car")
    reports.box(Halves("fast", "speed > 100")).output("alerts")
    said = art.why(net, "alerts", "time = 112", reports=TUPLES)
    assert times(said) == [112]
    assert said.in_scope == 50
    assert "does not say what it looks at: all 50 tuples with car = 1" in str(said)


def test_a_run_is_asked_about_its_own_sources(tmp_path: Path) -> None:
    pl.DataFrame(TUPLES).write_parquet(tmp_path / "reports.parquet")
    run = art.run(speeding(), reports=str(tmp_path / "reports.parquet"), local=True)
    run.wait()
    assert len(run.why("alerts", "car = 2 and time = 119").causes) == 7


def test_the_command_after_a_local_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(TUPLES).write_csv("reports.csv")
    Path("cars.py").write_text(
        "import arterial as art\n"
        "net = art.Network('speeding')\n"
        "reports = net.source('reports', {'time': int, 'car': int, 'speed': int})\n"
        "fast = reports.filter('fast', 'speed > 100').group_by('car')\n"
        "fast.tumble('per_minute', every='1 minute', n='count(*)').output('alerts')\n"
    )
    run = CliRunner().invoke(app, ["run", "cars.py:net", "--source", "reports=reports.csv", "--out", "o", "--local"])
    assert run.exit_code == 0, run.output
    asked = CliRunner().invoke(app, ["why", "o", "alerts", "car = 2 AND time = 119", "--html", "p.html"])
    assert "7 tuples needed" in asked.output
    assert "Why this row of alerts?" in Path("p.html").read_text()
    data: dict[str, Any] = json.loads(
        CliRunner().invoke(app, ["why", "o", "alerts", "car = 2 AND time = 119", "--json"]).stdout
    )
    assert data["row"]["n"] == 7
    assert why_in(Path("o"), "alerts", {"car": 2, "time": 119}).as_data()["causes"] == data["causes"]
    pl.DataFrame(TUPLES[:50]).write_csv("reports.csv")
    again = CliRunner().invoke(app, ["why", "o", "alerts", "car = 2 AND time = 59"])
    assert "the answer is about the file as it is now" in again.stderr
    with pytest.raises(RunError, match="no run is there"):
        CliRunner().invoke(app, ["why", "nowhere", "alerts"], catch_exceptions=False)
    other = CliRunner().invoke(app, ["why", "o", "alerts", "car = 2 AND time = 59", "--source", "reports=reports.csv"])
    assert "needed" in other.output


def test_a_row_is_asked_for_by_its_values() -> None:
    net = art.Network("timed")
    reports = net.source("reports", {"time": "timestamp", "x": float, "who": str})
    reports.filter("small", "x < 2").output("low")
    begin = datetime(2026, 1, 1)
    given = [{"time": begin + timedelta(seconds=i), "x": i / 10, "who": None if i == 4 else "it's"} for i in range(30)]
    source = MemorySource([Train(pl.DataFrame(given, schema=net.value.box("reports").schema.polars()), art.END)])
    for row in (given[4], given[11]):
        said = explain_row(net.value, {"reports": source}, "low", plain(row))
        assert [one.values for one in said.causes] == [row]
    with pytest.raises(RunError, match="there is no column 'y'"):
        explain_row(net.value, {"reports": source}, "low", {"y": 1})


def test_what_comes_only_once_is_refused() -> None:
    net = speeding().value
    with pytest.raises(RunError, match=r"'reports' took what arrives \(LiveSource\), .*--source reports=FILE"):
        explain_row(net, {"reports": art.LiveSource("tcp://localhost:1")}, "alerts", "car = 2")


def test_a_connection_point_stands_in_for_what_came_only_once(tmp_path: Path) -> None:
    net = art.Network("kept")
    reports = net.source("reports", {"time": int, "car": int, "speed": int})
    kept = reports.group_by("car").connection_point("kept", retention="1 hour")
    kept.tumble("per_minute", every="1 minute", n="count(*)").output("alerts")
    sources = sources_from(net.value, {"reports": TUPLES})
    run = run_locally(net.value, sources, {"alerts": MemorySink()}, tmp_path)
    run.wait()
    live = {"reports": art.LiveSource("tcp://localhost:1")}
    said = explain_row(net.value, live, "alerts", "car = 2 and time = 119", points=tmp_path / "points")
    assert [one.source for one in said.causes] == ["kept"] * 10
    assert times(said) == [t["time"] for t in TUPLES if t["car"] == 2 and 60 <= t["time"] < 120]
    assert any("connection point 'kept'" in note for note in said.notes)


def test_a_run_on_spark_is_found_by_its_checkpoint(spark: object, tmp_path: Path) -> None:
    pl.DataFrame(TUPLES).write_parquet(tmp_path / "reports.parquet")
    run = art.run(
        speeding(),
        reports=str(tmp_path / "reports.parquet"),
        alerts=None,
        checkpoint=tmp_path / "c",
        spark=spark,  # type: ignore[arg-type]
    )
    run.wait()
    said = why_in(tmp_path / "c", "alerts", {"car": 2, "time": 119})
    assert len(said.causes) == 7
    assert not said.notes
