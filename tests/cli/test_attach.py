"""`arterial attach`: rows and marks, as lines and as JSON; tokens; files; mistakes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from arterial import Network
from arterial.cli.main import app
from arterial.cli.runtime import attach as command
from arterial.engine.host import step_back
from arterial.errors import ArterialError
from tests.engine.attach.asked import finished, reports, running

QUERY = "SELECT vid, seg FROM kept WHERE seg = 3"


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' process keeps its priority and its signals."""
    monkeypatch.setattr(step_back, "step_back", lambda to: None)
    monkeypatch.setattr(step_back, "first_step", lambda is_busy: step_back.LOWEST)
    monkeypatch.setattr(step_back, "in_own_session", lambda is_busy: None)
    monkeypatch.setattr(command, "_detach_on_signals", lambda attachment: [])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "c"
    finished(folder)
    return folder


def asked(*words: object, code: int = 0) -> list[str]:
    result = CliRunner().invoke(app, ["attach", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout.splitlines()


@pytest.mark.thorough
def test_rows_and_marks(run: Path) -> None:
    header, *lines = asked(run, "kept", QUERY)
    assert header == "# time,sign,vid,seg"
    rows = [line.split(",") for line in lines if line[0] != "#"]
    assert len(rows) == reports().filter(pl.col("seg") == 3).height
    assert {row[1] for row in rows} == {"+"}
    assert lines[-1] == "# complete"


def test_urgent_queries_do_not_step_back(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    monkeypatch.setattr(step_back, "step_back", steps.append)
    asked(run, "kept", QUERY, "--urgent", "--up-to", 59)
    assert not steps
    asked(run, "kept", QUERY, "--up-to", 59)
    assert steps[-1] == step_back.LOWEST


def test_json_and_figures(run: Path) -> None:
    *rows, mark, figures = [
        json.loads(line) for line in asked(run, "kept", QUERY, "--json", "--figures", "--up-to", 59)
    ]
    assert rows[0]["row"].keys() == {"vid", "seg"}
    assert mark["through"] == 59
    assert figures["figures"]["rows"] == len(rows)
    assert figures["figures"]["ended"] == "reached"
    assert figures["figures"]["bytes_read"] > 0


def test_a_printed_token_resumes(run: Path) -> None:
    whole = [line for line in asked(run, "kept", QUERY) if line[0] != "#"]
    first = asked(run, "kept", QUERY, "--up-to", 59)
    token = first[-1].split()[-1]
    rest = asked(run, "kept", QUERY, "--resume", token)
    assert rest[1] == "# resumes after 59"
    assert [line for line in first + rest if line[0] != "#"] == whole


def test_a_token_file_and_an_output_file(run: Path, tmp_path: Path) -> None:
    query = "SELECT seg, count(*) AS n FROM kept GROUP BY seg, TUMBLE(time, '7 seconds')"
    kept = ("--token", tmp_path / "token", "--out", tmp_path / "rows.csv")
    for up_to in (20, 61):
        asked(run, "kept", query, *kept, "--up-to", up_to)
        with (tmp_path / "rows.csv").open("a") as file:
            file.write("what was written after the token was kept, before a kill\n")
    asked(run, "kept", query, *kept)
    asked(run, "kept", query, "--out", tmp_path / "whole.csv")
    assert (tmp_path / "rows.csv").read_text() == (tmp_path / "whole.csv").read_text()
    assert (tmp_path / "whole.csv").read_text().startswith("time,sign,seg,n\n")


def test_a_table_to_join_with(run: Path, tmp_path: Path) -> None:
    (tmp_path / "watched.csv").write_text("segment,name\n3,bridge\n4,tunnel\n")
    query = "SELECT k.vid, w.name FROM kept k JOIN watched w ON k.seg = w.segment"
    lines = asked(run, "kept", query, "--table", f"watched={tmp_path / 'watched.csv'}")
    assert sum(line.endswith("bridge") for line in lines) == reports().filter(pl.col("seg") == 3).height


def test_a_network_of_a_file(run: Path, tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text(
        "from arterial import Network\n"
        "net = Network('asking')\n"
        "stream = net.source('kept', {'time': int, 'speed': int}).filter('over_90', 'speed > 90')\n"
        "stream.output('fast')\n"
        "stream.otherwise.output('others')\n"
    )
    lines = asked(run, "kept", f"{tmp_path / 'asking.py'}:net")
    assert lines[:2] == ["# fast: output,time,speed", "# others: output,time,speed"]
    assert sum(line.startswith("fast,") for line in lines) == reports().filter(pl.col("speed") > 90).height


def test_several_outputs_of_a_stream_with_a_column_output(tmp_path: Path) -> None:
    net = Network("n")
    kept = net.source("reports", {"time": int, "output": float}).connection_point("kept", "1 hour")
    kept.output("all")
    finished(tmp_path / "c", net, pl.DataFrame({"time": [1, 2, 3], "output": [math.nan, -math.inf, 1.5]}))
    (tmp_path / "asking.py").write_text(
        "from arterial import Network\n"
        "net = Network('asking')\n"
        "stream = net.source('kept', {'time': int, 'output': float})\n"
        "stream.output('a')\n"
        "stream.output('b')\n"
    )
    lines = asked(tmp_path / "c", "kept", f"{tmp_path / 'asking.py'}:net")
    assert lines[0] == "# a: output,time,output"
    assert [line for line in lines if line.startswith("a,")] == ["a,1,NaN", "a,2,-inf", "a,3,1.5"]


def test_json_has_no_nan(tmp_path: Path) -> None:
    net = Network("n")
    net.source("reports", {"time": int, "x": float}).connection_point("kept", "1 hour").output("all")
    finished(tmp_path / "c", net, pl.DataFrame({"time": [1, 2, 3, 4], "x": [math.nan, -math.inf, 1.5, None]}))

    def refuse(word: str) -> None:
        raise ValueError(word)

    rows = [json.loads(line, parse_constant=refuse) for line in asked(tmp_path / "c", "kept", "--json")]
    assert [row["row"]["x"] for row in rows[:-1]] == [None, None, 1.5, None]


def test_a_run_that_has_stopped(tmp_path: Path) -> None:
    stopped, _ = running(tmp_path / "c", first=5)
    while stopped.status.step < 5:
        stopped.wait(0.01)
    stopped.stop()
    assert asked(tmp_path / "c", "kept", QUERY, code=3)[-1].startswith("# complete through 14 token ")
    said = CliRunner().invoke(app, ["attach", str(tmp_path / "c"), "kept", QUERY]).stderr
    assert "a run with --local does not go on" in said
    assert "token" not in said.splitlines()[-1]
    (tmp_path / "c" / "spark").mkdir()  # as a run on Spark has it
    said = CliRunner().invoke(app, ["attach", str(tmp_path / "c"), "kept", QUERY]).stderr
    assert "go on with this token when it runs again" in said
    assert said.splitlines()[-1].startswith("token ")


@pytest.mark.thorough
def test_a_beginning_that_is_no_longer_kept_is_said(tmp_path: Path) -> None:
    import arterial as art

    net = art.Network("short")
    stream = net.source("reports", {"time": int, "vid": int, "seg": "int16", "speed": int})
    stream.connection_point("kept", 30).output("out")
    finished(tmp_path / "c", net)
    result = CliRunner().invoke(app, ["attach", str(tmp_path / "c"), "kept", QUERY, "--since", "5"])
    assert result.exit_code == 0
    assert "kept: what is before " in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kapt", QUERY), "did you mean 'kept'"),
        (("kept", "SELECT sge FROM kept"), "did you mean 'seg'"),
        (("kept", "SELECT seg FROM kept WHERE"), "expected"),
        (("kept", QUERY, "--since", "never"), "'never' is not a time"),
        (("kept", QUERY, "--resume", "x"), "is no token"),
        (("kept", QUERY, "--table", "x"), "expected NAME=FILE"),
        (("kept", "no_such_module:net"), "no module 'no_such_module'"),
    ],
)
def test_mistakes(run: Path, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ArterialError, match=said):
        asked(run, *words)


def test_an_answer_of_times_that_are_no_longer_kept_says_so(tmp_path: Path) -> None:
    net = Network("city")
    stream = net.source("reports", {"time": int, "vid": int, "seg": "int16", "speed": int})
    stream.connection_point("kept", 9, ["seg"]).output("out")
    local, source = running(tmp_path / "c", first=30, net=net)
    source.all.set()
    local.wait(60)
    for bounds in (("--up-to", "20"), ("--since", "5", "--up-to", "20")):
        result = CliRunner().invoke(app, ["attach", str(tmp_path / "c"), "kept", *bounds], catch_exceptions=False)
        assert "is no longer kept" in result.stderr
    result = CliRunner().invoke(app, ["attach", str(tmp_path / "c"), "kept", "--up-to", "119"], catch_exceptions=False)
    assert "no longer" not in result.stderr


def test_times_with_dates(tmp_path: Path) -> None:
    from datetime import datetime, timedelta

    import arterial as art
    from arterial.connectors.memory_source import MemorySource
    from arterial.engine.run.local import run_locally
    from arterial.network.train import END, Train

    begin = datetime(2026, 3, 1, 12)
    net = art.Network("dated")
    stream = net.source("s", {"at": "timestamp", "x": float, "ok": bool, "name": str}, time="at")
    stream.connection_point("kept", "1 hour", ["name"]).output("out")
    rows = pl.DataFrame(
        {
            "at": [begin + timedelta(seconds=n) for n in range(100)],
            "x": [n / 4 for n in range(100)],
            "ok": [n % 2 == 0 for n in range(100)],
            "name": ["a" if n % 3 else "b" for n in range(100)],
        },
        schema=net.stream("s").schema.polars(),
    )
    run_locally(net.value, {"s": MemorySource([Train(rows, END)])}, {}, tmp_path / "c").wait(60)
    assert art.attach(tmp_path / "c", "kept").collect()["answer"].equals(rows)
    lines = asked(tmp_path / "c", "kept", "SELECT x FROM kept WHERE ok", "--since", "2026-03-01T12:01:00", "--up-to",
                  "2026-03-01T12:01:20", "--json")  # fmt: skip
    *some, mark = map(json.loads, lines)
    assert some[0]["t"] == "2026-03-01 12:01:00.000000"
    assert [one["row"]["x"] for one in some] == [n / 4 for n in range(60, 81, 2)]
    assert mark["through"] == some[-1]["t"] == "2026-03-01 12:01:20.000000", "marks and rows can be compared as texts"
    since = begin + timedelta(seconds=97)
    assert art.attach(tmp_path / "c", "kept", since=since).collect()["answer"].height == 3
    with pytest.raises(ArterialError, match="expected a date and time"):
        art.attach(tmp_path / "c", "kept", since="noon")


def test_all_threads_of_the_command_step_back() -> None:
    """A process has threads before the query begins, Polars' among them, and they do most of its work."""
    program = (
        "import os, threading; from arterial.engine.host.step_back import step_back\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "step_back(10); print(*(os.getpriority(os.PRIO_PROCESS, int(task)) for task in os.listdir('/proc/self/task')))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert len(said) >= 2
    assert set(map(int, said)) == {10}
