from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from arterial.connectors.files.source import FileSource
from arterial.connectors.source import Ask, Part, Progress
from arterial.errors import DataError
from arterial.network.keys.slots import pieces
from arterial.network.schema import Schema
from arterial.network.train import END

SCHEMA = Schema.of({"time": "int64", "key": "int32"})
TUPLES = pl.DataFrame({"time": [0, 0, 0, 2, 2, 5, 9], "key": pl.Series(range(7), dtype=pl.Int32)})


def _source(folder: Path, speed: float | None = None) -> FileSource:
    (folder / "data").mkdir()
    TUPLES.head(4).write_parquet(folder / "data" / "a.parquet")
    TUPLES.slice(4).write_parquet(folder / "data" / "b.parquet")
    return FileSource(folder / "data", speed).bind("in", SCHEMA, "time", folder)


def _steps(source: FileSource, ask: Ask) -> list[tuple[int, int, list[int]]]:
    steps, before = [], source.begin()
    while before.through != END:
        after = source.plan(before, ask)
        read = source.read(before, after, Part(0, 1))
        parts = [source.read(before, after, Part(index, 3)) for index in range(3)]
        assert pl.concat(parts).equals(read)
        assert [part.height for part in parts] == [part.height for part in pieces(read, 3)]
        steps.append((after.position["row"], after.through, read["key"].to_list()))
        before = after
    return steps


def test_a_step_is_of_whole_instants(tmp_path: Path) -> None:
    source = _source(tmp_path)
    assert _steps(source, Ask(0.0, 1)) == [
        (3, 1, [0, 1, 2]),
        (5, 4, [3, 4]),
        (6, 8, [5]),
        (7, END, [6]),
    ]
    assert _steps(source, Ask(0.0, 5)) == [(5, 4, [0, 1, 2, 3, 4]), (7, END, [5, 6])]
    assert source.waiting(Progress({"row": 3}), 0.0) == 4


def test_no_later_than_asked(tmp_path: Path) -> None:
    source = _source(tmp_path)
    assert source.plan(source.begin(), Ask(0.0, 100, until=2)) == Progress({"row": 5}, 4)
    assert source.plan(Progress({"row": 5}, 4), Ask(0.0, 100, until=4)) == Progress({"row": 5}, 4)


def test_real_time(tmp_path: Path) -> None:
    source = _source(tmp_path, speed=2.0)
    first = source.plan(source.begin(), Ask(1000.0, 100))
    assert first == Progress({"row": 3}, 0)
    assert source.plan(first, Ask(1000.4, 100)) == first
    second = source.plan(first, Ask(1001.0, 100))
    assert second == Progress({"row": 5}, 2)
    idle = source.plan(second, Ask(1002.0, 100))
    assert idle == Progress({"row": 5}, 4)
    assert source.waiting(idle, 1002.5) == 1
    assert source.plan(idle, Ask(1005.0, 100)) == Progress({"row": 7}, END)


def test_an_empty_file_is_at_its_end(tmp_path: Path) -> None:
    TUPLES.clear().write_parquet(tmp_path / "empty.parquet")
    source = FileSource(tmp_path / "empty.parquet").bind("in", SCHEMA, "time", tmp_path)
    assert source.plan(source.begin(), Ask(0.0, 1)) == Progress({"row": 0}, END)


def test_timestamps(tmp_path: Path) -> None:
    schema = Schema.of({"time": "timestamp"})
    frame = pl.DataFrame({"time": [0, 1_000_000]}).select(pl.col("time").cast(pl.Datetime("ms")))
    frame = frame.select(pl.from_epoch(pl.Series([0, 1]), time_unit="s").cast(pl.Datetime("ms")).alias("time"))
    frame.write_parquet(tmp_path / "t.parquet")
    source = FileSource(tmp_path / "t.parquet").bind("in", schema, "time", tmp_path)
    after = source.plan(source.begin(), Ask(0.0, 1))
    assert after.through == 999_999
    assert source.read(source.begin(), after, Part(0, 1)).schema == {"time": pl.Datetime("us")}


def test_csv_lines_that_do_not_fit_are_set_aside(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("key,time\n1,0\nx,1\n3, 2 \n5,3.5\n")
    source = FileSource(tmp_path / "in.csv").bind("in", SCHEMA, "time", tmp_path)
    got = source.read(source.begin(), Progress({"row": 2}), Part(0, 1))
    assert got.rows() == [(0, 1), (2, 3)]
    rejects = (tmp_path / "sources" / "in" / "rejects.jsonl").read_text().splitlines()
    file = str(tmp_path / "in.csv")
    assert [json.loads(line) for line in rejects] == [
        {"file": file, "line": 3, "reason": "key is 'x', expected int32", "text": "x,1"},
        {"file": file, "line": 5, "reason": "time is '3.5', expected int64", "text": "5,3.5"},
    ]


def test_refusals(tmp_path: Path) -> None:
    def bind(path: Path, speed: float | None = None) -> None:
        FileSource(path, speed).bind("in", SCHEMA, "time", tmp_path / "checkpoint")

    with pytest.raises(DataError, match="does not exist"):
        bind(tmp_path / "none")
    with pytest.raises(DataError, match="has no files with a known ending"):
        bind(tmp_path)
    TUPLES.drop("key").write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="column 'key' is missing"):
        bind(tmp_path / "a.parquet")
    TUPLES.with_columns(key=pl.lit("x")).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="'key' is String; expected int32"):
        bind(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_text("no parquet")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        bind(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="speed is 0"):
        bind(tmp_path / "a.parquet", speed=0)
