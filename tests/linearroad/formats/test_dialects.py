"""Dialects: what is written is read again, and a dirty line is reported with its number and reason."""

from __future__ import annotations

import bz2
import gzip
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from arterial.errors import ArterialError, DataError
from arterial.linearroad.formats.answers import ANSWER_SCHEMA, Answers
from arterial.linearroad.formats.dialects import (
    BYTE_ORDER_MARK,
    DIALECTS,
    PAPER,
    Dialect,
    dialect,
    encode,
    left_aside,
    output_files,
    parse,
    read_output,
    write_output,
)
from arterial.linearroad.formats.dialects.reading import _parse_clean


def _answers() -> Answers:
    rows = {
        0: [(7, 60, 61.25, 39, 2), (8, 61, 61.5, -1, 0)],
        1: [(90, 90.001, 7, 3, 42, 1)],
        2: [(95, 96.0, 90, 11, 128)],
        3: [(95, 97.5, 12, 60)],
        4: [(95, 99.75, 13, 1800, 4)],
    }
    return Answers.of(
        {
            t: pa.table(dict(zip(ANSWER_SCHEMA[t].names, map(list, zip(*values, strict=True)), strict=True))).cast(
                ANSWER_SCHEMA[t]
            )
            for t, values in rows.items()
        }
    )


def test_lines_of_each_dialect() -> None:
    written = {
        name: b"".join(encode(t, table, DIALECTS[name]) for t, table in _answers().tables()).decode().split()
        for name in DIALECTS
    }
    assert written["paper"] == [
        "0,7,60,61.250,39,2",
        "0,8,61,61.500,-1,0",
        "1,90,90.001,7,3,42,1",
        "2,95,96.000,90,11,128",
        "3,95,97.500,12,60",
        "4,95,99.750,13,1800,4",
    ]
    # Whole seconds are rounded up: 61.25 becomes 62, so 5.25 s late is never written as 5.
    assert written["original"] == [
        "0,7,60,62,39,2",
        "0,8,61,62,-1,0",
        "1,90,91,7,42",
        "2,95,96,11,90,128",
        "3,95,98,12,60",
    ]
    # Walmart's comparison wants the milliseconds that the answer took.
    assert written["walmart"] == [
        "0,7,60,1250,39,2",
        "0,8,61,500,-1,0",
        "1,90,1,3,42,1,7",
        "2,95,1000,90,11,128",
        "3,95,2500,12,60",
    ]


@pytest.mark.parametrize("of", [DIALECTS["paper"], DIALECTS["walmart"]], ids=lambda d: d.name)
def test_round_trip(tmp_path: Path, of: Dialect) -> None:
    answers = _answers()
    write_output(answers, tmp_path, of)
    read = read_output(tmp_path, of)
    assert not read.fault_counts
    for t in of.types:
        assert read.answers.of_type(t).equals(answers.of_type(t)), t


def test_original_writes_a_file_per_type_and_leaves_out_what_it_cannot_say(tmp_path: Path) -> None:
    files = write_output(_answers(), tmp_path, DIALECTS["original"])
    assert [file.name for file in files] == ["output-0.csv", "output-1.csv", "output-2.csv", "output-3.csv"]
    read = read_output(tmp_path, DIALECTS["original"])
    assert read.answers.alerts.to_pylist() == [{"time": 90, "emit": 91.0, "vid": 7, "xway": -1, "seg": 42, "dir": -1}]
    assert read.answers.travels.num_rows == 0


DIRTY = [
    ("0,1,2,3.5,4", "type 0 has 6 fields in dialect paper"),
    ("0,1,2,3.5,4,5,6", "type 0 has 6 fields in dialect paper"),
    ("0,1,2.5,3.5,4,5", "time is no integer"),
    ("0,1,2,x,4,5", "emit is no number"),
    ("0,1,2,nan,4,5", "emit is no number"),
    ("5,1,2,3,4,5", "unknown type"),
    ("Type,VID,Time,Emit,LAV,Toll", "the type is no integer"),
    ("0,99999999999999999999,2,3,4,5", "vid is too large"),
    ("\ufffd\x00", "the type is no integer"),
    ("3,1,2.5,3,", "balance is no integer"),
]


@pytest.mark.parametrize(("line", "reason"), DIRTY, ids=[reason + str(i) for i, (_, reason) in enumerate(DIRTY)])
def test_a_dirty_line_is_counted_and_the_others_are_read(line: str, reason: str) -> None:
    piece = parse(f"0,1,2,3.5,4,5\n{line}\n3,9,9.5,1,2\n".encode(), PAPER)
    assert [(fault.line, fault.reason) for fault in piece.faults] == [(2, reason)]
    assert piece.fault_counts == {reason: 1}
    assert piece.lines == 3
    assert (piece.answers.notices.num_rows, piece.answers.expenditures.num_rows) == (1, 1)


@pytest.mark.parametrize(
    "text",
    [b"0,1,2,3.5,4,5", b"0,1,2,3.5,4,5\r\n", b"0, 1, 2, 3.5, 4, 5\n", b"\n0,1,2,3.5,4,5\n\n", b"0,1,2.0,3.5,4,5\n"],
)
def test_harmless_variants_are_read(text: bytes) -> None:
    piece = parse(text, PAPER)
    assert not piece.faults
    assert piece.answers.notices.to_pylist() == [{"vid": 1, "time": 2, "emit": 3.5, "lav": 4, "toll": 5}]


def test_a_few_faults_among_many_lines_are_found_where_they_stand() -> None:
    lines = [f"0,{i},{i},{i}.5,4,5" for i in range(60_000)]
    for number in (1, 30_000, 60_000):
        lines[number - 1] = "0,x"
    piece = parse("\n".join(lines).encode(), PAPER)
    assert [fault.line for fault in piece.faults] == [1, 30_000, 60_000]
    assert (piece.lines, piece.answers.notices.num_rows) == (60_000, 59_997)


def test_a_dialect_crosses_to_a_task() -> None:
    for of in DIALECTS.values():
        assert pickle.loads(pickle.dumps(of)) == of


def test_decimals_are_read_in_one_pass_wherever_emission_stands() -> None:
    last = Dialect("last", {0: ("vid", "time", "lav", "toll", "emit")})
    text = encode(0, _answers().notices, last)
    assert text.startswith(b"0,7,60,39,2,61.250")
    assert _parse_clean(text, last) is not None


def test_empty_output(tmp_path: Path) -> None:
    (tmp_path / "output.csv").touch()
    assert len(read_output(tmp_path, PAPER).answers) == 0


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress], ids=["gzip", "bzip2"])
def test_compressed_files_are_unpacked(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "output.csv.gz").write_bytes(pack(b"0,1,0,0.5,-1,0\n0,2,0,0.5,-1,0\nx\n"))
    (tmp_path / "output.csv").write_text("0,3,0,0.5,-1,0\n")
    output = read_output(tmp_path, PAPER)
    assert sorted(output.answers.notices["vid"].to_pylist()) == [1, 2, 3]
    assert [(Path(fault.file).name, fault.line) for fault in output.faults] == [("output.csv.gz", 3)]


def test_a_mark_of_the_encoding_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "output.csv").write_bytes(BYTE_ORDER_MARK + b"0,1,0,0.5,-1,0\r\n")
    output = read_output(tmp_path, PAPER)
    assert (output.answers.notices.num_rows, output.faults) == (1, ())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04...", "found a zip archive; unpack it"),
        (b"PAR1...", "found a Parquet file"),
        ("0,1,0,0.5,-1,0\n".encode("utf-16"), "found text in UTF-16"),
        (gzip.compress(b"0,1,0,0.5,-1,0\n", mtime=0)[:-9], "compressed by gzip, and damaged or cut short"),
    ],
)
def test_files_that_hold_no_lines(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "output.csv").write_bytes(content)
    with pytest.raises(DataError, match=said) as error:
        read_output(tmp_path / "output.csv", PAPER)
    assert str(tmp_path / "output.csv") in str(error.value)


def test_what_lies_beside_the_answers(tmp_path: Path) -> None:
    for name in ("output.csv", "run.json", "rejects.csv", ".hidden", "thesis.csv"):
        (tmp_path / name).touch()
    (tmp_path / "work").mkdir()
    assert left_aside(tmp_path) == ""
    for name in ("more.csv", "answers.log", *(f"z{i}" for i in range(5))):
        (tmp_path / name).touch()
    assert [file.name for file in output_files(tmp_path)] == ["output.csv"]
    assert left_aside(tmp_path) == "answers.log, more.csv, z0, z1, z2 and 2 more"


def test_a_folder_without_output_says_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "answers.log").touch()
    with pytest.raises(DataError, match=r"found answers\.log\. A file of another name can be given itself"):
        output_files(tmp_path)


def test_a_pipe_is_no_output(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="found a pipe or a device"):
        output_files(tmp_path / "pipe")


def test_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(ArterialError, match="there are paper, original, walmart"):
        dialect("klingon")
    with pytest.raises(ArterialError, match="no such output"):
        read_output(tmp_path / "none", PAPER)
    with pytest.raises(ArterialError, match="no output in this folder"):
        read_output(tmp_path, PAPER)
