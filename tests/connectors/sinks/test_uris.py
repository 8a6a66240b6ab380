"""What a user writes for an output, and what the messages say if it is wrong; compaction, killed at every point."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import polars as pl
import pytest

from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.databases.postgres import PostgresSink
from arterial.connectors.sinks.databases.sqlite import SqliteSink
from arterial.connectors.sinks.files import compaction
from arterial.connectors.sinks.files import parts as file_sink
from arterial.connectors.sinks.files.growing import GrowingSink
from arterial.connectors.sinks.files.parts import FileSink
from arterial.connectors.sinks.print import PrintSink
from arterial.connectors.sinks.webhook import WebhookSink
from arterial.connectors.uri import sink_from
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import Train
from arterial.storage.place import remove

STREAM = Stream(Schema.of({"t": int}), "t")


@pytest.mark.parametrize(
    ("text", "kind", "attributes"),
    [
        ("out/alerts", FileSink, {"folder": "out/alerts", "format": "parquet", "compact": False}),
        ("out/alerts?format=csv&compact", FileSink, {"folder": "out/alerts", "format": "csv", "compact": True}),
        ("out/v1.2", FileSink, {"folder": "out/v1.2"}),
        ("out/alerts.old/", FileSink, {"folder": "out/alerts.old/"}),
        ("alerts.jsonl", FileSink, {"format": "jsonl", "merge": Path("alerts.jsonl")}),
        ("alerts.CSV?grow", GrowingSink, {"format": "csv"}),
        ("file:///tmp/a%20b.jsonl?grow", GrowingSink, {"format": "jsonl"}),
        ("-", PrintSink, {"format": "jsonl"}),
        ("-?format=csv", PrintSink, {"format": "csv"}),
        (
            "sqlite:///a/b.db?table=x&key=p,q",
            SqliteSink,
            {"path": Path.cwd() / "a/b.db", "table": "x", "key": ("p", "q")},
        ),
        ("sqlite:////tmp/b.db", SqliteSink, {"path": Path("/tmp/b.db"), "table": ""}),
        (
            "postgresql://me@db.example:5433/road?table=public.x&sslmode=require",
            PostgresSink,
            {
                "server.parameters": {
                    "sslmode": "require",
                    "host": "db.example",
                    "port": "5433",
                    "user": "me",
                    "dbname": "road",
                },
                "table": "public.x",
            },
        ),
        ("https://example.org/a?b=c#rows=5&timeout=2.5&shape=object", WebhookSink, {"rows": 5, "timeout": 2.5}),
    ],
)
def test_each_has_its_sink(text: str, kind: type, attributes: dict[str, object]) -> None:
    sink = sink_from(text, "alerts", Path("parts"))
    assert type(sink) is kind
    assert {name: attrgetter(name)(sink) for name in attributes} == attributes


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("amqp://x", "unknown scheme 'amqp'; expected file://, sqlite://, postgresql://, postgres://"),
        ("kafka://x", "expected kafka://HOST:PORT/TOPIC"),
        ("sqllite:///x.db", "did you mean 'sqlite'"),
        ("alerts.xlsx", "unknown suffix '.xlsx'; expected .parquet, .csv, .jsonl, or for a folder alerts.xlsx/"),
        ("alerts.parquet?grow", "Parquet files cannot grow"),
        ("alerts.csv?grow&compact", "no other options"),
        ("alerts.csv?compact", "are for folders"),
        (
            "alerts?compackt",
            "unknown option 'compackt'; expected one of: format, grow, compact, keep; did you mean 'compact'",
        ),
        ("-?format=xml", "expected one of jsonl, csv"),
        ("sqlite://x.db", "is named by sqlite:///PATH"),
        ("sqlite:///x.db?tabel=x", "did you mean 'table'"),
        ("postgresql://h:99999/x", "the port"),
        ("postgresql://h/x?tabel=y", "unknown option 'tabel'; expected one of: table, key"),
        ("http://h:x/", "the port"),
        ("https://h#rows=many", "rows=many: expected a number"),
        ("file://host/x.csv", "without a host"),
    ],
)
def test_mistakes(text: str, fault: str) -> None:
    with pytest.raises(RunError) as caught:
        sink_from(text, "alerts", Path("parts"))
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "ftp://me:s3cret@h/x",
        "postgres://me:s3cret@h:port/x",
        "postgres://me:s3cret@h/x?tabel=y",
        "postgres://me:a/s3cret@h/x",
        "postgres://me:a?s3cret@h/x",
        "postgres://me:a#s3cret@h/x",
        "postgres://me:s3cret@[h/x",
        "postgres://h/x?password=s3cret&tabel=y",
        "sqlite://me:s3cret@h/x.db",
        "file://me:s3cret@h/x.csv",
        "https://me:s3cret@h:port/",
        "https://me:s3cret@h/#rows=0",
        "https://me:s3cret@h/s3cret?key=s3cret#shape=xml",
        "https://me:a#s3cret@h/",
    ],
)
def test_no_message_has_the_password(text: str) -> None:
    with pytest.raises(RunError) as caught:
        sink_from(text, "alerts", Path("parts"))
    assert "s3cret" not in str(caught.value)


def test_an_unknown_format_of_parts(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="parquet, csv, jsonl"):
        sink_from(f"{tmp_path}/x?format=xml", "alerts", tmp_path).bind("alerts", STREAM, tmp_path)


@pytest.mark.thorough
def test_small_parts_become_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "MERGED_AT_ONCE", 4)
    sink = FileSink(tmp_path / "out", compact=True).bind("out", STREAM, tmp_path)
    for step in range(200):
        _write(sink, step)
        assert sink.read()["t"].to_list() == list(range(2 * (step + 1)))
    assert len(list((tmp_path / "out").iterdir())) < 24


@pytest.mark.thorough
def test_large_files_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "MERGED_AT_ONCE", 4)
    sink = FileSink(tmp_path / "out", compact=True).bind("out", STREAM, tmp_path)
    sizes = [1, 1, 1, 5000, 1, 1, 1, 1, 1, 1, 5000, 1, 1]
    monkeypatch.setattr(compaction, "LARGE_BYTES", 10_000)
    at = 0
    for step, size in enumerate(sizes * 3):
        sink.write(Delivery("out", step, 0, Train(pl.DataFrame({"t": range(at, at + size)}), step)))
        at += size
        sink.commit(step)
        assert sink.read()["t"].to_list() == list(range(at))
    names = [path.name for path in (tmp_path / "out").iterdir()]
    assert "part-000000003-000.parquet" in names
    assert any(name.startswith("merged") for name in names)


@pytest.mark.parametrize("survives", range(9))
def test_a_merge_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survives: int) -> None:
    """Killed after so many removals; then the steps come again, and go on."""
    monkeypatch.setattr(compaction, "MERGED_AT_ONCE", 4)
    sink = FileSink(tmp_path / "out", compact=True).bind("out", STREAM, tmp_path)
    for step in range(2):
        _write(sink, step)
    removed: list[Path] = []

    def remove_some(path: Path) -> None:
        if len(removed) == survives:
            raise KeyboardInterrupt
        removed.append(path)
        remove(path)

    with monkeypatch.context() as killing:
        killing.setattr(compaction, "remove", remove_some)
        if survives < 4:
            with pytest.raises(KeyboardInterrupt):
                _write(sink, 2)
        else:
            _write(sink, 2)
    assert sink.read()["t"].to_list() == list(range(6))
    for step in range(1, 12):
        _write(sink, step)
        assert sink.read()["t"].to_list() == list(range(2 * max(3, step + 1)))


def test_a_reader_that_comes_during_a_merge_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "MERGED_AT_ONCE", 4)
    sink = FileSink(tmp_path / "out", compact=True).bind("out", STREAM, tmp_path)
    for step in range(2):
        _write(sink, step)
    read, merged = file_sink._read_file, []

    def read_late(path: Path, suffix: str, schema: Schema) -> pl.DataFrame:
        if not merged:
            merged.append(path)
            sink.commit(2)
        return read(path, suffix, schema)

    monkeypatch.setattr(file_sink, "_read_file", read_late)
    assert sink.read()["t"].to_list() == [0, 1, 2, 3]
    assert not merged[0].exists()


def test_csv_on_standard_output_has_one_header(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for step in range(3):
        sink = PrintSink("csv").bind("out", STREAM, tmp_path)
        sink.write(Delivery("out", step, 0, Train(pl.DataFrame({"t": [step]}), step)))
        sink.commit(step)
    assert capsysbinary.readouterr().out == b"t\n0\n1\n2\n"


def _write(sink: FileSink, step: int) -> None:
    for slot in range(2):
        sink.write(Delivery("out", step, slot, Train(pl.DataFrame({"t": [2 * step + slot]}), step)))
    sink.commit(step)
