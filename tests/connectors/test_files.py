"""Files of every kind as a source: order, disorder, late rows, restarts, files that change."""

from __future__ import annotations

import bz2
import gzip
from datetime import datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arterial import Network, collect
from arterial.connectors import csv as csv_blocks
from arterial.connectors.files import intake as intake_module
from arterial.connectors.files.source import FileSource
from arterial.connectors.source import Ask, Part, Progress, Span
from arterial.connectors.uri import source_from
from arterial.errors import DataError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import END

SCHEMA = Schema.of({"time": "int64", "x": "int32"})
STAMPED = Schema.of({"time": "timestamp", "x": "int32"})
ROWS = [(1, 10), (2, 20), (2, 21), (5, 50)]


def bound(path: Path | str, folder: Path, schema: Schema = SCHEMA, **options: object) -> FileSource:
    disorder = options.pop("disorder", 0)
    source = FileSource(path, **options)  # type: ignore[arg-type]
    return source.allow(disorder, signed=False).bind("in", schema, "time", folder)  # type: ignore[arg-type]


def read_all(
    source: FileSource, tuples: int = 100, parts: int = 1
) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    rows: list[tuple[object, ...]] = []
    late: list[tuple[object, ...]] = []
    before = source.begin()
    while before.through != END:
        after = source.plan(before, Ask(0.0, tuples))
        assert after != before
        for index in range(parts):
            for train in source.read_trains(Span(before, after), Part(index, parts)):
                times = train.tuples["time"].to_physical()
                assert times.is_sorted()
                assert all(time <= after.through for time in times)
                assert all(time > before.through for time in times)
                rows += train.tuples.rows()
                late += [] if train.late is None else train.late.rows()
        before = after
    return rows, late


def write_csv(path: Path, rows: list[tuple[object, ...]]) -> Path:
    path.write_text("time,x\n" + "".join(",".join("" if v is None else str(v) for v in row) + "\n" for row in rows))
    return path


LINES = "".join(f'{{"x": {x}, "time": {time}, "more": [1]}}\n' for time, x in ROWS)


def _frame() -> pl.DataFrame:
    return pl.DataFrame(ROWS, schema=SCHEMA.polars(), orient="row")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.csv", lambda path: write_csv(path, ROWS)),
        ("a.unknown", lambda path: write_csv(path, ROWS)),
        ("a.tsv", lambda path: path.write_text(write_csv(path, ROWS).read_text().replace(",", "\t"))),
        ("a.csv.gz", lambda path: path.write_bytes(gzip.compress(write_csv(path, ROWS).read_bytes()))),
        ("a.csv.bz2", lambda path: path.write_bytes(bz2.compress(write_csv(path, ROWS).read_bytes()))),
        ("a.csv.zst", lambda path: path.write_bytes(pa.compress(write_csv(path, ROWS).read_bytes(), "zstd", True))),
        ("a.jsonl", lambda path: path.write_text(LINES)),
        ("a.jsonl.gz", lambda path: path.write_bytes(gzip.compress(LINES.encode()))),
        ("a.parquet", lambda path: _frame().write_parquet(path)),
        ("a.arrow", lambda path: _frame().write_ipc(path)),
    ],
)
def test_every_kind_of_file(name: str, write: object, tmp_path: Path) -> None:
    write(tmp_path / name)  # type: ignore[operator]
    source = bound(tmp_path / name, tmp_path / "kept")
    assert read_all(source) == (ROWS, [])
    assert read_all(source, tuples=1, parts=2) == (ROWS, [])
    assert source.notices == ()


def test_folders_and_patterns(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, rows in (("b.csv", ROWS[2:]), ("a.csv", ROWS[:2]), ("_c.csv", ROWS), ("d.txt", ROWS)):
        write_csv(folder / name, rows)
    assert read_all(bound(folder, tmp_path / "1"))[0] == ROWS
    assert read_all(bound(folder / "?.csv", tmp_path / "2"))[0] == ROWS
    assert read_all(bound(folder / "[b-c].csv", tmp_path / "3"))[0] == ROWS[2:]
    with pytest.raises(DataError, match=r"no file is named .*\*\.json"):
        bound(folder / "*.json", tmp_path / "4")
    write_csv(folder / "e.csv", [(0, 1)] * 4)
    with pytest.raises(DataError, match=r"all of its 4 rows are before the end of the file in front of it"):
        bound(folder, tmp_path / "5")


def test_disorder_and_late_rows(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [(5, 1), (3, 2), (None, 3), (7, 4), (4, 5), (5, 6), (9, 7)]
    write_csv(tmp_path / "a.csv", rows)
    source = bound(tmp_path / "a.csv", tmp_path / "1", disorder=2)
    ordered, late = read_all(source, tuples=1)
    assert ordered == [(3, 2), (5, 1), (5, 6), (7, 4), (9, 7)]
    assert late == [(None, 3), (4, 5)]
    assert source.notices == (
        "source 'in': 2 tuple(s) are late or have no time: they leave by port 'late'; "
        "a disorder of 3 takes them all in",
    )
    pl.DataFrame(rows, schema=SCHEMA.polars(), orient="row").write_parquet(tmp_path / "a.parquet")
    assert read_all(bound(tmp_path / "a.parquet", tmp_path / "2", disorder=2)) == (ordered, late)
    assert read_all(bound(write_csv(tmp_path / "n.csv", [(None, 1)]), tmp_path / "3")) == ([], [(None, 1)])


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 20)), st.integers(0, 99)), max_size=30),
    st.integers(0, 5),
    st.integers(1, 4),
    st.integers(8, 64),
)
def test_as_a_plain_loop_would_do_it(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int | None, int]], disorder: int, tuples: int, size: int
) -> None:
    folder = tmp_path_factory.mktemp("loop")
    write_csv(folder / "a.csv", rows)
    highest, good, late = -1, [], []
    for time, x in rows:
        is_late = time is None or time < highest - disorder
        (late if is_late else good).append((time, x))
        highest = max(highest, -1 if time is None else time)
    before = csv_blocks.BLOCK_BYTES, intake_module.PIECE_ROWS
    csv_blocks.BLOCK_BYTES, intake_module.PIECE_ROWS = size, 3
    try:
        source = bound(folder / "a.csv", folder / "kept", disorder=disorder)
    finally:
        csv_blocks.BLOCK_BYTES, intake_module.PIECE_ROWS = before
    assert read_all(source, tuples, parts=2) == (sorted(good, key=lambda row: row[0]), late)


def test_times_of_every_line(tmp_path: Path) -> None:
    write_csv(
        tmp_path / "a.csv", [("2026-03-01T06:00:00Z", 1), ("2026-03-01 06:00:01", 2), ("noon", 3), (1772344802, 4)]
    )
    source = bound(tmp_path / "a.csv", tmp_path / "1", STAMPED)
    assert read_all(source)[0] == [(datetime(2026, 3, 1, 6, 0, second), x) for second, x in ((0, 1), (1, 2), (2, 4))]
    assert source.notices[0].endswith("numbers are read since 1970: time as seconds; time_unit says otherwise")
    assert "1 of 4 lines were set aside" in source.notices[1]
    local = bound(tmp_path / "a.csv", tmp_path / "2", STAMPED, timezone="Europe/Berlin", disorder=10**10)
    assert read_all(local)[0][0] == (datetime(2026, 3, 1, 5, 0, 1), 2)
    pl.DataFrame({"time": [1000, 2000], "x": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    assert read_all(bound(tmp_path / "a.parquet", tmp_path / "3", STAMPED, time_unit="ms"))[0] == [
        (datetime(1970, 1, 1, 0, 0, 1), 1), (datetime(1970, 1, 1, 0, 0, 2), 2),
    ]  # fmt: skip


def test_nothing_fits(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", [("noon", 1), ("one", 2)])
    with pytest.raises(
        DataError, match=r"(?s)none of the 2 lines fit .*line 2: time is 'noon', expected timestamp \(2026-"
    ):
        bound(tmp_path / "a.csv", tmp_path / "kept", STAMPED)


def test_lines_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"time": 1, "x": 1}\n\n[1]\n{"time": 2, "x": "y"}\n{"time\n{"time": 3, "x": null}\n'
    )
    source = bound(tmp_path / "a.jsonl", tmp_path / "1")
    assert read_all(source) == ([(1, 1), (3, None)], [])
    rejects = pl.read_ndjson(tmp_path / "1" / "sources" / "in" / "rejects.jsonl")
    assert rejects["line"].to_list() == [3, 4, 5]
    (tmp_path / "b.csv").write_bytes(b"time,x,name\n1,1,caf\xe9\n2,2,ok\n3,3\n")
    named = Schema.of({"time": "int64", "x": "int32", "name": "string"})
    assert read_all(bound(tmp_path / "b.csv", tmp_path / "2", named))[0] == [(2, 2, "ok")]


def test_a_restart_reads_what_was_taken_in(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", ROWS)
    first = bound(tmp_path / "a.csv", tmp_path / "kept")
    assert bound(tmp_path / "a.csv", tmp_path / "kept") == first
    (tmp_path / "a.csv").touch()
    assert read_all(bound(tmp_path / "a.csv", tmp_path / "kept"))[0] == ROWS
    with pytest.raises(DataError, match=r"this checkpoint was made with \{'timezone': None\}"):
        bound(tmp_path / "a.csv", tmp_path / "kept", timezone="UTC")
    write_csv(tmp_path / "a.csv", [*ROWS, (6, 6)])
    with pytest.raises(DataError, match="changed since the run began"):
        bound(tmp_path / "a.csv", tmp_path / "kept")


def test_files_added_since(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_csv(tmp_path / "in" / "b.csv", ROWS)
    bound(tmp_path / "in", tmp_path / "kept")
    write_csv(tmp_path / "in" / "c.csv", [(5, 1), (6, 2)])
    assert read_all(bound(tmp_path / "in", tmp_path / "kept")) == ([*ROWS, (6, 2)], [(5, 1)])
    write_csv(tmp_path / "in" / "a.csv", ROWS)
    with pytest.raises(DataError, match="was added since the run began, in front of"):
        bound(tmp_path / "in", tmp_path / "kept")


def test_follow_a_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source = bound(tmp_path / "in", tmp_path / "kept", follow=True)
    at, clock, got = source.begin(), 0.0, []

    def advance() -> Progress:
        nonlocal at, clock
        clock += 1
        after = source.plan(at, Ask(clock, 100))
        got.extend(source.read(at, after, Part(0, 1)).rows())
        at = after
        return after

    assert advance() == source.begin()
    file = write_csv(tmp_path / "in" / "a.csv", [(1, 1), (2, 2)])
    with file.open("a") as more:
        more.write("3,")
    assert advance().through == 1
    with file.open("a") as more:
        more.write("3\n7,7\n")
    advance()
    assert got == [(1, 1), (2, 2), (3, 3)]
    # After a restart it goes on where it was, with what it held back.
    source = bound(tmp_path / "in", tmp_path / "kept", follow=True)
    write_csv(tmp_path / "in" / "b.csv", [(8, 8), (9, 9)])
    advance()
    assert got == [(1, 1), (2, 2), (3, 3), (7, 7), (8, 8)]
    assert at.through == 8
    file.write_text("time,x\n")
    with pytest.raises(DataError, match="became shorter"):
        advance()


def test_options_behind_a_path(tmp_path: Path) -> None:
    stream = Stream(SCHEMA, "time")
    assert source_from("in/?.csv?follow", "in", stream) == FileSource("in/?.csv", follow=True)
    assert source_from("file:///in?timezone=UTC&time_unit=ms", "in", stream) == FileSource(
        Path("/in"), timezone="UTC", time_unit="ms"
    )
    with pytest.raises(DataError, match=r"unknown option 'folow'.*did you mean 'follow'"):
        source_from("in.csv?folow", "in", stream)


def test_late_tuples_leave_by_their_port(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", [(5, 1), (4, 2), (None, 3), (1, 4), (6, 5)])
    net = Network("late")
    reports = net.source("in", schema={"time": "int64", "x": "int32"}, time="time", disorder=1)
    reports.output("good")
    net.stream("in", "late").output("late")
    with pytest.warns(UserWarning, match=r"2 tuple\(s\) are late"):
        got = collect(net, {"in": tmp_path / "a.csv"})
    assert got["good"].rows() == [(4, 2), (5, 1), (6, 5)]
    assert got["late"].rows() == [(None, 3), (1, 4)]
