"""Files as streams and tables: types, roles, order, and rows that are set aside."""

from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from arterial.errors import DataError
from arterial.moving.queries.space import Space
from arterial.network.schema import Type
from arterial.sql.catalog import StreamEntry, TableEntry
from arterial.sql.inputs.reading import Input, Wishes, as_fractions, read_input


def read(path: Path, text: str | bytes, wishes: Wishes | None = None, *, space: Space = Space.PLANE) -> Input:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_input(path, wishes or Wishes(), space=space)


def entry(given: Input) -> StreamEntry:
    assert isinstance(given.entry, StreamEntry)
    return given.entry


def test_types_and_roles(tmp_path: Path) -> None:
    got = read(tmp_path / "a.csv", "T,ObjectID,Lon,Lat,n,f,b,s,id\n1,7,1,2,-3,1.5,true,a,007\n2,8,1e3,-2,,2,FALSE,,8\n")
    known = entry(got)
    assert (known.time, known.object, known.x, known.y) == ("T", "ObjectID", "Lon", "Lat")
    kinds = {field.name: field.type for field in known.schema}
    assert kinds == {
        "T": Type.INT64, "ObjectID": Type.INT64, "Lon": Type.FLOAT64, "Lat": Type.FLOAT64, "n": Type.INT64,
        "f": Type.FLOAT64, "b": Type.BOOL, "s": Type.STRING, "id": Type.STRING,
    }  # fmt: skip
    assert got.rows.rows() == [
        (1, 7, 1.0, 2.0, -3, 1.5, True, "a", "007"),
        (2, 8, 1000.0, -2.0, None, 2.0, False, None, "8"),
    ]
    assert not got.rejects


@pytest.mark.parametrize(("factor", "said"), [(1, "seconds"), (1000, "milliseconds")])
def test_a_time_of_another_unit_is_set_aside(factor: int, said: str, tmp_path: Path) -> None:
    odd = 1_772_323_201 * (1000 // factor)
    numbers = [1_772_323_200 * factor, odd, 1_772_323_202 * factor]
    got = read(tmp_path / "a.csv", "t,x\n" + "".join(f"{number},1\n" for number in numbers))
    assert got.rows.height == 2
    assert got.rejects[0].reason == f"t is '{odd}', expected {said} since 1970, as most of the first numbers are"


def test_types_of_parquet_that_are_no_times(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for kind in (pl.Time, pl.Duration("us"), pl.Boolean):
        pl.DataFrame({"time": pl.Series([1, 0]).cast(kind), "x": [1, 2]}).write_parquet(path)
        with pytest.raises(DataError, match=r"the column 'time' is .* and cannot be the time"):
            read_input(path, Wishes(), space=Space.PLANE)
    pl.DataFrame({"time": [1], "x": pl.Series([1]).cast(pl.Duration("us"))}).write_parquet(path)
    with pytest.raises(DataError, match=r"the column 'x' is Duration.*expected numbers, texts, bools or times"):
        read_input(path, Wishes(), space=Space.PLANE)


def test_texts_of_a_dictionary_are_read_as_texts(tmp_path: Path) -> None:
    """Not as their places in it."""
    path = tmp_path / "a.parquet"
    texts = {"time": ["2026-03-01", "2026-03-02"], "x": ["5.5", "6"], "y": ["7", "8"], "id": ["a", "b"]}
    pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.Categorical)).write_parquet(path)
    got = read_input(path, Wishes(), space=Space.PLANE)
    assert got.rows.rows() == [(datetime(2026, 3, 1), 5.5, 7.0, "a"), (datetime(2026, 3, 2), 6.0, 8.0, "b")]


@pytest.mark.parametrize("table", [False, True])
def test_an_integer_that_is_too_large_is_set_aside(table: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"time": [1, 2], "n": pl.Series([2**63, 5], dtype=pl.UInt64)}).write_parquet(path)
    got = read_input(path, Wishes(), table=table, space=Space.PLANE)
    assert got.rows.rows() == [(2, 5)]
    assert got.rejects[0].reason.startswith("n is 9223372036854775808, expected ")


def test_wishes(tmp_path: Path) -> None:
    wishes = Wishes(object="plate", x="east", y="NORTH", time="when")
    got = entry(read(tmp_path / "a.csv", "when,id,plate,east,north,x,t\n1,2,ab,3,4,5,6\n", wishes))
    assert (got.time, got.object, got.x, got.y) == ("when", "plate", "east", "north")


def test_what_cannot_be_used_is_set_aside(tmp_path: Path) -> None:
    text = "t,id,x,y\n1,1,abc,0\n1,2,,0\nx,3,0,0\n2,,0,0\n3,4,inf,0\n3,4,0,0,9\n3,5,0,nan\n4,6,0,0\n5,7\n"
    got = read(tmp_path / "a.csv", text)
    assert got.rows["id"].to_list() == [6]
    assert [reject.line for reject in got.rejects] == [2, 3, 4, 5, 6, 7, 8, 10]
    reasons = [reject.reason for reject in got.rejects]
    assert reasons[0] == "x is 'abc', expected a number in its range"
    assert reasons[1] == "x is empty, expected a value"
    assert reasons[2] == "t is 'x', expected a time"
    assert reasons[3] == "id is empty, expected a value"
    assert reasons[5] == "5 field(s), expected 4"
    assert reasons[7] == "2 field(s), expected 4"


def test_order(tmp_path: Path) -> None:
    got = read(tmp_path / "a.csv", "t,id,x,y\n2,1,0,0\n1,2,0,0\n2,3,0,0\n")
    assert got.rows["id"].to_list() == [2, 1, 3]
    assert "not in the order of t" in got.notices[0]


@pytest.mark.parametrize(
    ("texts", "expected", "fractional"),
    [
        (["1", "2"], [1, 2], False),
        (["1.0", "2"], [1, 2], False),
        (["-1.5", "2"], [datetime(1969, 12, 31, 23, 59, 58, 500000), datetime(1970, 1, 1, 0, 0, 2)], True),
        (["2026-11-15 20:00:00", "2026-11-15T20:00:00.25"],
         [datetime(2026, 11, 15, 20), datetime(2026, 11, 15, 20, 0, 0, 250000)], False),
    ],
)  # fmt: skip
def test_times(tmp_path: Path, texts: list[str], expected: list[int | datetime], fractional: bool) -> None:
    got = read(tmp_path / "a.csv", "t,id\n" + "".join(f"{text},1\n" for text in texts))
    assert got.rows["t"].to_list() == expected
    assert got.fractional is fractional


def test_whole_seconds_beside_fractions(tmp_path: Path) -> None:
    got = as_fractions(read(tmp_path / "a.csv", "t,id\n1,1\n3,1\n"))
    assert got.rows["t"].to_list() == [datetime(1970, 1, 1, 0, 0, 1), datetime(1970, 1, 1, 0, 0, 3)]
    assert entry(got).schema["t"] is Type.TIMESTAMP


def test_tables(tmp_path: Path) -> None:
    got = read(tmp_path / "a.csv", "id,owner\n1,ann\n2,bob\n")
    assert isinstance(got.entry, TableEntry)
    assert isinstance(read_input(tmp_path / "a.csv", Wishes(), table=True).entry, TableEntry)


def test_parquet(tmp_path: Path) -> None:
    rows = {"time": [3, 1], "vid": ["a", "b"], "x": [1, 2], "y": [0.5, None], "day": [None, 2]}
    pl.DataFrame(rows, schema_overrides={"day": pl.UInt8, "x": pl.Float32}).write_parquet(tmp_path / "a.parquet")
    got = read_input(tmp_path / "a.parquet", Wishes())
    assert got.rows.rows() == [(3, "a", 1.0, 0.5, None)]
    assert [(reject.line, reject.reason) for reject in got.rejects] == [(2, "y is empty, expected a value")]


@pytest.mark.parametrize("kind", ["jsonl", "arrow", "csv.gz", "jsonl.gz"])
def test_every_kind_of_file(tmp_path: Path, kind: str) -> None:
    rows = pl.DataFrame({"t": [1, 2], "id": ["a", "b"], "x": [1.5, 2.0], "y": [3.0, 4.0]})
    file = tmp_path / f"a.{kind}"
    if kind == "arrow":
        rows.write_ipc(file)
    else:
        text = (rows.write_csv() if kind.startswith("csv") else rows.write_ndjson()).encode()
        file.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
    got = read_input(file, Wishes())
    assert (entry(got).time, entry(got).object) == ("t", "id")
    assert got.rows.rows() == rows.rows()


def test_lines_of_json_that_do_not_fit(tmp_path: Path) -> None:
    got = read(tmp_path / "a.jsonl", '{"t": 1, "id": 7}\nnothing\n\n{"id": 8, "t": 2}\n{"t": "noon", "id": 9}\n')
    assert got.rows.select("t", "id").rows() == [(1, 7), (2, 8)]
    assert sorted(reject.line for reject in got.rejects) == [2, 5]


def test_events(tmp_path: Path) -> None:
    got = read(tmp_path / "a.csv", "1,object,a,1,2\n1,range,q,0,0,1,1\n2,object,7,x,2\n2,object,7,1,2\n")
    assert got.rows.rows() == [(1, "a", 1.0, 2.0), (2, "7", 1.0, 2.0)]
    assert [reject.line for reject in got.rejects] == [3]
    assert "1 event(s) of queries" in got.notices[0]


def test_degrees(tmp_path: Path) -> None:
    got = read(tmp_path / "a.csv", "t,id,lon,lat\n1,1,181,91\n1,2,181,90\n", space=Space.LONLAT)
    assert got.rows["id"].to_list() == [2]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "there is no such file"),
        ("empty.csv", b"", "is empty"),
        ("a.parquet", b"no", "cannot be read as Parquet"),
        ("twice.csv", b"t,t\n1,2,3\n", "two columns are named 't'"),
    ],
)
def test_mistakes(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_input(tmp_path / name, Wishes())


def test_only_a_header(tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", "t,id,x,y\n").rows.height == 0


def test_no_utf8(tmp_path: Path) -> None:
    """Two objects that differ in such bytes must not become one."""
    got = read(tmp_path / "a.csv", b"t,id,x,y\n1,\xff,1,2\n1,\xfe,1,2\n2,b,1,2\n")
    assert got.rows["id"].to_list() == ["b"]
    assert [(reject.line, reject.reason) for reject in got.rejects] == [(2, "is not UTF-8"), (3, "is not UTF-8")]


@pytest.mark.parametrize(
    ("texts", "name"),
    [(["1772344800500", "5", "1772344801000"], "milliseconds"), (["1772344800500000"], "microseconds")],
)
def test_numbers_too_large_for_seconds_are_parts_of_them(tmp_path: Path, texts: list[str], name: str) -> None:
    (tmp_path / "in.csv").write_text("t,x\n" + "".join(f"{text},1\n" for text in texts))
    got = read_input(tmp_path / "in.csv", Wishes())
    assert datetime(2026, 3, 1, 6, 0, 0, 500_000) in got.rows["t"]
    assert f"numbers in column 't' are read as {name} since 1970" in got.notices[0]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_columns_that_cannot_be_named_are_left_out(kind: str, tmp_path: Path) -> None:
    rows = pl.DataFrame({"t": [1, 2], "@a": [3, 4], "*": [5, 6], "^t.*$": [7, 8], "v": [9, 10]})
    path = tmp_path / f"cars.{kind}"
    {"csv": rows.write_csv, "jsonl": rows.write_ndjson, "parquet": rows.write_parquet}[kind](path)
    assert read_input(path, Wishes()).rows.rows() == [(1, 9), (2, 10)]
