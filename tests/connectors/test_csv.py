"""CSV files as texts and as a schema; what does not fit."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from arterial.connectors.csv import clean_csv, read_texts
from arterial.connectors.rejects import Reject
from arterial.errors import DataError
from arterial.network.schema import Schema

SCHEMA = Schema.of({"n": "int8", "yes": "bool", "name": "string"})


def clean(tmp_path: Path, text: str) -> tuple[pl.DataFrame, list[Reject]]:
    (tmp_path / "a.csv").write_text(text)
    aside = clean_csv(tmp_path / "a.csv", tmp_path / "a.parquet", SCHEMA)
    return pl.read_parquet(tmp_path / "a.parquet"), aside.examples


def test_values_of_a_schema(tmp_path: Path) -> None:
    rows, aside = clean(tmp_path, "name,more,n, yes\n a ,x, 1 ,TRUE\nb,x,,0\n,x,3,no\n")
    assert rows.rows() == [(1, True, " a "), (None, False, "b"), (3, False, None)]
    assert rows.schema == SCHEMA.polars()
    assert aside == []


def test_lines_that_do_not_fit(tmp_path: Path) -> None:
    rows, aside = clean(tmp_path, "n,yes,name,more\n1,maybe,a,\n300,2,b,x\n2,true,c,x,y\n3,true,d\n")
    assert rows.rows() == [(3, True, "d")]
    assert aside == [
        Reject(2, "yes is 'maybe', expected bool", "1,maybe,a,"),
        Reject(3, "n is '300', expected int8; yes is '2', expected bool", "300,2,b,x"),
        Reject(4, "5 fields, expected 4", "2,true,c,x,y"),
    ]


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: the column 'yes', 'name' is missing; it has: n, x"):
        clean(tmp_path, "n,x\n1,2\n")
    with pytest.raises(DataError, match="is empty"):
        clean(tmp_path, "")
    with pytest.raises(DataError, match="two columns are named 'n'"):
        clean(tmp_path, "n,n\n1,2,3\n")
    with pytest.raises(DataError, match=r"none\.csv: cannot be read"):
        read_texts(tmp_path / "none.csv")


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"n,name\n1,caf\xe9\n")
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read_texts(tmp_path / "a.csv")
    assert read_texts(tmp_path / "a.csv", lossy=True).rows.rows() == [("1", "caf\ufffd")]
