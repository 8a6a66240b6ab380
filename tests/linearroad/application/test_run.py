"""`arterial linear-road run` on real Spark: input of others, dialects, windows, replicas, refusals, files in OUT."""

from __future__ import annotations

import json
import math
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arterial.engine.run.checkpoint.folder import find_checkpoint
from arterial.engine.run.checkpoint.savepoint import take_savepoint
from arterial.engine.run.watch.watchers import Watch
from arterial.errors import ArterialError, DataError, RunError
from arterial.linearroad.application.run import LinearRoadRun, RunOptions, clear
from arterial.linearroad.formats.dialects import dialect, read_output
from arterial.linearroad.reference import answer
from tests.linearroad.cities import City, generate
from tests.linearroad.outputs import write_city

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def city() -> City:
    return generate(5)


def finished(options: RunOptions, spark: SparkSession) -> dict[str, object]:
    run = LinearRoadRun(options, spark=spark)
    assert run.wait(200)
    return run.finish()


@pytest.mark.parametrize("name", ["paper", "original"])
def test_it_answers_what_the_interpreter_answers(name: str, city: City, tmp_path: Path, spark: SparkSession) -> None:
    data, tolls, segments = write_city(city, tmp_path / "city")
    form = dialect(name)
    options = RunOptions(data, tmp_path / "out", tolls, segments, dialect=name, speed=math.inf, shards=2)
    figures = finished(options, spark)
    right = answer(city.table(), city.tolls, city.segments, balance_at=form.balance_at)
    given = read_output(tmp_path / "out", form)
    assert not given.faults
    notices = given.answers.notices.select(["vid", "time", "lav", "toll"]).to_pylist()
    assert sorted(tuple(row.values()) for row in notices) == sorted(right.notices)
    balances = given.answers.balances.select(["time", "result_time", "qid", "balance"]).to_pylist()
    assert sorted(tuple(row.values()) for row in balances) == sorted(right.balances)
    if name == "paper":
        travels = given.answers.travels.select(["time", "qid", "travel_time", "toll"]).to_pylist()
        assert sorted(tuple(row.values()) for row in travels) == sorted(right.travels)
    for _, table in given.answers.tables():
        assert all(e >= t for e, t in zip(table["emit"].to_pylist(), table["time"].to_pylist(), strict=True))
    assert json.loads((tmp_path / "out" / "run.json").read_text())["reports"] == figures["reports"]
    assert (tmp_path / "out" / "rejects.csv").read_text().startswith("file,line,reason,text")


def test_a_window_of_replicas_with_dirty_lines(city: City, tmp_path: Path, spark: SparkSession) -> None:
    data, _, _ = write_city(city, tmp_path / "city")
    file = next(path for path in ([data] if data.is_file() else sorted(data.rglob("*.csv"))))
    file.write_text(file.read_text() + "0,99999,1,50,0,1,0,-3,100,-1,-1,-1,-1,-1,-1\nnot an event\n")
    begin = 60
    options = RunOptions(data, tmp_path / "out", speed=math.inf, begin=begin, replicate=3, shards=2)
    run = LinearRoadRun(options, spark=spark)
    assert any("replicated 3 times" in note for note in run.notes)
    assert any("no --tolls" in note for note in run.notes)
    assert run.wait(200)
    figures = run.finish()
    right = answer(city.table(), (), ())
    given = read_output(tmp_path / "out", dialect("paper")).answers.notices
    step = run.input.replication.vid_step
    told = sorted(
        (vid % step, time) for vid, time in zip(*(given[n].to_pylist() for n in ("vid", "time")), strict=True)
    )
    assert told == sorted(3 * [(vid, time) for vid, time, _, _ in right.notices if time >= begin])
    assert sum(figures["rejected"].values()) == 2
    assert len((tmp_path / "out" / "rejects.csv").read_text().splitlines()) == 3


def test_real_time_is_kept(city: City, tmp_path: Path, spark: SparkSession) -> None:
    """At speed 30 the answers come after their second is due, and the run takes as long as the data says."""
    data, _, _ = write_city(city, tmp_path / "city")
    figures = finished(RunOptions(data, tmp_path / "out", speed=30.0, until=120, shards=2), spark)
    assert figures["seconds"] >= 119 / 30
    for times in figures["responses"].values():  # type: ignore[attr-defined]
        assert times["answers"] == 0 or times["worst"] >= 0


@pytest.mark.slow
def test_a_savepoint_goes_on_elsewhere_with_the_same_answers(city: City, tmp_path: Path, spark: SparkSession) -> None:
    data, tolls, segments = write_city(city, tmp_path / "city")
    watch = Watch(metrics="0", log=str(tmp_path / "log"))
    options = RunOptions(data, tmp_path / "out", tolls, segments, speed=30.0, until=120, shards=2, watch=watch)
    run = LinearRoadRun(options, spark=spark)
    assert run.engine.metrics_url is not None
    patience = time.monotonic() + 60
    while not (event := run.engine.statistics.event_time) or int(event) < 40:
        assert time.monotonic() < patience
        time.sleep(0.05)
    with urllib.request.urlopen(run.engine.metrics_url, timeout=10) as reply:
        assert b'arterial_source_tuples_total{network="linear road (spec)",source="reports"}' in reply.read()
    take_savepoint(find_checkpoint(options.out), tmp_path / "saved")
    assert run.wait(200)
    run.finish()
    finished(replace(options, out=tmp_path / "saved", watch=Watch()), spark)
    given = [read_output(out, dialect("paper")).answers.notices for out in (options.out, tmp_path / "saved")]
    notices = [table.select(["vid", "time", "lav", "toll"]).to_pylist() for table in given]
    calm, saved = (sorted(tuple(row.values()) for row in rows) for rows in notices)
    since = min(row[1] for row in saved)
    assert 20 <= since <= 119
    assert saved == [row for row in calm if row[1] >= since]
    assert "ended" in (tmp_path / "log").read_text()


def test_a_finished_run_and_other_settings_are_refused(city: City, tmp_path: Path, spark: SparkSession) -> None:
    data, _, _ = write_city(city, tmp_path / "city")
    options = RunOptions(data, tmp_path / "out", speed=math.inf, until=60, shards=2)
    run = LinearRoadRun(options, spark=spark)
    assert run.wait(200)
    with pytest.raises(RunError, match="another run"):
        LinearRoadRun(options, spark=spark)
    with pytest.raises(RunError, match="another run"):
        clear(options.out)
    run.stop()
    with pytest.raises(RunError, match="profile was spec and is walmart"):
        LinearRoadRun(replace(options, profile="walmart"), spark=spark)
    finished(options, spark)
    with pytest.raises(DataError, match="already finished"):
        LinearRoadRun(options, spark=spark)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"profile": "nobody's"}, "No profile"),
        ({"dialect": "klingon"}, "No dialect"),
        ({"data": Path("nowhere")}, "nowhere"),
        ({"tolls": Path("nowhere")}, "nowhere"),
        ({"begin": 10_000_000}, "--from"),
        ({"replicate": 0}, "--replicate"),
    ],
)
def test_mistakes_are_named(change: dict[str, object], said: str, city: City, tmp_path: Path) -> None:
    data, _, _ = write_city(city, tmp_path / "city")
    options = replace(RunOptions(data, tmp_path / "out", speed=math.inf), **change)  # type: ignore[arg-type]
    with pytest.raises(ArterialError, match=said):
        LinearRoadRun(options)
