"""`arterial resume`, `stop` and `savepoint`: what they keep of a command, and what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.cli.ops.command_file import Command, arguments, keep_command, read_command
from arterial.connectors.sinks.databases.sqlite import SqliteSink
from arterial.connectors.uri import absolute_place, sink_from
from arterial.errors import DataError, NetworkError, RunError

NETWORK = """
from arterial import Network
net = Network("speeding")
net.source("reports", {"time": "int64", "speed": "int32"}).filter("fast", "speed > 30").output("alerts")
"""


def kept_of(folder: Path, *words: str) -> Command:
    """What is kept of a command line of `arterial run`."""
    (folder / "arterial").mkdir(exist_ok=True)
    command = typer.main.get_command(app).commands["run"]  # type: ignore[attr-defined]
    keep_command(folder, command.make_context("run", list(words)))
    assert (folder / "arterial" / "command.json").stat().st_mode & 0o077 == 0
    return read_command(folder)


def test_a_command_is_kept_and_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = kept_of(
        tmp_path,
        "net.py:net",
        "-s",
        "reports=a.csv",
        "--out",
        "o",
        "--shards",
        "2",
        "--no-shed",
        "--force",
        "--durable",
    )
    assert arguments(kept, tmp_path / "c", None, []) == [
        "run",
        f"{tmp_path}/net.py:net",
        "--source",
        f"reports={tmp_path}/a.csv",
        "--out",
        f"{tmp_path}/o",
        "--shards",
        "2",
        "--durable",
        "--checkpoint",
        f"{tmp_path}/c",
    ]
    other = arguments(kept, tmp_path / "c", "other:net", ["--source", "reports=b.csv", "--out", "p"])
    assert other[:3] == ["run", "other:net", "--replace"]
    assert "reports=b.csv" in other
    assert f"reports={tmp_path}/a.csv" not in other
    assert other.index("p") > other.index(f"{tmp_path}/o"), "the later one counts"


def test_a_password_is_not_kept(tmp_path: Path) -> None:
    kept = kept_of(tmp_path, "net.py:net", "-s", "reports=a.csv", "--sink", "alerts=postgresql://me:hush@db/x")
    assert "hush" not in (tmp_path / "arterial" / "command.json").read_text()
    with pytest.raises(RunError, match=r"--sink alerts=… holds a password, which is not kept; give it again"):
        arguments(kept, tmp_path, None, [])
    assert arguments(kept, tmp_path, None, ["--sink", "alerts=postgresql://x"])


def test_what_only_names_a_secret_is_kept(tmp_path: Path) -> None:
    source = "reports=kafka://b:9093/r?sasl_password_file=/run/secret&ssl_key_password_env=KEY"
    provider = "spark.hadoop.fs.s3a.aws.credentials.provider=org.example.Provider"
    words = arguments(kept_of(tmp_path, "net.py:net", "-s", source, "--spark-conf", provider), tmp_path, None, [])
    assert {source, provider} <= set(words)


@pytest.mark.parametrize(
    ("word", "given", "kept"),
    [
        ("--source", "a=in?.csv?begin=2026-03-01T12:00Z", "a={}/in?.csv?begin=2026-03-01T12:00Z"),
        ("--source", "a:b.csv", "{}/a:b.csv"),
        ("--source", "a=-?count=3", "a=-?count=3"),
        ("--source", "a=tcp://127.0.0.1:5000?end=x", "a=tcp://127.0.0.1:5000?end=x"),
        ("--source", "a=s3://city/in.csv", "a=s3://city/in.csv"),
        ("--source", "a=file:///in.csv?follow", "a=file:///in.csv?follow"),
        ("--source", "a=sqlite:///a b.db?table=t&refresh=1 s", "a=sqlite:///{}/a%20b.db?table=t&refresh=1 s"),
        ("--sink", "a=sqlite:////x.db?table=t", "a=sqlite:////x.db?table=t"),
        ("--sink", "a=out/", "a={}/out/"),
        (
            "--source",
            "a=kafka://h:1/t?format=protobuf&descriptor=d+1.bin&sasl_password_file=p&ssl_ca_location=probe",
            "a=kafka://h:1/t?format=protobuf&descriptor={}/d%201.bin&sasl_password_file={}/p&ssl_ca_location=probe",
        ),
        (
            "--sink",
            "a=kafka://h:1/t?ssl_ca_location=ca.pem&ssl_key_location=/k.pem&sasl_kerberos_keytab=me.keytab",
            "a=kafka://h:1/t?ssl_ca_location={}/ca.pem&ssl_key_location=/k.pem&sasl_kerberos_keytab={}/me.keytab",
        ),
        ("--sink", "a=postgresql://h/d?table=t&sslrootcert=c.pem", "a=postgresql://h/d?table=t&sslrootcert={}/c.pem"),
        ("--sink", "a=postgres://h/d?sslrootcert=system", "a=postgres://h/d?sslrootcert=system"),
        (
            "--sink",
            "a=https://h/x?dead_letters=y#dead_letters=d.jsonl",
            "a=https://h/x?dead_letters=y#dead_letters={}/d.jsonl",
        ),
        ("--log", "run.log", "{}/run.log"),
        ("--log", "-", "-"),
        ("--lineage", "http://h/api", "http://h/api"),
        (
            "--spark-conf",
            "spark.submit.pyFiles=a.py,/b.py,hdfs://h/c.py",
            "spark.submit.pyFiles={}/a.py,/b.py,hdfs://h/c.py",
        ),
        ("--spark-conf", "spark.archives=e.tgz#e", "spark.archives={}/e.tgz#e"),
        ("--spark-conf", "spark.executor.memory=4g", "spark.executor.memory=4g"),
    ],
)
def test_paths_are_kept_as_they_are_seen_absolute_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, given: str, kept: str
) -> None:
    monkeypatch.chdir(tmp_path)
    options = kept_of(tmp_path, "net.py:net", word, given).options
    assert [option for option in options if option[0] != "--out"] == [[word, kept.replace("{}", str(tmp_path))]]
    assert ["--out", f"{tmp_path}/out"] in options, "also if it was not given"


def test_what_is_kept_names_the_same_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a folder" / "within").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a folder")
    place = absolute_place("sqlite:///x%20y.db?table=t")
    monkeypatch.chdir("within")
    sink = sink_from(place, "alerts", tmp_path)
    assert isinstance(sink, SqliteSink)
    assert sink.path == tmp_path / "a folder" / "x y.db"


def test_a_run_of_another_kind_cannot_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "arterial").mkdir()
    with pytest.raises(RunError, match="was not started by arterial run"):
        read_command(tmp_path)
    (tmp_path / "arterial" / "command.json").write_text("{}")
    with pytest.raises(RunError, match="is damaged"):
        read_command(tmp_path)


def test_stopping_what_is_over(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    (tmp_path / "reports.csv").write_text("time,speed\n1,40\n2,20\n")
    out = str(tmp_path / "out")
    words = [f"{tmp_path}/net.py:net", "-s", f"reports={tmp_path}/reports.csv", "--out", out, "--local"]
    log = tmp_path / "run.log"
    done = CliRunner().invoke(app, ["run", *words, "--log", str(log), "--log-format", "json", "--metrics", "0"])
    assert done.exit_code == 0, done.output
    assert [json.loads(line)["event"] for line in log.read_text().splitlines()][-1] == "ended"
    over = CliRunner().invoke(app, ["stop", out])
    assert over.exit_code == 0
    assert "finished" in over.output
    for place, said in ((tmp_path / "out", "a local run keeps no checkpoint"), (tmp_path, "no run is there")):
        with pytest.raises(RunError, match=said):
            CliRunner().invoke(app, ["savepoint", str(place), str(tmp_path / "to")], catch_exceptions=False)


def test_resume_ends_as_the_run_does(tmp_path: Path) -> None:
    """A command is repeated with all that was given; how it ends is how `resume` ends."""
    (tmp_path / "arterial").mkdir()
    (tmp_path / "status.json").write_text("{}")
    kept_of(tmp_path, "net.py:net", "-s", "reports=a.csv", "--out", str(tmp_path / "o"))
    with pytest.raises(NetworkError, match=r"other\.py"):
        CliRunner().invoke(app, ["resume", str(tmp_path), "--with", "other.py:net"], catch_exceptions=False)
    said = CliRunner().invoke(app, ["resume", str(tmp_path), "--no-such-option"])
    assert said.exit_code == 2
    assert "--no-such-option" in said.output


def test_moving_queries_in_this_process_are_not_watched(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    events.write_text("0,object,1,0,0\n")
    words = ["moving", "run", str(events), "--out", str(tmp_path / "updates.csv"), "--metrics", "0"]
    with pytest.raises(DataError, match=r"--metrics, --log and --lineage are for a run on Spark: give a folder"):
        CliRunner().invoke(app, words, catch_exceptions=False)
