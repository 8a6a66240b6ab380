"""`arterial sql` on standard input, and what it says of its streams."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from arterial.cli.main import app

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
