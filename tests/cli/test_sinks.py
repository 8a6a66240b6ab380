"""The commands of docs/sinks.md, run as they stand there, with a PostgreSQL and a webhook of our own."""

from __future__ import annotations

import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from runpy import run_path

import polars as pl
import pytest
from typer.testing import CliRunner

import arterial as art
from arterial.cli.main import app
from tests.connectors.sinks.hook import Webhook
from tests.connectors.sinks.test_conformance import query
from tests.postgres import PASSWORD, Server

ROOT = Path(__file__).parents[2]
EXAMPLE = run_path(str(ROOT / "examples" / "speeding.py"))
COMMANDS = re.findall(r"^arterial (run .*)$", (ROOT / "docs" / "sinks.md").read_text(), re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with reports, where commands run."""
    EXAMPLE["make_reports"](tmp_path / "reports.parquet", minutes=3, vehicles=50)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> bytes:
    """What a command prints on standard output."""
    done = CliRunner().invoke(app, shlex.split(command.replace(" examples/", f" {ROOT}/examples/")))
    assert done.exit_code == 0, done.exception
    return done.stdout_bytes


@pytest.mark.thorough
def test_the_commands_of_the_page(folder: Path, postgres: Server) -> None:
    hook = Webhook()
    assert len(COMMANDS) == 6
    query(postgres, "DROP TABLE IF EXISTS alerts")  # the server is shared
    printed = [
        run(line.replace("me@localhost/road?", postgres.uri()[13:]).replace("https://example.org/hook", hook.url))
        for line in COMMANDS
    ]
    hook.close()
    alerts = pl.read_ndjson(printed[0])
    assert alerts.height
    assert printed[1:] == [b""] * 5

    def equal(there: pl.DataFrame, of: pl.DataFrame = alerts) -> bool:
        return there.cast(of.schema).sort("vehicle", "time").equals(of.sort("vehicle", "time"))

    assert equal(pl.read_csv(folder / "alerts.csv"))
    assert equal(pl.read_ndjson(folder / "alerts"))
    assert equal(pl.DataFrame([row for _, body in hook.taken for row in body]))
    latest = alerts.sort("time").group_by("vehicle").last().select(alerts.columns)
    with closing(sqlite3.connect(folder / "alerts.db")) as db:
        kept = db.execute("SELECT * FROM alerts").fetchall()
    assert equal(pl.DataFrame(kept, schema=alerts.columns, orient="row"), latest)
    kept = query(postgres, "SELECT * FROM alerts")
    assert equal(pl.DataFrame(kept, schema=alerts.columns, orient="row"), latest)
    query(postgres, "DROP TABLE alerts")


@pytest.mark.parametrize(
    ("sink", "fault"),
    [
        ("alerts=sqllite:///x.db", "did you mean 'sqlite'"),
        ("alerts=sqlite:///x.db?key=colour", "'colour' is not a column of the output"),
        (f"alerts=postgres://me:{PASSWORD}@127.0.0.1:1/road", "127.0.0.1:1"),
        (f"alerts=ftp://me:{PASSWORD}@host", "unknown scheme 'ftp'"),
        (f"alarms=postgres://me:{PASSWORD}@127.0.0.1:1/road", "no output 'alarms'"),
    ],
)
def test_mistakes(folder: Path, sink: str, fault: str) -> None:
    command = ["run", f"{ROOT}/examples/speeding.py:net", "--source", "reports.parquet", "--local", "--sink", sink]
    done = CliRunner().invoke(app, command)
    assert fault in str(done.exception)
    assert PASSWORD not in str(done.exception) + done.output


def test_a_local_run_keeps_off_the_outputs_of_a_checkpoint(folder: Path) -> None:
    art.run(EXAMPLE["net"], reports="reports.parquet", alerts="out/alerts/", local=True).wait()
    command = f"run {ROOT}/examples/speeding.py:net --source reports.parquet --local"
    run(command)  # the checkpoint of that run was temporary: its parts are replaced
    run(command)
    before = sorted((folder / "out" / "alerts").iterdir())
    done = CliRunner().invoke(app, shlex.split(f"{command} --out other --sink alerts=out/alerts/"))
    assert "are not mixed" in str(done.exception)
    assert sorted((folder / "out" / "alerts").iterdir()) == before
