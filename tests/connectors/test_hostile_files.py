"""Files that were made to do harm: texts that grow when they are read, dates of no year, columns of one name."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arterial.connectors.files.blocks import Place, Reading, read_blocks
from arterial.connectors.files.columnar import reading as columnar
from arterial.connectors.files.find import PARQUET, data_file
from arterial.connectors.files.source import FileSource
from arterial.connectors.frames import frame_from
from arterial.connectors.rejects import Reject
from arterial.connectors.source import Ask, Part
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError
from arterial.network.schema import Schema

SCHEMA = Schema.of({"time": "int64", "name": "string"})
TIMES = Schema.of({"time": "timestamp", "key": "int64"})
MEGABYTE = "x" * 1_000_000


def _read(path: Path, schema: Schema) -> tuple[list[pl.DataFrame], list[Reject]]:
    blocks = list(read_blocks(data_file(path), Reading(schema, TimeOptions()), Place()))
    return [block.rows for block in blocks], [reject for block in blocks for reject in block.rejects]


def _arrow(path: Path, table: pa.Table) -> None:
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def _bomb(rows: int) -> pa.Table:
    return pa.table({"time": np.arange(rows), "name": [MEGABYTE] * rows})


def _coded(table: pa.Table) -> pa.Table:
    return table.set_column(1, "name", table["name"].dictionary_encode())


@pytest.mark.parametrize("kind", ["coded in Parquet", "dictionary in Parquet", "plain in Parquet", "Arrow"])
def test_small_files_of_long_texts(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "most_bytes", lambda: 20_000_000)
    path = tmp_path / ("x.arrow" if kind == "Arrow" else "x.parquet")
    bomb = _bomb(40)
    if kind == "Arrow":
        _arrow(path, _coded(bomb))
    else:
        table = _coded(bomb) if kind == "coded in Parquet" else bomb
        pq.write_table(table, path, compression="zstd", use_dictionary=kind != "plain in Parquet")
    with pytest.raises(
        DataError, match=r"the texts of [\d,]+ rows that are needed at once (may )?take .*quarter of the memory"
    ):
        _read(path, SCHEMA)
    source = FileSource(path).bind("rows", SCHEMA, "time", tmp_path) if kind == "dictionary in Parquet" else None
    if source is not None:  # its rows are in order, so that tasks read them where they are
        with pytest.raises(DataError, match="needed at once"):
            source.read(source.begin(), source.plan(source.begin(), Ask(0.0, 100)), Part(0, 1))


def test_one_long_text_among_short_ones_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "most_bytes", lambda: 20_000_000)
    names = ["a", MEGABYTE[:100_000], *["b", "c"] * 500]
    pl.DataFrame({"time": range(len(names)), "name": names}).write_parquet(tmp_path / "x.parquet", row_group_size=400)
    rows, rejects = _read(tmp_path / "x.parquet", SCHEMA)
    assert not rejects
    assert pl.concat(rows)["name"].to_list() == names


@pytest.mark.parametrize(
    ("times", "texts"),
    [
        (pa.array([-(2**31), 0, 2**31 - 1], pa.date32()), ["-2147483648,1", "2147483647,3"]),
        (
            pa.array([-62_135_596_800_000_001, 0, 253_402_300_800_000_000], pa.timestamp("us")),
            ["0000-12-31 23:59:59.999999,1", "253402300800000000,3"],
        ),
        (
            pa.array([-(2**63) + 1, 0, 2**63 - 1], pa.timestamp("ms")),
            ["-9223372036854775807,1", "9223372036854775807,3"],
        ),
    ],
)
def test_dates_of_no_year_are_set_aside(times: pa.Array, texts: list[str], tmp_path: Path) -> None:
    pq.write_table(pa.table({"time": times, "key": [1, 2, 3]}), tmp_path / "x.parquet")
    rows, rejects = _read(tmp_path / "x.parquet", TIMES)
    assert pl.concat(rows).rows() == [(datetime.datetime(1970, 1, 1), 2)]
    assert [reject.text for reject in rejects] == texts
    source = FileSource(tmp_path / "x.parquet").bind("rows", TIMES, "time", tmp_path)
    assert source.read(source.begin(), source.plan(source.begin(), Ask(0.0, 100)), Part(0, 1)).height == 1


def test_a_zone_that_is_an_offset(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As PyArrow writes it; Polars panics at it unless that is switched off."""
    pq.write_table(pa.table({"time": pa.array([5], pa.timestamp("us", "+05:30")), "key": [1]}), tmp_path / "x.parquet")
    rows, rejects = _read(tmp_path / "x.parquet", TIMES)
    assert (pl.concat(rows).rows(), rejects) == ([(datetime.datetime(1970, 1, 1, 0, 0, 0, 5), 1)], [])
    assert "panicked" not in capfd.readouterr().err


def test_a_frame_with_a_time_of_no_year(capfd: pytest.CaptureFixture[str]) -> None:
    frame = pa.table({"time": pa.array([0, 2**63 - 1], pa.timestamp("ms")), "key": [1, 2]})
    with pytest.raises(DataError, match="source 'rows': "):
        frame_from(frame, TIMES, "source 'rows'")
    capfd.readouterr()


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array(["a"]), pa.array(["b"])], names=["time", "name", "name"])
    _arrow(tmp_path / "x.arrow", twice)
    with pytest.raises(DataError, match=r"x\.arrow: two columns are named 'name'"):
        _read(tmp_path / "x.arrow", SCHEMA)
    pq.write_table(twice, tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x\.parquet: .*'name'"):
        _read(tmp_path / "x.parquet", SCHEMA)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_a_page_that_claims_too_much_is_said(version: str, dictionary: bool, tmp_path: Path) -> None:
    """Also of a column with a dot in its name, and whatever is written before the page."""
    path = tmp_path / "pages.parquet"
    rows = pa.table({"time": np.arange(3000), "a.b": np.arange(3000) % 7})
    pq.write_table(rows, path, data_page_version=version, use_dictionary=dictionary, row_group_size=1000)
    assert columnar.read_rows(path, PARQUET, 0, 3000, ("time", "a.b")).height == 3000
    chunk = pq.read_metadata(path).row_group(1).column(1)
    data = bytearray(path.read_bytes())
    sizes = data.index(b"\x15", chunk.data_page_offset + 1)  # the second field of the header, then the third
    data[sizes + 1] ^= 1  # the sign of a length
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(data)
    assert columnar.read_rows(damaged, PARQUET, 0, 1000, ("time", "a.b")).height == 1000
    with pytest.raises(DataError, match=r"damaged in row group 1, column 'a\.b'"):
        columnar.read_rows(damaged, PARQUET, 0, 3000, ("time", "a.b"))


@pytest.mark.parametrize("first", [b"\x1f\x8b", b"x\x01", b"x\x9c", b"x\xda", b"(\xb5/\xfd"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_line_that_begins_as_a_compressed_file_does(kind: str, first: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    rest = b",7\na,1\n" if kind == "csv" else b'{"time": 7}\n{"time": 1, "name": "a"}\n'
    path.write_bytes((b"name,time\n" if kind == "csv" else b"\n") + first + rest)
    rows, rejects = _read(path, SCHEMA)
    fits = kind == "csv" and first == b"x\x01"
    assert pl.concat(rows)["time"].to_list() == ([7, 1] if fits else [1])
    assert len(rejects) == (not fits)
