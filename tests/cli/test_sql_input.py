"""`arterial sql` on standard input, and what it says of its streams."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path
from queue import Queue
from threading import Thread

import pytest
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.sql.inputs.reading import Wishes
from arterial.sql.inputs.standard_input import read_standard_input

ROWS = "t,id,x\n1,7,1\n2,7,2\n2,8,5\n61,8,6\n"


def command(*words: str, given: str = ROWS) -> tuple[str, str, int]:
    result = CliRunner().invoke(app, ["sql", *words], input=given)
    return result.stdout, result.stderr or str(result.exception or ""), result.exit_code


def test_standard_input_and_the_latest_of_each_object() -> None:
    out, said, code = command("SELECT count(*) AS n, sum(x) AS s FROM Cars", "--from", "Cars=-")
    assert (out.splitlines()[-1], code) == ("61,+,2,8", 0)
    assert "Cars: the latest row of each id (--rows Cars: all rows)" in said


def test_all_rows() -> None:
    out, said, _ = command("SELECT count(*) AS n, sum(x) AS s FROM Cars", "--from", "Cars=-", "--rows", "cars")
    assert out.splitlines()[-1] == "61,+,4,14"
    assert "Cars: all rows" in said


def test_windows() -> None:
    out, said, _ = command("SELECT window_end, count(*) AS n FROM Cars GROUP BY TUMBLE(t, 60)", "--from", "Cars=-")
    assert out.splitlines() == ["59,+,60,3", "119,+,120,1"]
    assert "Cars: all rows, in windows" in said


class Live:
    """`arterial sql` as a process whose standard input is held open."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.errors = folder / "errors.txt"
        command = [sys.executable, "-m", "arterial", "sql", *words]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self.lines: Queue[str] = Queue()
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def send(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def line(self) -> str:
        """The next line of the answer; it must come while the input is open."""
        return self.lines.get(timeout=60)

    def end(self) -> tuple[list[str], str]:
        """Close the input; what else is said."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.reader.join(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return [self.lines.get(timeout=60) for _ in range(self.lines.qsize())], self.errors.read_text()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.put(line.strip())


@pytest.mark.thorough
def test_rows_are_answered_as_they_come(tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text("id,owner\n7,ann\n8,bob\n")
    query = "SELECT owner, count(*) AS n FROM Cars C, Owners O WHERE C.id = O.id GROUP BY TUMBLE(t, 60), owner"
    live = Live(
        tmp_path,
        query,
        "--from",
        "Cars=-",
        "--from",
        f"Owners={tmp_path}/owners.csv",
        "--rejects",
        f"{tmp_path}/no.csv",
    )
    live.send(ROWS)
    assert [live.line(), live.line()] == ["59,+,ann,2", "59,+,bob,1"]
    live.send("65,8,x\n62,8,6\n130,7,1\n5,7,1\n")  # one does not fit, one is in time, one comes too late
    assert live.line() == "119,+,bob,2"
    live.send("131,7,2")
    out, said = live.end()
    assert out == ["179,+,ann,2"]
    assert "standard input: the types are those of the first 4 row(s): t int64; id int64; x int64" in said
    assert "standard input: 2 line(s) were set aside" in said
    assert "line 6: x is 'x', expected int64" in said
    assert "t is 5, which was over" in said
    assert len((tmp_path / "no.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "A=-", "--from", "B=-"], "standard input is one"),
        (["--from", "A=-", "--from", "B=x.csv", "--checkpoint", "c"], "cannot be read again"),
        (["--from", "A=-", "--from", "B=x.csv", "--rows", "C"], "--rows C: the query does not name it"),
    ],
)
def test_what_it_refuses(words: list[str], said: str) -> None:
    _, told, code = command("SELECT A.x FROM A, B WHERE A.id = B.id", *words)
    assert code != 0
    assert said in told


OBJECTS = b'{"t": 1, "id": 7, "x": 1}\n{"t": 2, "id": 7, "x": 2}\n'


def test_json_lines_and_what_is_packed() -> None:
    for given in (OBJECTS, gzip.compress(OBJECTS), gzip.compress(ROWS.encode())):
        result = CliRunner().invoke(app, ["sql", "SELECT count(*) AS n FROM Cars", "--from", "Cars=-"], input=given)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("1,+,1\n")


def test_json_lines_as_they_come() -> None:
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream, os.fdopen(into, "wb", buffering=0) as sender:
        sender.write(OBJECTS)
        given, more = read_standard_input(stream, Wishes())
        assert given.rows.rows() == [(1, 7, 1), (2, 7, 2)]
        assert more is not None
        sender.write(b'{"t": 3, "id": 8, "x": 5}\nnothing\n{"t": 4, "x": 6, "id": 8}')
        sender.close()
        assert [row for piece in more.pieces() for row in piece.rows()] == [(3, 8, 5), (4, 8, 6)]
        assert [reject.line for reject in more.rejects] == [4]


def test_the_first_rows_decide_on_the_unit_of_those_that_come_later() -> None:
    """Also if the first of these is of another unit, and would let all others be set aside."""
    out, into = os.pipe()
    with os.fdopen(out, "rb") as stream, os.fdopen(into, "wb", buffering=0) as sender:
        sender.write(b"t,x\n1772323200000,1\n1772323200500,2\n")
        given, more = read_standard_input(stream, Wishes())
        assert (given.unit, given.rows["x"].to_list()) == ("ms", [1, 2])
        assert more is not None
        sender.write(b"1772323201,3\n1772323201500,4\n1772323202000,5\n")
        sender.close()
        assert [x for piece in more.pieces() for x in piece["x"]] == [4, 5]
        assert [reject.line for reject in more.rejects] == [4]
