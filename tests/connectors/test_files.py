"""Files of every kind as a source: order, disorder, late rows, several files, following."""

from __future__ import annotations

import bz2
import gzip
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from time import time as now

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arterial import Network, collect
from arterial.connectors import csv as csv_blocks
from arterial.connectors.files import blocks as blocks_module
from arterial.connectors.files import intake as intake_module
from arterial.connectors.files.columnar import reading as columnar
from arterial.connectors.files.find import data_file
from arterial.connectors.files.index import MOST
from arterial.connectors.files.json_lines import read_objects
from arterial.connectors.files.pieces import pieces_in
from arterial.connectors.files.reader import Request
from arterial.connectors.files.source import FileSource
from arterial.connectors.source import Ask, Part, Progress, Span
from arterial.connectors.uri import source_from
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError
from arterial.network.box import Stream
from arterial.network.keys.slots import of_slot
from arterial.network.schema import Schema
from arterial.network.train import END

SCHEMA = Schema.of({"time": "int64", "x": "int32"})
STAMPED = Schema.of({"time": "timestamp", "x": "int32"})
ROWS = [(1, 10), (2, 20), (2, 21), (5, 50)]
Rows = list[tuple[object, ...]]


def bound(path: Path | str, folder: Path, schema: Schema = SCHEMA, disorder: int = 0, **options: object) -> FileSource:
    source = FileSource(path, **options)  # type: ignore[arg-type]
    return source.allow(disorder, signed=False).bind("in", schema, "time", folder)


def read_step(source: FileSource, before: Progress, after: Progress, parts: int = 1) -> tuple[Rows, Rows]:
    rows: Rows = []
    late: Rows = []
    for index in range(parts):
        for train in source.read_trains(Span(before, after), Part(index, parts)):
            times = train.tuples["time"].to_physical()
            assert times.is_sorted()
            assert all(before.through < time <= after.through for time in times)
            rows += train.tuples.rows()
            late += [] if train.late is None else train.late.rows()
    return rows, late


def read_all(source: FileSource, tuples: int = 100, parts: int = 1) -> tuple[Rows, Rows]:
    rows: Rows = []
    late: Rows = []
    before = source.begin()
    while before.through != END:
        after = source.plan(before, Ask(0.0, tuples))
        assert after != before
        more, more_late = read_step(source, before, after, parts)
        rows, late, before = rows + more, late + more_late, after
    return rows, late


def write_csv(path: Path, rows: Rows | list[tuple[int, int]]) -> Path:
    path.write_text("time,x\n" + "".join(",".join("" if v is None else str(v) for v in row) + "\n" for row in rows))
    return path


@contextmanager
def small_blocks(size: int, piece: int = 3) -> Iterator[None]:
    """Blocks and pieces so small that a few rows make several."""
    before = csv_blocks.BLOCK_BYTES, blocks_module.LEAST_BYTES, intake_module.PIECE_ROWS
    csv_blocks.BLOCK_BYTES, blocks_module.LEAST_BYTES, intake_module.PIECE_ROWS = size, size, piece
    try:
        yield
    finally:
        csv_blocks.BLOCK_BYTES, blocks_module.LEAST_BYTES, intake_module.PIECE_ROWS = before


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
        ("b.parquet", lambda path: _frame().reverse().write_parquet(path)),
    ],
)
def test_every_kind_of_file(name: str, write: object, tmp_path: Path) -> None:
    write(tmp_path / name)  # type: ignore[operator]
    disorder = 9 if name == "b.parquet" else 0
    expected = [(1, 10), (2, 21), (2, 20), (5, 50)] if disorder else ROWS
    source = bound(tmp_path / name, tmp_path / "1", disorder=disorder)
    assert read_all(source) == (expected, [])
    assert source.notices == ()
    with small_blocks(8):
        assert read_all(bound(tmp_path / name, tmp_path / "2", disorder=disorder), 1, parts=2) == (expected, [])


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.bz2", "a"])
def test_the_first_bytes_say_how_a_file_is_compressed(name: str, tmp_path: Path) -> None:
    text = write_csv(tmp_path / "plain", ROWS).read_bytes()
    for number, data in enumerate((text, gzip.compress(text), bz2.compress(text))):
        (tmp_path / name).write_bytes(data)
        assert read_all(bound(tmp_path / name, tmp_path / str(number)))[0] == ROWS
    (tmp_path / name).write_bytes(b"\xfd7zXZ\x00" + bytes(20))
    with pytest.raises(DataError, match="is xz; expected plain text, or text in gzip, zstd or bz2"):
        bound(tmp_path / name, tmp_path / "xz")


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_texts_of_times_in_columns(kind: pl.DataType, suffix: str, tmp_path: Path) -> None:
    times = ["2026-03-01T06:00:00Z", "2026-03-01T07:30+01:30", "noon", None, "1772344801"]
    frame = pl.DataFrame({"time": pl.Series(times, dtype=kind), "x": range(5)})
    file = tmp_path / f"a.{suffix}"
    frame.write_parquet(file) if suffix == "parquet" else frame.write_ipc(file)
    source = bound(file, tmp_path, STAMPED)
    six = datetime(2026, 3, 1, 6)
    assert read_all(source) == ([(six, 0), (six, 1), (six.replace(second=1), 4)], [(None, 3)])
    rejects = (tmp_path / "sources" / "in" / "rejects.jsonl").read_text()
    assert '"line": 3' in rejects
    assert "time is 'noon', expected timestamp" in rejects


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
    (folder / "e.jsonl").write_text(LINES)
    with pytest.raises(DataError, match=r"has files of CSV and JSON lines; name those of one kind"):
        bound(folder, tmp_path / "5")


def test_disorder_and_late_rows(tmp_path: Path) -> None:
    rows: Rows = [(5, 1), (3, 2), (None, 3), (7, 4), (4, 5), (5, 6), (9, 7)]
    write_csv(tmp_path / "a.csv", rows)
    source = bound(tmp_path / "a.csv", tmp_path / "1", disorder=2)
    ordered, late = read_all(source, tuples=1)
    assert ordered == [(3, 2), (5, 1), (5, 6), (7, 4), (9, 7)]
    assert late == [(None, 3), (4, 5)]
    assert source.notices == (
        "source 'in': 2 tuple(s) are late or have no time, and leave by port 'late'; "
        "a disorder of '3 s' takes all late ones in",
    )
    pl.DataFrame(rows, schema=SCHEMA.polars(), orient="row").write_parquet(tmp_path / "a.parquet")
    assert read_all(bound(tmp_path / "a.parquet", tmp_path / "2", disorder=2)) == (ordered, late)
    assert read_all(bound(write_csv(tmp_path / "n.csv", [(None, 1)]), tmp_path / "3")) == ([], [(None, 1)])


@pytest.mark.thorough
@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 20)), st.integers(0, 99)), max_size=12),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 5),
    st.integers(1, 4),
    st.integers(8, 64),
)
def test_as_a_plain_loop_would_do_it(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[list[tuple[int | None, int]]],
    disorder: int,
    tuples: int,
    size: int,
) -> None:
    folder = tmp_path_factory.mktemp("loop")
    (folder / "in").mkdir()
    good, late = [], []
    for number, rows in enumerate(files):
        write_csv(folder / "in" / f"{number}.csv", rows)  # type: ignore[arg-type]
        highest = -1
        for time, x in rows:
            is_late = time is None or time < highest - disorder
            (late if is_late else good).append((time, x))
            highest = max(highest, -1 if time is None else time)
    with small_blocks(size):
        source = bound(folder / "in", folder / "kept", disorder=disorder)
        got, got_late = read_all(source, tuples, parts=2)
    assert got == sorted(good, key=lambda row: row[0])  # type: ignore[arg-type,return-value]
    assert sorted(map(repr, got_late)) == sorted(map(repr, late))


def test_times_of_every_line(tmp_path: Path) -> None:
    write_csv(
        tmp_path / "a.csv", [("2026-03-01T06:00:00Z", 1), ("2026-03-01 06:00:01", 2), ("noon", 3), (1772344802, 4)]
    )
    source = bound(tmp_path / "a.csv", tmp_path / "1", STAMPED)
    assert read_all(source)[0] == [(datetime(2026, 3, 1, 6, 0, second), x) for second, x in ((0, 1), (1, 2), (2, 4))]
    assert "numbers in column 'time' are read as seconds since 1970 in" in source.notices[0]
    assert "1 of 4 lines were set aside" in source.notices[1]
    local = bound(tmp_path / "a.csv", tmp_path / "2", STAMPED, timezone="Europe/Berlin", disorder=10**10)
    assert read_all(local)[0][0] == (datetime(2026, 3, 1, 5, 0, 1), 2)
    pl.DataFrame({"time": [1000, 2000], "x": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    assert read_all(bound(tmp_path / "a.parquet", tmp_path / "3", STAMPED, time_unit="ms"))[0] == [
        (datetime(1970, 1, 1, 0, 0, 1), 1), (datetime(1970, 1, 1, 0, 0, 2), 2),
    ]  # fmt: skip


class Clock:
    """Follows a source: what each look gives, a second later each time."""

    def __init__(self, source: FileSource, now: float) -> None:
        self.source, self.now, self.at, self.got = source, now, source.begin(), list[tuple[object, ...]]()

    def look(self, seconds: float = 1.0) -> Progress:
        self.now += seconds
        after = self.source.plan(self.at, Ask(self.now, 100))
        self.got += read_step(self.source, self.at, after)[0]
        self.at = after
        return after


def test_a_paced_train_has_nothing_after_what_it_completes(tmp_path: Path) -> None:
    """Of so many instants only some are kept in the index; what they stand for is not due when they are."""
    write_csv(tmp_path / "a.csv", [(n, n) for n in range(3 * MOST)])
    paced = bound(tmp_path / "a.csv", tmp_path / "kept", speed=1000.0)
    clock = Clock(paced, now())
    while clock.at.through != END:
        clock.look(0.0173)  # `read_step` asserts it
    assert len(clock.got) == 3 * MOST


def test_time_that_passes_without_tuples_is_said_ten_times_a_second(tmp_path: Path) -> None:
    """Each time takes a step, and with times in microseconds it could be said all the time."""
    (tmp_path / "a.csv").write_text("time,n\n2026-03-01T00:00:00,1\n2026-03-01T00:00:01,2\n2026-03-01T00:00:03,3\n")
    schema = Schema.of({"time": "timestamp", "n": int})
    paced = bound(tmp_path / "a.csv", tmp_path / "kept", schema, speed=2.0)
    clock, begin = Clock(paced, now()), 1_772_323_200_000_000
    said = sorted({clock.look(0.01).through - begin for _ in range(140)})
    assert said[:5] == [0, 200_000, 400_000, 600_000, 800_000]
    assert 1_000_000 <= said[5] < 1_020_000, "a tuple is read when it is due"
    assert said[6:] == list(range(1_200_000, 2_780_001, 200_000))


def test_an_older_index_says_less_and_nothing_wrong(tmp_path: Path) -> None:
    """It does not say where the times end that a kept instant stands for."""
    write_csv(tmp_path / "a.csv", [(n, n) for n in range(3 * MOST)])
    clock = Clock(bound(tmp_path / "a.csv", tmp_path / "kept", speed=1000.0), now())
    for _ in range(20):
        clock.look(0.0173)
    (index,) = (tmp_path / "kept").rglob("index-*.npy")
    np.save(index, np.load(index)[:2])
    clock.source = bound(tmp_path / "a.csv", tmp_path / "kept", speed=1000.0)
    while clock.at.through != END:
        clock.look(0.0173)  # `read_step` asserts it
    assert len(clock.got) == 3 * MOST


def append(path: Path, text: str) -> None:
    with path.open("a") as more:
        more.write(text)


def test_follow_a_file_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    clock = Clock(bound(tmp_path / "in", tmp_path / "kept", follow=True), 3e9)
    assert clock.look() == clock.source.begin()
    file = tmp_path / "in" / "a.csv"
    file.write_text("time,")
    clock.look()
    append(file, "x\n1,1\n2,2\n3,")
    assert clock.look().through == 1
    append(file, "3\n7,7\n")
    clock.look()
    assert clock.got == [(1, 1), (2, 2), (3, 3)]
    # After a restart it goes on where it was, with what it held back.
    clock.source = bound(tmp_path / "in", tmp_path / "kept", follow=True)
    write_csv(tmp_path / "in" / "b.csv", [(8, 8), (9, 9)])
    clock.look()
    assert clock.got[3:] == []
    clock.look(10)
    assert clock.got[3:] == [(7, 7), (8, 8)]
    # What is older than what was given is late; half a line at the end is set aside.
    append(file, "5,5\n12,12\n13,1")
    (tmp_path / "in" / "_END").touch()
    assert clock.look().through == END
    assert clock.got[5:] == [(9, 9), (12, 12)]
    said = " ".join(clock.source.notices)
    assert "1 tuple(s) are late" in said
    assert "1 of 9 lines were set aside" in said


def test_an_idle_file_does_not_hold_back_the_others(tmp_path: Path) -> None:
    one, other = write_csv(tmp_path / "a.csv", [(1, 1)]), write_csv(tmp_path / "b.csv", [(1, 2)])
    clock = Clock(bound(tmp_path / "*.csv", tmp_path / "kept", follow=True, idle=3), 3e9)
    clock.look()
    for time in range(2, 9):
        append(one, f"{time},1\n")
        clock.look()
    assert clock.got == [(1, 1), (1, 2), *((time, 1) for time in range(2, 8))]
    append(other, "8,2\n9,2\n")
    append(one, "9,1\n")
    clock.look()
    assert clock.got[8:] == [(8, 1), (8, 2)]


def test_a_followed_file_that_becomes_shorter(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "a.csv", ROWS)
    clock = Clock(bound(file, tmp_path / "kept", follow=True), 3e9)
    clock.look()
    file.write_text("time,x\n1,1\n")
    with pytest.raises(DataError, match="became shorter while it was followed"):
        clock.look()


def test_files_that_are_being_written_are_left_until_they_settle(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    clock = Clock(bound(tmp_path / "in", tmp_path / "kept", follow=True), 3e9)
    (tmp_path / "in" / "a.parquet").write_bytes(b"PAR1 half of it")
    os.utime(tmp_path / "in" / "a.parquet", (clock.now + 1, clock.now + 1))
    clock.look()
    _frame().write_parquet(tmp_path / "in" / "a.parquet")
    os.utime(tmp_path / "in" / "a.parquet", (clock.now, clock.now))
    clock.look(2)
    assert clock.got == ROWS[:3]


def test_options_behind_a_path(tmp_path: Path) -> None:
    stream = Stream(SCHEMA, "time")
    assert source_from("in/?.csv?follow", "in", stream) == FileSource("in/?.csv", follow=True)
    assert source_from("file:///in?timezone=UTC&time_unit=ms", "in", stream) == FileSource(
        Path("/in"), timezone="UTC", time_unit="ms"
    )
    with pytest.raises(DataError, match=r"unknown option 'folow'.*did you mean 'follow'"):
        source_from("in.csv?folow", "in", stream)
    with pytest.raises(DataError, match=r"idle is 'long'; expected a number of seconds"):
        source_from("in.csv?idle=long", "in", stream)
    with pytest.raises(DataError, match="unknown time zone 'Mars'"):
        bound(tmp_path, tmp_path / "kept", timezone="Mars")


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


def test_until_is_the_end(tmp_path: Path) -> None:
    net = Network("n")
    net.source("s", {"time": int, "x": int}).output("o")
    text = "time,x\n" + "".join(f"{t},{t}\n" for t in range(10_000))
    (tmp_path / "a.csv").write_text(text)
    assert collect(net, s=f"{tmp_path}/a.csv?until=7777")["o"]["x"].to_list() == list(range(7777))
    assert collect(net, s=FileSource(tmp_path / "a.csv", until=0))["o"].height == 0
    assert collect(net, s=FileSource(tmp_path, follow=True, until=9000, idle=0.1))["o"].height == 9000
    with pytest.raises(DataError, match="until is 'noon'; expected a time as in the column 'time'"):
        collect(net, s=FileSource(tmp_path / "a.csv", until="noon"))


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match=r"pipe\.csv is not a file or folder; expected a file of CSV"):
        bound(tmp_path / "pipe.csv", tmp_path / "kept")
    with pytest.raises(DataError, match="cannot be looked at: File name too long"):
        bound(tmp_path / ("a" * 300), tmp_path / "kept")


def test_an_instant_that_does_not_fit_into_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_csv(tmp_path / "a.csv", [(1, 1), *((7, n) for n in range(500))])
    assert len(read_all(bound(path, tmp_path / "kept"))[0]) == 501
    parquet = tmp_path / "a.parquet"
    pl.read_csv(path, schema=SCHEMA.polars()).write_parquet(parquet)
    monkeypatch.setattr(columnar, "most_bytes", lambda: 12 * 499)
    with pytest.raises(DataError, match=r"source 'in': 500 tuples have the time 7\. An instant is processed"):
        read_all(bound(parquet, tmp_path / "of parquet"), tuples=20)
    with pytest.raises(DataError, match=r"source 'in': 501 tuples wait for one of a later time"):
        read_all(bound(path, tmp_path / "of csv", disorder=10))
    with pytest.raises(DataError, match=r"its 501 rows take 0\.0 GiB, and all of them are needed at once"):
        columnar.read_whole(data_file(parquet), SCHEMA.names)


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_rows_come_by_slot(shards: int, tmp_path: Path) -> None:
    # Every fourth row is out of order by 1, and one of each ten is late.
    rows = [(time - time % 2 * 4 if time % 10 == 3 else time - (time % 4 == 1), time % 7) for time in range(10, 90)]
    with small_blocks(64, piece=9):
        source = bound(write_csv(tmp_path / "a.csv", rows), tmp_path / "check", disorder=1)
        whole = bound(tmp_path / "a.csv", tmp_path / "whole", disorder=1)
        assert source.splits_by(("x",))
        source.deliver_by(("x",), shards)
        before = whole.begin()
        while before.through != END:
            after = whole.plan(before, Ask(0.0, 13))
            assert source.plan(before, Ask(0.0, 13)) == after
            (expected,) = whole.read_trains(Span(before, after), Part(0, 1))
            # By the slots that the pieces lie by, by others, and all of them in the order of their time.
            for count, key in ((shards, ("x",)), (4, ("x",)), (shards, ("time",))):
                for slot in range(count):
                    (train,) = source.read_trains(Span(before, after), Part(slot, count, key))
                    assert train.tuples.equals(of_slot(expected.tuples, key, count, slot))
                    if expected.late is not None:
                        assert train.late is not None
                        assert train.late.equals(of_slot(expected.late, key, count, slot))
            assert pl.concat(source.read(before, after, Part(index, shards)) for index in range(shards)).equals(
                expected.tuples
            )
            before = after
    assert any(piece.ends for piece in pieces_in(tmp_path / "check" / "sources" / "in").in_order)


def test_parquet_that_is_in_order_is_not_read_by_every_slot(tmp_path: Path) -> None:
    _frame().write_parquet(tmp_path / "a.parquet")
    assert not bound(tmp_path / "a.parquet", tmp_path / "check").splits_by(("x",))


def test_the_first_numbers_decide_on_their_unit_however_far_ahead_blocks_are_read(tmp_path: Path) -> None:
    texts = [f"2026-03-01T00:00:{second:02d}" for second in range(40)]
    texts += [str(1_772_323_240_000 + 1000 * number) for number in range(20)]
    texts += [str(60 + number) for number in range(3)]  # milliseconds too, though they look like seconds
    (tmp_path / "a.csv").write_text("time,x\n" + "".join(f"{text},1\n" for text in texts))
    with small_blocks(30):
        source = bound(tmp_path / "a.csv", tmp_path / "check", STAMPED)
        rows, late = read_all(source)
    assert len(rows) == 60
    assert [time.microsecond for time, _ in late] == [60_000, 61_000, 62_000]  # type: ignore[attr-defined]
    assert any("milliseconds" in notice for notice in source.notices)


def test_a_time_that_no_disorder_takes_in_is_not_counted_for_it(tmp_path: Path) -> None:
    source = bound(write_csv(tmp_path / "a.csv", [(5, 1), (2**63 - 1, 2), (-(2**63), 3), (2, 4)]), tmp_path / "check")
    rows, late = read_all(source)
    assert ([x for _, x in rows], [x for _, x in late]) == ([1], [2, 3, 4])
    assert any("3 tuple(s) are late" in said and "a disorder of '3 s'" in said for said in source.notices)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_a_number_of_another_unit_is_set_aside(name: str, tmp_path: Path) -> None:
    """Seconds among milliseconds would be in 1970, milliseconds among seconds in the year 58,000."""
    path = tmp_path / name
    for unit, numbers, odd, said in (
        ("ms", [1_772_323_200_000, 1_772_323_201, 1_772_323_202_000], 1_772_323_201, "milliseconds since 1970"),
        ("s", [1_772_323_200, 1_772_323_201_000, 1_772_323_202], 1_772_323_201_000, "seconds since 1970"),
    ):
        frame = pl.DataFrame({"time": numbers, "x": [1, 2, 3]}, schema_overrides={"x": pl.Int32})
        match path.suffix:
            case ".csv":
                frame.write_csv(path)
            case ".jsonl":
                frame.write_ndjson(path)
            case _:
                frame.write_parquet(path)
        source = bound(path, tmp_path / unit, STAMPED)
        rows, late = read_all(source)
        assert ([x for _, x in rows], late) == ([1, 3], [])
        kept = (tmp_path / unit / "sources" / "in" / "rejects.jsonl").read_text()
        assert re.search(rf"time is '?{odd}'?, expected {said}, as most of the first numbers are", kept)
        if unit == "ms":
            rows, late = read_all(bound(path, tmp_path / "said", STAMPED, time_unit="ms"))
            assert [x for _, x in sorted(rows + late)] == [2, 1, 3]


@pytest.mark.parametrize("more", ['"a"', "NaN", "1e400", '"\\ud83d\\ude00"'])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_of_a_name_that_is_there_twice_the_first_value_counts(more: str, mark: str) -> None:
    """However the line is read: at once with others, or by itself since it has what JSON has not."""
    texts, _ = read_objects(f'{mark}{{"x": 1, "x": 2, "more": {more}, "more": 3}}\n'.encode(), ("x", "more"))
    assert texts.rows["x"].to_list() == ["1"]
    assert texts.rows["more"].to_list() != ["3"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[", r"\[ alone; expected one object a line, as jq -c '\.\[\]' makes of an array"),
        ("},", "}, alone; expected one object a line, as jq -c . makes"),
        ("null", "null; expected one object a line"),
        ("true", "true or false; expected"),
        ('"a"', "a text; expected"),
    ],
)
def test_lines_of_json_that_are_no_objects(line: str, reason: str) -> None:
    texts, _ = read_objects(line.encode(), ("x",))
    assert re.fullmatch(f"is not a JSON object: {reason}.*", texts.rejects[0].reason)


def test_rows_that_waited_in_a_save_that_was_cut_off_do_not_come_twice(tmp_path: Path) -> None:
    """Killed when `held-1` was there and `intake.json` was not; then saved with no row that waits, and killed again."""
    request = Request("in", Schema.of({"time": int, "x": int}), "time", 0, TimeOptions())
    intake = intake_module.new_intake(tmp_path / "intake", request, None)
    (tmp_path / "intake" / "held-1.parquet").write_bytes(b"rows that went on meanwhile")
    intake.save()
    assert intake_module.load_intake(tmp_path / "intake", request, None) is not None
    assert not (tmp_path / "intake" / "held-1.parquet").exists()
