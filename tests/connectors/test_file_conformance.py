"""What every kind of file must keep: killed anywhere, bad rows, empty, huge, changed under the run."""

from __future__ import annotations

import gzip
import os
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from arterial.connectors import csv as csv_blocks
from arterial.connectors.files.blocks import Place, Reading, read_blocks
from arterial.connectors.files.find import data_file
from arterial.connectors.files.fingerprint import fingerprint, what_changed
from arterial.connectors.files.source import FileSource
from arterial.connectors.source import Ask
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError
from arterial.network.schema import Schema
from arterial.network.train import END
from tests.connectors.test_files import Rows, bound, read_all, read_step, small_blocks

SCHEMA = Schema.of({"time": "int64", "x": "int32"})
Write = Callable[[Path, Rows], Path]


def _csv(folder: Path, rows: Rows) -> Path:
    text = "time,x\n" + "".join(f"{'' if t is None else t},{x}\n" for t, x in rows)
    (folder / "a.csv").write_text(text)
    return folder / "a.csv"


def _gzip(folder: Path, rows: Rows) -> Path:
    path = _csv(folder, rows)
    (folder / "a.csv.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
    return folder / "a.csv.gz"


def _json(folder: Path, rows: Rows) -> Path:
    text = "".join(f'{{"time": {"null" if t is None else t}, "x": {x}}}\n' for t, x in rows)
    (folder / "a.jsonl").write_text(text)
    return folder / "a.jsonl"


def _parquet(folder: Path, rows: Rows) -> Path:
    pl.DataFrame(rows, schema=SCHEMA.polars(), orient="row").write_parquet(folder / "a.parquet")
    return folder / "a.parquet"


def _arrow(folder: Path, rows: Rows) -> Path:
    pl.DataFrame(rows, schema=SCHEMA.polars(), orient="row").write_ipc(folder / "a.arrow")
    return folder / "a.arrow"


def _several(folder: Path, rows: Rows) -> Path:
    """Three files side by side, as of three sensors."""
    folder = folder / "in"
    folder.mkdir(exist_ok=True)
    for number in range(3):
        _csv(folder, rows[number::3]).rename(folder / f"{number}.csv")
    return folder


KINDS = [_csv, _gzip, _json, _parquet, _arrow, _several]
kinds = pytest.mark.parametrize("write", KINDS)


def _rows(count: int, disorder: int, seed: int = 1) -> Rows:
    rng = random.Random(seed)
    return [(n // 3 + rng.randint(0, disorder) if n % 20 else None, n) for n in range(count)]


@pytest.mark.thorough
@kinds
@pytest.mark.parametrize("disorder", [0, 4])
def test_killed_after_any_plan(write: Write, disorder: int, tmp_path: Path) -> None:
    """A new process goes on from the position that was logged, or plans once more; the rows are those of a calm run."""
    rows = _rows(120, disorder) if disorder else [(n // 3, n) for n in range(120)]
    path = write(tmp_path, rows)
    with small_blocks(64, piece=10):
        calm, calm_late = read_all(bound(path, tmp_path / "calm", disorder=disorder), 20)
        rng = random.Random(2)
        source = bound(path, tmp_path / "killed", disorder=disorder)
        at, got, late = source.begin(), [], []
        while at.through != END:
            after = source.plan(at, Ask(0.0, 7))
            if rng.random() < 0.5:  # killed before the plan was logged
                source = bound(path, tmp_path / "killed", disorder=disorder)
                after = source.plan(at, Ask(0.0, 7))
            first = read_step(source, at, after, 2)
            if rng.random() < 0.5:  # killed after that: the step is run again
                source = bound(path, tmp_path / "killed", disorder=disorder)
                assert read_step(source, at, after, 2) == first
            got, late, at = got + first[0], late + first[1], after
    assert got == calm
    assert sorted(map(repr, late)) == sorted(map(repr, calm_late))
    assert len(calm) + len(calm_late) == len(rows)


@kinds
def test_what_changed_since_is_refused(write: Write, tmp_path: Path) -> None:
    rows: Rows = [(n, n) for n in range(30)]
    path = write(tmp_path, rows)
    with small_blocks(64):
        bound(path, tmp_path / "kept")
        write(tmp_path, rows)  # the same again is no change
        source = bound(path, tmp_path / "kept")
        write(tmp_path, [*rows[:-1], (29, 99_999)])
        with pytest.raises(DataError, match=r"changed since: .* (had .* bytes and has|has other bytes now)"):
            bound(path, tmp_path / "kept")
        with pytest.raises(DataError, match=r"changed while it was read: it (had|has other bytes)"):
            read_all(source)
        for file in [path] if path.is_file() else path.iterdir():
            file.unlink()
        with pytest.raises(DataError, match=r"is gone|does not exist|no files with a known ending"):
            bound(path, tmp_path / "kept")


def test_added_files(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    _csv(tmp_path / "in", [(1, 1), (2, 2)])
    bound(tmp_path / "in", tmp_path / "kept")
    _csv(tmp_path / "in", [(3, 3)]).rename(tmp_path / "in" / "b.csv")
    _csv(tmp_path / "in", [(1, 1), (2, 2)])
    with pytest.raises(DataError, match=r"files were added since the run began: .*b\.csv\. Read them too with follow"):
        bound(tmp_path / "in", tmp_path / "kept")


def test_a_change_in_the_middle_of_the_same_length_is_seen(tmp_path: Path) -> None:
    path = _csv(tmp_path, [(n, n % 7) for n in range(30_000)])
    was, content = fingerprint(path), path.read_bytes()
    assert len(content) > 150_000
    at = content.index(b"\n15000,") + len(b"\n15000,")
    path.write_bytes(content[:at] + b"9" + content[at + 1 :])
    os.utime(path, ns=(0, was.changed + 1))
    assert what_changed(path, was) == "has other bytes now where it was read"
    path.write_bytes(content)
    os.utime(path, ns=(0, was.changed + 2))
    assert what_changed(path, was) is None, "only its time is another"


def test_a_long_file_must_keep_its_time(tmp_path: Path) -> None:
    """Of a file that is too long for a digest of all its bytes a change in the middle is seen by its time."""
    path = _csv(tmp_path, [(n, n % 7) for n in range(30_000)])
    was = fingerprint(path, most=100_000)
    assert what_changed(path, was) is None
    os.utime(path, ns=(0, was.changed + 10**9 + 1))
    said = what_changed(path, was)
    assert said is not None
    assert "too long to compare all of it" in said
    back = re.search(r"touch -d (@[\d.]+) FILE", said)
    assert back is not None
    subprocess.run(["touch", "-d", back[1], path], check=True)
    assert what_changed(path, was) is None


def test_options_that_changed(tmp_path: Path) -> None:
    path = _csv(tmp_path, [(1, 1)])
    bound(path, tmp_path / "kept")
    with pytest.raises(DataError, match="this checkpoint was made with timezone None, now it is 'UTC'"):
        bound(path, tmp_path / "kept", timezone="UTC")


def test_a_stopped_run_goes_on_with_follow(tmp_path: Path) -> None:
    with small_blocks(16):
        path = _csv(tmp_path, [(n, n) for n in range(20)])
        source = bound(path, tmp_path / "kept")
        after = source.plan(source.begin(), Ask(3e9, 2))
        got = read_step(source, source.begin(), after)[0]
        with path.open("a") as file:
            file.write("20,20\n21,21\n")
        source = bound(path, tmp_path / "kept", follow=True)
        more = source.plan(after, Ask(3e9, 100))
        assert [x for _, x in got + read_step(source, after, more)[0]] == list(range(21))


@pytest.mark.parametrize("write", [_csv, _json, _gzip])
def test_bad_rows(write: Write, tmp_path: Path) -> None:
    rows: Rows = [(1, 1), ("noon", 2), (3, "many"), (4, 4), (5, 2**40), (None, 6)]
    if write is _json:
        rows = [(t if t != "noon" else '"noon"', x if x != "many" else '"many"') for t, x in rows]
    source = bound(write(tmp_path, rows), tmp_path / "kept")
    assert read_all(source) == ([(1, 1), (4, 4)], [(None, 6)])
    rejects = pl.read_ndjson(tmp_path / "kept" / "sources" / "in" / "rejects.jsonl")
    first = 1 if write is _json else 2
    assert rejects["line"].to_list() == [first + 1, first + 2, first + 4]
    assert "3 of 6 lines were set aside" in source.notices[0]


def test_too_many_and_too_few_fields(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('time,x\n1,1\n2\n3,3,3\n\n4,"4\n5,5\n')
    source = bound(tmp_path / "a.csv", tmp_path / "kept")
    assert read_all(source)[0] == [(1, 1), (5, 5)]
    rejects = pl.read_ndjson(tmp_path / "kept" / "sources" / "in" / "rejects.jsonl")
    assert rejects.select("line", "reason").rows() == [
        (3, "1 field(s), expected 2"),
        (4, "3 field(s), expected 2"),
        (6, "a quoted field is not closed"),
    ]


def test_values_too_large_for_their_column(tmp_path: Path) -> None:
    pl.DataFrame({"time": [1, 2, 3], "x": [1, 2**40, 3]}).write_parquet(tmp_path / "a.parquet")
    source = bound(tmp_path / "a.parquet", tmp_path / "kept")
    assert read_all(source)[0] == [(1, 1), (3, 3)]
    assert "1 of 3 lines were set aside" in source.notices[0]


@pytest.mark.parametrize("write", [_csv, _json, _gzip])
def test_nothing_fits(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path, [('"noon"', 1), ('"one"', 2)])
    with pytest.raises(
        DataError,
        match=r"(?s)none of the 2 lines read fits .*a\.[a-z.]+:\d: time is 'noon', expected int64.*2026-",
    ):
        bound(path, tmp_path / "kept")


@kinds
def test_empty(write: Write, tmp_path: Path) -> None:
    assert read_all(bound(write(tmp_path, []), tmp_path / "kept")) == ([], [])


def test_empty_files_among_others(tmp_path: Path) -> None:
    path = _several(tmp_path, [(1, 1), (2, 2)])
    (path / "0.csv").write_bytes(b"")
    assert read_all(bound(path, tmp_path / "kept")) == ([(2, 2)], [])
    (tmp_path / "a.csv").write_bytes(b"")
    with pytest.raises(DataError, match="is empty; expected a line with the names"):
        bound(tmp_path / "a.csv", tmp_path / "other")


@pytest.mark.parametrize("size", [64, 100_000])
@pytest.mark.parametrize("write", [_csv, _json, _gzip])
def test_a_huge_line_is_set_aside(write: Write, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the blocks are cut."""
    monkeypatch.setattr(csv_blocks, "LONGEST_LINE", 1000)
    path = write(tmp_path, [(1, 1), (2, '"' + "9" * 5000 + '"'), (3, 3)])
    with small_blocks(size):
        source = bound(path, tmp_path / "kept")
        assert read_all(source)[0] == [(1, 1), (3, 3)]
    reject = pl.read_ndjson(tmp_path / "kept" / "sources" / "in" / "rejects.jsonl")
    assert "bytes, expected at most 1,000" in reject["reason"][0]


ODD_FIELDS = ["", '""', " ", " 1", '"1"', '" "', "+1", "1.0", "1e3", "x", 'a"b', '"a""b"', "NaN", "true", "1e400"]
ODD_VALUES = [
    "1.0", "1e3", "-0.0", "1.5e-7", "1E5", "1e400", "NaN", '""', '" 1"', "true", "nonsense", '"\\ud800"', "9" * 400,
    '"\\ud83d\\ude00"', '{"a": 1.0, "b": "\\u00e9"}', "[1.0, 2]", '1, "v": 2', "[" * 1000 + "]" * 1000, "[" * 3000,
]  # fmt: skip


@pytest.mark.parametrize("kind", ["int64", "float64", "string", "timestamp"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_line_is_read_the_same_beside_any_other(form: str, kind: str, tmp_path: Path) -> None:
    """A run that goes on cuts other blocks: what a line becomes must not depend on the lines of its block."""
    schema = Schema.of({"time": "int64", "v": kind})
    path = tmp_path / f"a.{form}"
    head = b"time,v\n" if form == "csv" else b""
    beside = [b"2,3,4\n", b"x,1\n", b"2,\xff\n", b'2,a"b\n', b'2,"a\nb"\n'] if form == "csv" else [b"{x\n", b"[]\n"]

    def read(data: bytes) -> tuple[list[str], list[str]]:
        path.write_bytes(head + data)
        blocks = list(read_blocks(data_file(path), Reading(schema, TimeOptions()), Place()))
        rejects = [reject.reason for block in blocks for reject in block.rejects if reject.line == 2 - (not head)]
        return [str(row[1:]) for block in blocks for row in block.rows.rows() if row[0] == 1], rejects

    for odd in ODD_FIELDS if form == "csv" else ODD_VALUES:
        line = (f"1,{odd}\n" if form == "csv" else f'{{"time": 1, "v": {odd}}}\n').encode()
        alone = read(line)
        assert len(alone[0]) + len(alone[1]) == 1, odd
        assert [read(line + other) for other in beside] == [alone] * len(beside), odd


@pytest.mark.thorough
@kinds
def test_what_was_passed_is_removed(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path, [(n, n) for n in range(200, 0, -1)])
    with small_blocks(64, piece=10):
        source: FileSource = bound(path, tmp_path / "kept", disorder=5)
        assert len(read_all(source, 10)[1]) > 0
        path = write(tmp_path, [(n + n % 2, n) for n in range(600)])
        source = bound(path, tmp_path / "other", disorder=5)
        assert len(read_all(source, 10)[0]) == 600
    assert len(list((tmp_path / "other").rglob("0*.parquet"))) < 12
