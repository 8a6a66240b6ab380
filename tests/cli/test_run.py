"""The commands run, control, graph and explain, as a user calls them."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from arterial.cli.main import app, main
from arterial.errors import ArterialError
from tests.engine.attach.asked import running

ROOT = Path(__file__).parents[2]
EXAMPLE = f"{ROOT / 'examples' / 'speeding.py'}:net"


def _arterial(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "arterial", *map(str, words)], capture_output=True, text=True, cwd=folder, timeout=500
    )


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """The example's data."""
    subprocess.run([sys.executable, ROOT / "examples" / "speeding.py"], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "reports.parquet"


def _here(*words: object) -> str:
    """What a command prints, run in this process."""
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False).stdout


def test_a_store_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise OSError("When getting information for key 'out' in bucket 'b': could not connect")

    monkeypatch.setattr("arterial.cli.main.app", unreachable)
    with pytest.raises(SystemExit, match="1"):
        main()
    assert capsys.readouterr().err.startswith("arterial: When getting information for key 'out' in bucket 'b'")


def test_explain_and_graph(tmp_path: Path) -> None:
    said = json.loads(_here("explain", EXAMPLE, "--json"))
    assert said["shuffles"] == 1
    assert said["levels"][1]["superboxes"][0]["key"] == ["vehicle"]
    text = _here("explain", EXAMPLE)
    assert "superbox by_vehicle: in every slot, sharded by vehicle" in text
    mermaid = _here("graph", EXAMPLE)
    assert mermaid.startswith("flowchart LR")
    assert "per_minute" in mermaid
    _here("graph", EXAMPLE, "--out", tmp_path / "net.svg")
    drawing = ET.parse(tmp_path / "net.svg").getroot()
    texts = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {"reports", "fast", "by_vehicle", "per_minute", "alerts"} <= set(texts)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("explain", "nowhere:net"), "no module 'nowhere'"),
        (("explain", "nowhere.py:net"), "does not exist"),
        (("explain", EXAMPLE.replace(":net", ":cat")), "has no 'cat'; networks in it: net"),
        (("explain", EXAMPLE.replace(":net", ":Path")), "expected a Network"),
        (("graph", EXAMPLE, "--out", "net.png"), "ends in .svg or .mmd"),
        (("run", EXAMPLE), "give --source reports=PATH"),
        (("run", EXAMPLE, "--source", "cats=x"), "has no source 'cats'; it has: reports"),
        (("run", EXAMPLE, "--source", "report=x"), "did you mean 'reports'?"),
        (("run", EXAMPLE, "--source", "kafak://x"), "unknown scheme 'kafak'; expected file://, stdin://, tcp://"),
        (("run", EXAMPLE, "--source", "x.csv", "--local", "--checkpoint", "c"), "--local keeps no checkpoint"),
        (("run", EXAMPLE, "--source", "x.csv", "--local"), "x.csv does not exist"),
        (
            ("run", EXAMPLE, "--source", "x", "--sink", "alarms=-"),
            "no output 'alarms'; the outputs are: alerts; did you",
        ),
        (("run", EXAMPLE, "--source", "x", "--sink", "alerts"), "expected NAME=URI"),
        (("run", EXAMPLE, "--source", "x", "--sink", "alerts=ftp://me:s@h"), "unknown scheme 'ftp'; expected file://"),
        (("run", EXAMPLE, "--source", "x", "--sink", "alerts=-", "--json"), "leave out one of them"),
        (("run", EXAMPLE, "--source", "x", "--sink", "alerts=-", "--sink", "alerts=a"), "given twice"),
        (("run", EXAMPLE, "--source", "x", "--checkpoint", "gs://bucket/ck"), "it looks like a URI"),
        (("control", "nowhere", "pause"), "no run is there"),
        (("control", "nowhere", "dance"), "expected one of: pause, resume"),
    ],
)
def test_mistakes_are_errors(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArterialError, match=re.escape(said)):
        _here(*words)


@pytest.mark.thorough
def test_a_mistake_ends_in_its_message(tmp_path: Path) -> None:
    done = _arterial("run", EXAMPLE, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("arterial: network 'speeding': give --source reports=PATH")
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_sinks_of_a_local_run(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import arterial as art\n"
        "net = art.Network('two')\n"
        "reports = net.source('reports', {'time': int, 'speed': int})\n"
        "for name in ('printed', 'table', 'grown', 'made', 'parts'):\n"
        "    reports.output(name)\n"
    )
    pl.DataFrame({"time": range(9), "speed": range(9)}).write_parquet(tmp_path / "reports.parquet")
    sinks = ("printed=-", "table=sqlite:///base.db", "grown=grown.csv?grow", "made=made.jsonl", "parts=parts?compact")
    words = ["run", "net.py:net", "-s", "reports=reports.parquet", "--local"]
    done = _arterial(*words, *(word for sink in sinks for word in ("--sink", sink)), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "outputs are in" not in done.stderr
    assert [json.loads(line)["time"] for line in done.stdout.splitlines()] == list(range(9))
    with closing(sqlite3.connect(tmp_path / "base.db")) as db:
        assert db.execute('SELECT count(*) FROM "table"').fetchone() == (9,)
    assert pl.read_csv(tmp_path / "grown.csv").height == 9
    assert pl.read_ndjson(tmp_path / "made.jsonl").height == 9
    assert pl.read_parquet(tmp_path / "parts" / "*.parquet").height == 9


@pytest.mark.slow
@pytest.mark.spark
def test_run_stop_by_signal_and_go_on(reports: Path, tmp_path: Path, here: Callable[..., Result]) -> None:
    words = ["run", EXAMPLE, "-s", f"reports={reports}", "-o", "out", "--train-size", "400", "--merge", "--json"]
    command = [sys.executable, "-m", "arterial", *words]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        patience = time.monotonic() + 240
        while not list(tmp_path.glob("out/alerts/part-*")):
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < patience
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        lines, errors = process.communicate(timeout=200)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    before = json.loads(lines.splitlines()[-1])
    assert before["state"] == _noted(tmp_path) == "stopped"
    assert _arterial("status", "out", folder=tmp_path).returncode == 3
    assert 0 < before["step"] < 30
    assert not (tmp_path / "out" / "alerts.parquet").exists()
    done = here(*words)
    assert done.exit_code == 0, done.stderr
    after = json.loads(done.stdout.splitlines()[-1])
    assert before["tuples_in"] + after["tuples_in"] == after["total"]["in"]["reports"] == 12_000
    assert after["state"] == _noted(tmp_path) == "finished"
    again = _arterial(*words[:-1], folder=tmp_path)
    assert again.returncode == 0
    assert "already finished, 12,000 tuples in, 285 out, at 2" in again.stderr
    assert "starting Spark" not in again.stderr
    alerts = pl.read_parquet(tmp_path / "out" / "alerts.parquet")
    assert alerts.height == 285
    assert (
        alerts["reports"].sum()
        == pl.read_parquet(reports).filter((pl.col("speed") > 100) & (pl.col("lane") != 4)).height
    )
    assert json.loads(_arterial("control", "out/checkpoint", "show", folder=tmp_path).stdout)["stop"] == 1


@pytest.mark.spark
def test_a_csv_file_in_and_csv_files_out(reports: Path, tmp_path: Path, here: Callable[..., Result]) -> None:
    pl.read_parquet(reports).head(2000).write_csv(tmp_path / "reports.csv")
    with (tmp_path / "reports.csv").open("a") as file:
        file.write("100,three,1,120\n")
    done = here("run", EXAMPLE, "-s", "reports.csv", "-o", "out", "-f", "csv", "--merge")
    assert done.exit_code == 0, done.stderr
    assert "finished: 2,000 tuples in" in done.stderr
    assert "source 'reports': 1 of 2,001 lines were set aside" in done.stderr
    assert (tmp_path / "out" / "alerts.csv").read_text().startswith("vehicle,time,peak,reports\n")


@pytest.mark.thorough
def test_a_local_run_can_be_repeated(reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [
        "run",
        EXAMPLE,
        "-s",
        reports.as_uri(),
        "-o",
        "out",
        "--local",
        "--merge",
        "-f",
        "csv",
        "--train-size",
        "3000",
    ]
    done = _arterial(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "finished: 12,000 tuples in, 285 out; outputs are in out" in done.stderr
    first = (tmp_path / "out" / "alerts.csv").read_bytes()
    assert pl.read_csv(first).height == 285
    (tmp_path / "out" / "alerts" / "part-000000009-000.csv").write_text("of an earlier run\n")
    _here(*words)
    assert (tmp_path / "out" / "alerts.csv").read_bytes() == first
    assert {path.name for path in (tmp_path / "out").glob("[!.]*")} == {
        "alerts", "alerts.csv", "local", "replay.json", "run.json",
    }  # fmt: skip
    assert "finished" in _here("status", tmp_path / "out")
    assert "the optimizer changed nothing" in _here("explain", tmp_path / "out", "--why")
    (tmp_path / "out" / "checkpoint").mkdir()
    with pytest.raises(ArterialError, match="holds the outputs and the checkpoint of a run on Spark"):
        _here(*words)


def test_a_local_run_at_work_is_not_started_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports.csv").write_text("time,vehicle,speed\n0,1,120.0\n")
    at_work, source = running(tmp_path / "out" / "local", first=5)
    (tmp_path / "out" / "alerts").mkdir()
    delivered = tmp_path / "out" / "alerts" / "part-000000001-000.parquet"
    delivered.touch()
    with pytest.raises(ArterialError, match="another run"):
        _here("run", EXAMPLE, "--source", "reports.csv", "--local")
    assert delivered.exists()
    source.all.set()
    assert at_work.wait(60)


def _noted(folder: Path) -> str | None:
    """The state that `run.json` says."""
    path = folder / "out" / "run.json"
    return str(json.loads(path.read_text())["state"]) if path.exists() else None


@pytest.mark.thorough
def test_a_run_says_its_state_in_every_place(tmp_path: Path) -> None:
    draw = "net = arterial.Network('n')\nnet.source('s', {'time': 'timestamp'}).output('o')\n"
    (tmp_path / "net.py").write_text("import arterial\n" + draw)
    (tmp_path / "s.csv").write_text(
        "time\n" + "".join(f"2026-03-01T06:{i // 60:02}:{i % 60:02}Z\n" for i in range(900))
    )
    words = [sys.executable, "-m", "arterial", "run", "net.py", "-s", "s.csv", "--local", "--speed", "1", "--json"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:

        def wait_for(state: str) -> None:
            patience = time.monotonic() + 240
            while _noted(tmp_path) != state:
                assert process.poll() is None, process.stderr and process.stderr.read()
                assert time.monotonic() < patience, _noted(tmp_path)
                time.sleep(0.05)

        wait_for("running")
        _here("control", tmp_path / "out" / "local", "pause")
        wait_for("paused")
        assert _arterial("status", "out", folder=tmp_path).returncode == 4
        _here("control", tmp_path / "out" / "local", "resume")
        wait_for("running")
        process.send_signal(signal.SIGINT)
        lines, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    states = [json.loads(line)["state"] for line in lines.splitlines()]
    assert states[-1] == _noted(tmp_path) == "stopped"
    assert {"running", "paused"} & set(states)
    (tmp_path / "net.py").write_text(
        "import arterial\n"
        "@arterial.function(reads='time', produces={'x': int})\n"
        "def wrong(times):\n"
        "    raise ValueError('not today')\n"
        "net = arterial.Network('n')\n"
        "net.source('s', {'time': 'timestamp'}).map('m', {'x': wrong}).output('o')\n"
    )
    failed = _arterial("run", "net.py", "-s", "s.csv", "--local", folder=tmp_path)
    assert failed.returncode == 1
    assert _noted(tmp_path) == "failed"
    assert "failed after step" in failed.stderr


@pytest.mark.thorough
def test_a_local_run_keeps_what_is_set_aside_and_connection_points(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(
        "import arterial as art\n"
        "net = art.Network('kept')\n"
        "s = net.source('s', {'time': int, 'x': int}).connection_point('point', retention='1 day')\n"
        "s.output('out')\n"
    )
    (tmp_path / "s.csv").write_text("time,x\n1,2\n2,two\n3,4\n")
    done = _arterial("run", "kept.py", "-s", "s.csv", "--local", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "source 's': 1 of 3 lines were set aside" in done.stderr
    assert "x is 'two'" in next((tmp_path / "out" / "local").rglob("rejects.jsonl")).read_text()
    assert pl.read_parquet(tmp_path / "out" / "local" / "points" / "point" / "*.parquet")["x"].to_list() == [2, 4]


@pytest.mark.thorough
def test_a_mistake_in_the_network_names_its_line(tmp_path: Path) -> None:
    draw = "net = arterial.Network('n')\ns = net.source('s', {'time': int})\ns.filter('f', 'tme > 1')\n"
    (tmp_path / "wrong.py").write_text("import arterial\n" + draw)
    done = _arterial("explain", "wrong.py", folder=tmp_path)
    assert done.stderr.endswith("did you mean 'time'? (drawn at wrong.py:4)\n")
