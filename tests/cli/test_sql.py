"""`arterial sql` from the command line."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from arterial.cli.main import app
from arterial.cli.sql import output as sql_output
from arterial.errors import ArterialError, DataError, MachineError, RunError
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.sql import SqlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCUMENT = Path(__file__).parents[2] / "docs" / "sql.md"
CARS = """T,ObjectID,X,Y,kind,speed
1,1,0,0,truck,50
1,2,1,1,car,60
2,1,abc,0,truck,55
2,1,0.5,0,truck,55
3,2,9,2,car,61
"""


@pytest.fixture
def cars(tmp_path: Path) -> Path:
    path = tmp_path / "cars.csv"
    path.write_text(CARS)
    return path


def run(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(app, ["sql", *map(str, arguments)], input=text, catch_exceptions=False)


def arterial(*arguments: object, text: str | None = None) -> str:
    result = run(*arguments, text=text)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_lines(cars: Path) -> None:
    result = run("SELECT ObjectID FROM Cars GPAC-IN (-5, 5, 5, -5)", "--from", f"Cars={cars}")
    assert result.stdout == "1,+,1\n1,+,2\n3,-,2\n"
    assert "1 line(s) were set aside; --rejects FILE keeps them" in result.stderr
    assert "line 4: X is 'abc'" in result.stderr
    assert "1 row(s) in the answer, 3 updates, 4 tuples read, 1 set aside" in result.stderr


def test_json(cars: Path) -> None:
    *updates, verdict = arterial("SELECT kind FROM Cars GPAC-kNN (1, 0, 0)", "--from", cars, "--json").splitlines()
    assert list(map(json.loads, updates)) == [{"t": 1, "sign": "+", "row": {"kind": "truck"}}]
    said = json.loads(verdict)["verdict"]
    assert (said["rows"], said["updates"], said["tuples"], said["set_aside"]) == (1, 1, 4, 1)


def test_out(cars: Path, tmp_path: Path) -> None:
    out = tmp_path / "changes.csv"
    assert arterial("SELECT ObjectID, X FROM Cars", "--from", cars, "--out", out) == ""
    assert out.read_text().splitlines() == [
        "T,sign,ObjectID,X", "1,+,1,0.0", "1,+,2,1.0", "2,-,1,0.0", "2,+,1,0.5", "3,-,2,1.0", "3,+,2,9.0",
    ]  # fmt: skip
    kept = (tmp_path / "changes.csv.rejects.csv").read_text().splitlines()
    assert kept[1].startswith("4,")


def test_query_from_a_file_and_from_standard_input(cars: Path, tmp_path: Path) -> None:
    query = "SELECT ObjectID\nFROM Cars\nWHERE kind = “truck”"
    (tmp_path / "q.sql").write_text(query, encoding="utf-8")
    from_file = arterial("--file", tmp_path / "q.sql", "--from", cars)
    assert from_file == arterial("-", "--from", cars, text=query) == "1,+,1\n"


def test_named_columns_times_and_silence(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,plate,when,east,north\n1,a,0.5,0,0\n2,b,1,1,1\n3,c,4,2,2\n")
    columns = ("--object", "plate", "--x", "east", "--y", "north", "--time", "when")
    query = "SELECT plate FROM S GPAC-IN MyArea"
    got = arterial(query, "--from", path, *columns, "--timeout", "1.5", "--area", "MyArea=0,9,9,0")
    assert got == "0.5,+,a\n1,+,b\n2,-,a\n2.5,-,b\n4,+,c\n"


def test_dates(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time,id,x,y\n2026-11-15 20:00:00,a,0,0\n2026-11-15 20:00:09,b,0,0\n")
    got = arterial("SELECT id FROM S", "--from", path, "--timeout", "5 s")
    assert got == "2026-11-15 20:00:00,+,a\n2026-11-15 20:00:05,-,a\n2026-11-15 20:00:09,+,b\n"


def test_events_and_degrees(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("1,object,a,0,0\n1,object,b,0.001,0\n2,object,a,0,1\n")
    got = arterial("SELECT object FROM E GPAC-IN ('M', 'b', 300, 300)", "--from", path, "--lonlat")
    assert got == "1,+,a\n2,-,a\n"


def test_linear_road(tmp_path: Path) -> None:
    rows = {name: [-1, -1, -1] for name in EVENT_SCHEMA.names}
    rows |= {"type": [0, 0, 2], "time": [0, 0, 1], "vid": [7, 8, 7], "speed": [50, 60, -1], "xway": [0, 0, -1]}
    rows |= {"lane": [1, 1, -1], "dir": [0, 0, -1], "seg": [0, 1, -1], "pos": [100, 5300, -1], "qid": [-1, -1, 1]}
    path = tmp_path / "lr.csv"
    pl.DataFrame(rows).write_csv(path, include_header=False)
    assert arterial("SELECT vid, speed FROM Cars GPAC-kNN ('M', 1, 7)", "--from", path) == "0,+,8,60\n"


def test_nothing_comes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("t,id,x,y\n")
    result = run("SELECT id FROM S GPAC-kNN (1, 0, 0)", "--from", path)
    assert result.stdout == ""
    assert "0 row(s) in the answer, 0 updates, 0 tuples read" in result.stderr


def test_explain_and_graph(cars: Path, tmp_path: Path) -> None:
    query = "SELECT ObjectID FROM Cars WHERE speed > 1 GPAC-IN (0, 0, 1, 1) GPAC-kNN ('M', 1, 2)"
    said = arterial(query, "--from", cars, "--explain")
    assert "gpac_in (gpac_in)" in said
    assert "flowchart" in said
    assert json.loads(arterial(query, "--from", cars, "--explain", "--json"))["network"] == "query"
    arterial(query, "--from", cars, "--graph", tmp_path / "q.svg")
    assert (tmp_path / "q.svg").read_text().startswith("<svg")


def test_on_a_terminal(cars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_output, "is_terminal", lambda: True)
    shown = arterial("SELECT ObjectID, kind FROM Cars GPAC-IN (-5, 5, 5, -5)", "--from", cars)
    assert "the answer at T 3: 1 row(s)" in " ".join(shown.split())
    assert "3 updates" in shown


def test_speed(cars: Path) -> None:
    fast = arterial("SELECT ObjectID FROM Cars", "--from", cars, "--speed", 1000)
    assert fast == arterial("SELECT ObjectID FROM Cars", "--from", cars)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ([], RunError, "expected a query"),
        (["SELECT a FROM S", "--file", "q.sql"], RunError, "not both"),
        (["--file", "none.sql"], DataError, "cannot be read"),
        (["SELECT a FROM"], SqlError, "line 1, column 14"),
        (["SELECT a FROM S"], SqlError, "nothing is behind 'S'; give --from S=FILE"),
        (["SELECT a FROM S, T", "--from", "x.csv"], RunError, "expected NAME=FILE"),
        (["SELECT a FROM S", "--from", "T=x.csv"], RunError, "does not name 'T'"),
        (["SELECT a FROM S", "--from", "S="], RunError, "got no file"),
        (["SELECT a FROM S", "--from", "S=x.csv", "--table", "s=y.csv"], RunError, "was given already"),
        (["SELECT a FROM S", "--from", "none.csv"], DataError, "there is no such file"),
        (["SELECT a FROM S", "--from", "{cars}"], SqlError, "there is no column 'a'"),
        (["SELECT kind FROM S", "--from", "{cars}", "--x", "Xx"], DataError, "--x Xx: there is no such column"),
        (["SELECT kind FROM S", "--from", "{cars}", "--timeout", "soon"], ArterialError, "--timeout"),
        (["SELECT kind FROM S", "--from", "{cars}", "--timeout", "0"], RunError, "more than 0"),
        (
            ["SELECT kind FROM S", "--from", "{cars}", "--speed", "0"],
            ArterialError,
            "--speed must be a number above 0 or .max.",
        ),
        (["SELECT kind FROM S", "--from", "{cars}", "--area", "A"], RunError, "expected NAME=x1,y1,x2,y2"),
        (
            ["SELECT kind FROM S GPAC-IN A", "--from", "{cars}", "--area", "A=1,2"],
            SqlError,
            "the area 'A': GPAC-IN has 2",
        ),
        (["SELECT kind FROM S", "--from", "{cars}", "--out", "none/x.csv"], MachineError, "cannot be written"),
        (["SELECT kind FROM S", "--from", "{cars}", "--graph", "x.png"], RunError, "ends in .svg or .mmd"),
    ],
)
def test_mistakes(cars: Path, arguments: list[str], kind: type[ArterialError], message: str) -> None:
    with pytest.raises(kind, match=message.replace("(", "[(]")):
        arterial(*(argument.format(cars=cars) for argument in arguments))


def examples() -> list[tuple[str, str]]:
    """The commands of the document, and what it says that they print."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL):
        for part in block.split("$ arterial sql ")[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


@pytest.mark.parametrize("number", range(len(examples())))
def test_the_document(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = re.findall(r"`([\w.]+)`:\n\n```csv\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    for name, content in files:
        (tmp_path / name).write_text(content)
    command, printed = examples()[number]
    if printed.startswith("arterial: "):
        with pytest.raises(SqlError) as caught:
            arterial(*shlex.split(command))
        assert f"arterial: {caught.value}\n" == printed
    else:
        assert arterial(*shlex.split(command)) == printed


def test_on_spark(cars: Path, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arterial.engine.spark.session.stop_spark", lambda session: None)
    query = [
        "SELECT kind, count(*) AS n FROM Cars WHERE speed > 1 GPAC-IN (-5, 5, 5, -5) GROUP BY kind",
        "--from",
        str(cars),
    ]
    here = arterial(*query, "--timeout", 2)
    out, checkpoint = tmp_path / "out.csv", tmp_path / "checkpoint"
    assert arterial(*query, "--timeout", 2, "--checkpoint", checkpoint, "--shards", 2) == here != ""
    again = run(*query, "--timeout", 2, "--checkpoint", checkpoint, "--shards", 2, "--out", out)
    assert again.stdout == ""
    assert "".join(out.read_text().splitlines(keepends=True)[1:]) == here
    cars.write_text("".join(cars.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(RunError, match="its file has changed since the run of the checkpoint"):
        arterial(*query, "--timeout", 2, "--checkpoint", checkpoint, "--shards", 2)


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    example = DOCUMENT.parents[1] / "examples" / "sql_trucks.py"
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [
        "  0 s  + ann has 2 near", " 20 s  + bob has 1 near", " 30 s  - ann has 2 near", " 30 s  + ann has 1 near",
    ]  # fmt: skip
    for command in ("explain", "graph"):
        drawn = CliRunner().invoke(app, [command, f"{example}:net"], catch_exceptions=False)
        assert "gpac_in" in drawn.stdout
