"""`arterial inspect`: what it finds in files, and that the line which it prints reads them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from arterial import Network
from arterial.cli.main import app
from arterial.connectors.files.inspection import inspect_file
from arterial.errors import DataError

CSV = (
    "vehicle,ts,speed,ok,zip\n"
    "7,2026-03-01T06:00:00Z,50.5,true,01234\n"
    "8,2026-03-01T06:00:05Z,51,false,01235\n"
    "8,2026-03-01T06:00:02.5Z,51,false,01235\n"
    "9,,40,true,01236\n" + "7,2026-03-01T06:00:07Z,50.5,true,01234\n" * 10 + "x,2026-03-01T06:00:09Z,1,true,0\n"
)


def test_a_csv_file(tmp_path: Path) -> None:
    (tmp_path / "My reports.csv").write_text(CSV)
    found = inspect_file(tmp_path / "My reports.csv")
    said = found.describe()
    assert said["columns"] == {
        "vehicle": "int64", "ts": "timestamp", "speed": "float64", "ok": "bool", "zip": "string",
    }  # fmt: skip
    assert (said["time"], said["disorder"], said["rows"], said["rows_without_time"]) == ("ts", "2500 ms", 14, 1)
    assert (said["bad_lines"], said["examples"]) == (1, ["line 16: vehicle is 'x', expected int64"])
    net = Network("pasted")
    exec(found.source, {"net": net})
    assert net.value.box("my_reports").disorder == "2500 ms"  # type: ignore[attr-defined]


def test_other_files(tmp_path: Path) -> None:
    lines = [{"at": 1772344800123 + n, "x": n, "nested": {"a": 1}} for n in range(3)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = inspect_file(tmp_path / "a.jsonl")
    assert (str(found.schema), found.units) == ("(at timestamp, x int64)", {"at": "ms"})
    pl.DataFrame({"x": [1.0], "when": [3]}).write_parquet(tmp_path / "a.parquet")
    assert inspect_file(tmp_path / "a.parquet").source == (
        'a = net.source("a", {"x": "float64", "when": "int64"}, time="when")'
    )
    (tmp_path / "n.csv").write_text("a,b\n1,x\n")
    assert inspect_file(tmp_path / "n.csv").lines()[-1].startswith("No column looks like a time")
    with pytest.raises(DataError, match="has no column 'c'; it has: a, b"):
        inspect_file(tmp_path / "n.csv", time="c")


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(CSV)
    shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "in.csv")])
    assert shown.exit_code == 0, shown.output
    assert "ts       timestamp <- the time" in shown.output
    assert "line 16: vehicle is 'x', expected int64" in shown.output
    as_json = CliRunner().invoke(app, ["inspect", str(tmp_path / "in.csv"), "--json"])
    assert json.loads(as_json.output)["bad_lines"] == 1


def test_of_a_folder_the_first_file_is_looked_at(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("time,x\n1,2\n")
    found = inspect_file(tmp_path)
    assert found.rows == 1
    assert "only the first file was read: " in found.lines()[0]
    assert found.describe()["read"].endswith("a.csv")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "time,x\n1,2\n".encode("utf-16"), "is UTF-16, or no text; expected UTF-8"),
        ("a.csv", b"time,x\r1,2\r", "its lines end with a carriage return alone"),
        (
            "a.csv.gz",
            gzip.compress(b"time,x\n" + bytes(f"{chr(10).join(map(str, range(9999)))}", "ascii"))[:-99],
            "cannot be",
        ),
        ("a.json", b'[{"time": 1},\n{"time": 2}]\n', "as jq -c '.[]' makes of an array"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        inspect_file(tmp_path / name)
    assert said in str(caught.value)


def test_a_column_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",time,x\n0,1,5\n1,2,6\n")
    assert inspect_file(tmp_path / "a.csv").schema.names == ("column_1", "time", "x")


def test_times_in_columns_of_other_types(tmp_path: Path) -> None:
    frame = pl.DataFrame({"time": [1772344800123], "seen": ["2026-03-01T06:00Z"], "n": [1772344800123], "to": ["x"]})
    frame.write_parquet(tmp_path / "a.parquet")
    found = inspect_file(tmp_path / "a.parquet")
    assert {column.name: str(column.type) for column in found.schema} == {
        "time": "timestamp",
        "seen": "timestamp",
        "n": "int64",
        "to": "string",
    }
    assert found.units == {"time": "ms"}
    assert str(found.first) == "2026-03-01 06:00:00.123000"


def test_an_array_of_json_is_not_lines(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"time": 1}]\n{"time": 1}\n')
    found = inspect_file(tmp_path / "a.json")
    assert found.examples == [
        "line 1: is not a JSON object: a list; expected one object a line, as jq -c '.[]' makes of an array"
    ]


@pytest.mark.parametrize("name", ["2026-03-01.csv", "class.csv", "my data.csv", "ö.csv", "_.csv"])
def test_the_line_to_paste_is_python(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('time,"q""q",back\\slash,größe\n1,a,b,2.5\n')
    net = Network("pasted")
    exec(inspect_file(tmp_path / name).source, {"net": net})
    (source,) = net.value.boxes
    assert source.schema.names == ("time", 'q"q', "back\\slash", "größe")


MIXED = ["2026-03-01T06:00:00Z", "1772344801", "20260301T060002Z", "2026-03-01T07:00:03+01:00", "1772344804.5"]


def test_times_written_in_several_ways_are_one_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,x\n" + "".join(f"{at},1\n" for at in MIXED))
    (tmp_path / "b.csv").write_text("seen,x\n20260301T060000Z,1\n20260301T060001Z,2\n")
    assert [str(inspect_file(tmp_path / name).last) for name in ("a.csv", "b.csv")] == [
        "2026-03-01 06:00:04.500000",
        "2026-03-01 06:00:01",
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_time_that_is_chosen(suffix: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1772344800.5, 1772344801.0], "ok": [True, False], "name": ["a", "b"], "n": [1, 2]})
    path = tmp_path / f"a{suffix}"
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    assert str(inspect_file(path, time="x").last) == "2026-03-01 06:00:01"
    assert str(inspect_file(path, time="n").schema["n"]) == "int64"
    for name in ("ok", "name"):
        with pytest.raises(
            DataError, match=f"the column '{name}' is .* and cannot be the time; expected integers or times as"
        ):
            inspect_file(path, time=name)


def test_columns_that_no_type_holds_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    frame = {"time": [1, 2], "tags": [["a"], []], "took": pl.Series([1, 2]).cast(pl.Duration("us"))}
    pl.DataFrame(frame).write_parquet(path)
    found = inspect_file(path)
    assert found.left_out == {"tags": "List(String)", "took": "Duration(time_unit='us')"}
    assert any("tags" in line and "left out: it is List(String)" in line for line in found.lines())
    with pytest.raises(DataError, match=r"the column 'took' is Duration.* and cannot be the time"):
        inspect_file(path, time="took")


def test_nested_values_of_json_are_named(tmp_path: Path) -> None:
    lines = '{"time": 1, "a": {"b": 2}, "c": [1], "d": 1}\n{"time": 2, "a": null, "d": {}}\n'
    (tmp_path / "a.jsonl").write_text(lines.replace(', "a": null', ""))
    found = inspect_file(tmp_path / "a.jsonl")
    assert found.schema.names == ("time", "d")
    assert found.left_out == {
        "a": "an object, which a string holds as JSON",
        "c": "a list, which a string holds as JSON",
    }


def test_a_file_without_a_time_in_any_row(tmp_path: Path) -> None:
    pl.DataFrame({"time": [None], "x": [1]}, schema={"time": pl.Datetime("us"), "x": pl.Int64}).write_parquet(
        tmp_path / "a.parquet"
    )
    assert "time: no row has one" in inspect_file(tmp_path / "a.parquet").lines()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_names_that_no_column_may_have_are_left_out(kind: str, tmp_path: Path) -> None:
    rows = pl.DataFrame({"time": [1, 2], "@kind": ["a", "b"], "*": [5, 6], "^t.*$": [7, 8]})
    rows = rows if kind == "csv" else rows.with_columns(pl.Series("", [3, 4]))
    path = tmp_path / f"cars.{kind}"
    {"csv": rows.write_csv, "jsonl": rows.write_ndjson, "parquet": rows.write_parquet}[kind](path)
    found = inspect_file(path)
    assert found.schema.names == ("time",)
    assert found.rows == 2
    assert all("as no column may be" in reason for reason in found.left_out.values())
    assert len(found.left_out) == rows.width - 1
