"""Whatever the text is: a network, or a mistake with its place; never anything else."""

from __future__ import annotations

import random

import pytest

from arterial.errors import ArterialError
from arterial.sql import compile_sql
from tests.sql.worlds import CATALOG

SEEDS = [
    "SELECT M . ObjectID , x + 1 AS a FROM MovingObjects M WHERE type = \"truck\" GPAC-IN ( 0 , 10 , 20 , 5 )",
    "SELECT DISTINCT type FROM MovingObjects , Cars F WHERE F . owner IN ( 'a' , 'b' ) GPAC-kNN ( 'M' , 3 , 7 )",
    "SELECT type , count ( * ) n , sum ( x ) / 2 FROM MovingObjects GROUP BY type HAVING max ( x ) > 3 GPAC-IN MyArea",
    "SELECT * FROM MovingObjects M JOIN States S ON S . id = M . ObjectID GPAC-kNN ( 2 , -1.5 , 1e3 ) ;",
]  # fmt: skip
PIECES = [
    "(", ")", ",", ".", "*", "'", '"', "‘", "--", "/*", "*/", ";", "GPAC", "-", "IN", "kNN", "GPAC-IN", "GPAC-kNN", "M",
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "JOIN", "ON", "AS", "AND", "NOT", "NULL", "CASE",
    "END", "1", "-1", "1e999", "''", "'a'", '"b"', "x", "MovingObjects", "count(*)", "max(", "cast(x as", "::", "[",
    "{",
    "$1", "?", "@a", ":b", "\\", "\x00", "\n", "é", "🚗", "||", "//", "%", "between", "over", "interval '1 day'",
    "date '2020-01-01'",
    "exists", "x.y.z", "a.b.c.d.e", "(select 1)", "values (1)", "lambda x: x", "x -> x", "#", "`",
]  # fmt: skip


@pytest.mark.parametrize("text", SEEDS)
def test_seeds(text: str) -> None:
    compile_sql(text, CATALOG)


@pytest.mark.parametrize("seed", range(40))
def test_changed_texts(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        words = chance.choice(SEEDS).split(" ")
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(words) + 1)
            match chance.randrange(4):
                case 0:
                    words.insert(at, chance.choice(PIECES))
                case 1:
                    del words[at : at + chance.randint(1, 3)]
                case 2:
                    words[at : at + 1] = [chance.choice(PIECES)]
                case _:
                    chance.shuffle(words)
        text = " ".join(words)
        try:
            compile_sql(text, CATALOG)
        except ArterialError:
            pass
        except Exception as unexpected:
            raise AssertionError(f"{text!r}: {type(unexpected).__name__}: {unexpected}") from unexpected
