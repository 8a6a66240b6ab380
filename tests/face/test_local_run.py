"""`arterial.run` in this process: sources and outputs of all kinds, control, errors, and what a notebook shows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import polars as pl
import pytest

import arterial as art
from arterial.engine.run.local import LocalRun
from tests.face.test_collect import speeding

FRAME = pl.DataFrame({"time": list(range(0, 200, 2)), "vehicle": [1, 2] * 50, "speed": [101 + i for i in range(100)]})


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    path = tmp_path / "reports.parquet"
    FRAME.write_parquet(path)
    return path


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary checkpoints are made: nothing may stay there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_one_file_a_folder_and_memory(reports: Path, tmp_path: Path, temporary: Path) -> None:
    expected = art.collect(speeding(), reports=FRAME)["alerts"]
    for _ in range(2):  # a single file is replaced
        run = art.run(speeding(), reports=reports, alerts=tmp_path / "out" / "alerts.csv", local=True)
        assert run.wait(60)
        assert (run.state, run.ended, run.active) == ("finished", True, False)
        assert sorted(run["alerts"].rows()) == sorted(expected.rows())
        assert list(run.outputs) == ["late"]
        assert run["late"].height == 0
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["alerts.csv"]
    in_memory = art.run(speeding(), reports=FRAME, late=None, local=True)
    in_memory.wait(60)
    assert sorted(in_memory["alerts"].rows()) == sorted(expected.rows())
    with pytest.raises(art.RunError, match="no output 'late' with a sink; those with one: alerts"):
        in_memory["late"]
    folder = art.run(speeding(), reports=str(reports), alerts=(tmp_path / "parts").as_uri(), local=True)
    folder.wait(60)
    assert sorted(folder["alerts"].rows()) == sorted(expected.rows())
    assert list((tmp_path / "parts").glob("part-000000001-*.parquet"))
    with pytest.raises(art.RunError, match="belongs to an earlier run"):
        art.run(speeding(), reports=FRAME, alerts=tmp_path / "parts", local=True)
    assert not list(temporary.iterdir())


def test_many_steps_give_the_same(reports: Path) -> None:
    one = art.run(speeding(), reports=reports, local=True)
    many = art.run(speeding(), reports=reports, local=True, settings=art.Settings(shards=3, train_size=7))
    for run in (one, many):
        run.wait(60)
    assert many.statistics.steps > 10
    assert sorted(one["alerts"].rows()) == sorted(many["alerts"].rows())
    figures = many.statistics.describe()
    assert (figures["tuples_in"], figures["boxes"]["fast"]["in"]) == (100, 100)


def test_sinks_of_a_users_own_are_bound_committed_and_finished(reports: Path) -> None:
    calls: list[object] = []

    class Recording(art.Sink):
        def bind(self, output: str, stream: art.Stream, folder: Path) -> art.Sink:
            calls.append((output, stream.schema.names))
            return self

        def write(self, delivery: art.Delivery) -> None:
            calls.append((delivery.step, delivery.slot, len(delivery.train)))

        def commit(self, step: int) -> None:
            calls.append(("commit", step))

        def finish(self) -> None:
            calls.append("finish")

    settings = art.Settings(shards=1)
    art.run(speeding(), reports=reports, alerts=Recording(), local=True, settings=settings).wait(60)
    assert calls == [("alerts", ("vehicle", "time", "peak")), (1, 0, 8), ("commit", 1), "finish"]


def test_pause_resume_stop(reports: Path) -> None:
    source = art.FileSource(reports, speed=1)  # would take minutes
    run = art.run(speeding(), reports=source, local=True, settings=art.Settings(train_size=2))
    run.pause()
    time.sleep(0.1)
    before = run.statistics.steps
    assert run.active
    run.resume()
    patience = time.monotonic() + 30
    while run.statistics.steps == before and time.monotonic() < patience:
        time.sleep(0.05)
    assert run.statistics.steps > before
    run.stop()
    assert (run.state, run.ended) == ("stopped", False)


@pytest.mark.thorough
def test_single_steps(reports: Path, tmp_path: Path) -> None:
    settings = art.Settings(train_size=2)
    run = LocalRun(speeding().value, {"reports": art.FileSource(reports)}, {}, tmp_path / "work", settings)
    run.step(2)
    Thread(target=run.work, daemon=True).start()
    patience = time.monotonic() + 30
    while run.statistics.steps < 2 and time.monotonic() < patience:
        time.sleep(0.01)
    assert not run.wait(0.2)
    assert run.statistics.steps == 2
    other = art.Network("other")
    other.source("others", {"time": int}).output("out")
    with pytest.raises(art.RunError, match="must have the same sources, reports; it has others"):
        run.replace(other.value)
    assert run.replace(speeding().value) == run.version == 2
    run.resume()
    assert run.wait(60)
    assert run.ended


def test_tuples_are_set_aside_and_kept(temporary: Path) -> None:
    net = art.Network("picky")

    @art.function(reads=["x"], produces="int64")
    def picky(x: pl.Series) -> pl.Series:
        if (x == 13).any():
            raise ValueError("thirteen")
        return x

    net.source("s", {"time": int, "x": int}).map("m", y=picky, keep=["time"]).output("out")
    tuples = [{"time": i, "x": i} for i in range(10, 16)]
    with pytest.raises(art.RunError, match=r"'m'.*\"x\": 13.*thirteen"):
        art.run(net, s=tuples, local=True).wait(60)
    run = art.run(net, s=tuples, local=True, settings=art.Settings(policy="set aside"))
    run.wait(60)
    assert run["out"]["y"].to_list() == [10, 11, 12, 14, 15]
    assert run.statistics.rejects == 1
    (kept,) = temporary.rglob("*.jsonl")
    assert kept.is_relative_to(run.checkpoint)
    assert "thirteen" in kept.read_text()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda n: art.run(n, reports=FRAME, alert="x", local=True),
            "no source or output 'alert'.*did you mean 'alerts'",
        ),
        (lambda n: art.run(n, alerts="x", local=True), "the source 'reports' has no value"),
        (lambda n: art.run(n, reports=FRAME, alerts=art.MemorySink, local=True), "got the class MemorySink"),
        (lambda n: art.run(n, reports=FRAME, alerts=print, local=True), "a FrameSink needs Spark"),
        (lambda n: art.run(n, reports=FRAME, alerts=3, local=True), "got a int; expected the path"),
        (lambda n: art.run(n, reports=FRAME, alerts="gs://b/x", local=True), "unknown scheme 'gs'; expected file://"),
        (
            lambda n: art.run(n, reports=FRAME, alerts="", local=True),
            "output 'alerts': its place is empty; expected a path",
        ),
        (lambda n: art.run(n, reports="?follow", local=True), "source 'reports': its place is empty; expected a path"),
        (lambda n: art.run(n, reports=FRAME, checkpoint="x", local=True), "a local run keeps no checkpoint"),
        (lambda n: art.run(n, reports=FRAME, local=True, settings=art.Settings(policy="hope")), "policy is 'hope'"),
    ],
)
def test_mistakes(call: Callable[[art.Network], object], message: str, temporary: Path) -> None:
    with pytest.raises(art.ArterialError, match=message):
        call(speeding())
    assert not list(temporary.iterdir())


def test_what_a_notebook_shows() -> None:
    net = speeding()
    drawing = net._repr_html_()
    assert drawing.startswith("<svg")
    assert "per_minute" in drawing
    assert art.Network("empty")._repr_html_().startswith("<svg")
    run = art.run(net, reports=FRAME, local=True)
    run.wait(60)
    shown = run._repr_html_()
    assert "finished, step 1, 100 tuples in" in shown
    assert "<svg" in shown
    assert "<td>per_minute</td>" in shown


def test_what_polars_cannot_write_fails_the_run(reports: Path, tmp_path: Path) -> None:
    """Polars panics with what is no `Exception`; a run that it ends has failed, and says so."""
    net = art.Network("far")
    far = art.function(reads=["speed"], produces="timestamp")(lambda speed: speed * 0 + (2**63 - 1))
    net.source("reports", {"time": int, "speed": int}).map("far", at=far).output("all")
    run = art.run(net, reports=reports, all=tmp_path / "all.jsonl", local=True)
    with pytest.raises(art.RunError, match="the run stopped: PanicException"):
        run.wait(60)
    assert run.state == "failed"


def test_a_box_in_which_polars_panics_is_named(reports: Path) -> None:
    def shown(speed: pl.Series) -> pl.Series:
        return pl.Series([str(at) for at in (speed * 0 + (2**63 - 1)).cast(pl.Datetime("us")).to_list()])

    net = art.Network("far")
    shown_there = art.function(reads=["speed"], produces="string")(shown)
    net.source("reports", {"time": int, "speed": int}).map("far", at=shown_there).output("all")
    run = art.run(net, reports=reports, local=True)
    with pytest.raises(art.ArterialError, match=r"box 'far'.*PanicException"):
        run.wait(60)
    assert run.state == "failed"
