"""`arterial status`, `top`, `tap` and `control` on a run that goes on beside them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import polars as pl
import pytest

import arterial as art
from arterial.cli.main import app
from arterial.cli.runtime.run_figures import lines
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.local import LocalRun
from arterial.engine.run.settings import Settings
from arterial.engine.steering.taps import TAPS
from arterial.errors import ArterialError, RunError


@pytest.fixture
def run(tmp_path: Path) -> Iterator[LocalRun]:
    """A paced run: 100 tuples a second, for 20 seconds."""
    rows = 2000
    frame = pl.DataFrame({"time": [n // 10 for n in range(rows)], "k": [n % 3 for n in range(rows)], "x": range(rows)})
    frame.write_csv(tmp_path / "in.csv")
    net = art.Network("watched [bold]")
    fast = net.source("s", {"time": int, "k": int, "x": int}).filter("f[red]\x1b", "x >= 0")
    fast.group_by("k").tumble("t", every=5, n="count(*)").output("o", qos=art.Delay(good=2, zero=10))
    fast.output("raw")
    source = art.FileSource(tmp_path / "in.csv", speed=10)
    sinks = {"o": MemorySink(), "raw": MemorySink()}
    running = LocalRun(net.value, {"s": source}, sinks, tmp_path / "c", Settings(shards=2))
    thread = Thread(target=running.work, daemon=True)
    thread.start()
    patience = time.monotonic() + 30
    while running.status.step < 3 and time.monotonic() < patience:
        time.sleep(0.01)
    yield running
    running.stop()


def _say(capfdbinary: pytest.CaptureFixture[bytes], *words: object) -> str:
    capfdbinary.readouterr()
    try:
        app([str(word) for word in words], standalone_mode=False)
    finally:
        said = capfdbinary.readouterr().out.decode()
    return said


def test_a_run_in_a_long_step_is_not_said_to_be_idle(run: LocalRun) -> None:
    window = {**run.status.window, "until": time.time() - 60}
    said = "\n".join(lines(replace(run.status, state="running", window=window)))
    assert "no step ended for 60 s" in said
    assert "idle" not in said


@pytest.mark.thorough
def test_status_and_top(run: LocalRun, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    _say(capfdbinary, "control", tmp_path / "c", "shed", "raw", "--share", "0.25")
    _say(capfdbinary, "control", tmp_path / "c", "hold", "t", "--take", "1")
    seen = ("status", tmp_path / "c")
    patience = time.monotonic() + 60
    done = re.compile(r"out o: \d+, \d+/s, (delay)|(left out) so far| (held): ")
    while len(done.findall(_say(capfdbinary, *seen))) < 3:
        assert time.monotonic() < patience, "not all is done"
        time.sleep(0.05)
    for words in (seen, ("top", tmp_path / "c", "--once")):
        said = _say(capfdbinary, *words)
        assert said.startswith("watched [bold]: running since")
        assert re.search(r"in  s: [\d,]+, [\d,]+/s, \d+ wait, \d+ % read", said)
        assert re.search(
            r"out o: \d+, \d+/s, delay p50 \d.\d\d s, p99 \d.\d\d s, worst \d.\d\d s, worth [01].\d\d", said
        )
        assert re.search(r"\d+ % of a step: ", said)
        assert re.search(r"raw.in: shed 25 %, [\d,]+ tuples left out so far", said)
        assert re.search(r"by_k.out → t.in: held: [\d,]+ wait, 1 a step go on", said)
        assert "\x1b" not in said
    said = json.loads(_say(capfdbinary, "top", tmp_path / "c", "--once", "--json"))
    assert said["window"]["outputs"]["o"]["graph"] == [[2.0, 1.0], [10.0, 0.0]]
    assert said["state"] == "running"


def test_tap(run: LocalRun, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = _say(capfdbinary, "tap", tmp_path / "c", "raw", "x % 7 = 0", "--limit", "3").splitlines()
    assert lines[0] == "time,k,x"
    shown = [list(map(int, line.split(","))) for line in lines[1:]]
    assert len(shown) == 3
    assert all(x % 7 == 0 and time == x // 10 and k == x % 3 for time, k, x in shown)
    (row,) = _say(capfdbinary, "tap", tmp_path / "c", "by_k -> t", "--limit", "1", "--format", "json").splitlines()
    assert set(json.loads(row)) == {"time", "k", "x"}
    assert list((tmp_path / "c" / "arterial" / TAPS).iterdir()) == []


@pytest.mark.thorough
def test_mistakes_leave_the_run_untouched(
    run: LocalRun, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for words, message in (
        (("tap", "nowhere"), "has no arc 'nowhere'"),
        (("tap", "by_q"), "Near ones: .*by_k"),
        (("tap", "raw", "speed > 3"), "its columns are: time int64, k int64, x int64"),
        (("control", "shed"), "which arc"),
        (("control", "shed", "raw"), "how much of"),
        (("control", "shed", "raw", "--share", "1.5"), "from 0 to 1"),
        (("control", "hold", "raw"), "cannot be held"),
        (("control", "shed", "raw", "--share", "0.5", "--by", "nothing"), "there is no column 'nothing'"),
        (("control", "step", "--trains", "0"), "from 1 on"),
        (("control", "pause", "raw"), "takes no arc"),
    ):
        with pytest.raises(ArterialError, match=message):
            _say(capfdbinary, words[0], tmp_path / "c", *words[1:])
    assert run.active
    control = json.loads(_say(capfdbinary, "control", tmp_path / "c", "show"))
    assert (control["shed"], control["hold"], control["paused"]) == ({}, {}, False)


def test_control_says_that_a_run_is_over(run: LocalRun, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run.stop()
    with pytest.raises(
        RunError, match=r"pause: the run is stopped, and ran with --local, .* nothing is left to control"
    ):
        app(["control", str(tmp_path / "c"), "pause"], standalone_mode=False)
    (tmp_path / "c" / "spark").mkdir()  # as of a run on Spark, which can go on
    app(["control", str(tmp_path / "c"), "pause"], standalone_mode=False)
    assert capfd.readouterr().err == "the run is stopped; pause is kept, and is in force when the run goes on\n"
    status = tmp_path / "c" / "status.json"
    status.write_text(status.read_text().replace('"stopped"', '"finished"'))
    with pytest.raises(RunError, match=r"pause: the run is finished, since 2.*; nothing is left to control"):
        app(["control", str(tmp_path / "c"), "pause"], standalone_mode=False)
    app(["control", str(tmp_path / "c"), "show"], standalone_mode=False)
    assert json.loads(capfd.readouterr().out)["paused"]


def test_a_run_that_is_over_shows_no_tuples(tmp_path: Path, run: LocalRun) -> None:
    run.stop()
    with pytest.raises(RunError, match="the run is stopped; nothing passes any more"):
        app(["tap", str(tmp_path / "c"), "raw"], standalone_mode=False)
