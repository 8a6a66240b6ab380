"""TUMBLE, HOP and SESSION, and ORDER BY … LIMIT of each window, against DuckDB on the finished input."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import duckdb
import polars as pl
import pytest

from arterial.sql import Catalog, SqlError, StreamEntry, compile_sql
from arterial.sql.live import run_here
from arterial.sql.reading import Input

COLUMNS = {"t": int, "user": str, "page": str, "ms": int}
CLICKS = StreamEntry.of(COLUMNS)


def clicks(seed: int, timestamps: bool = False) -> pl.DataFrame:
    chance, t, rows = random.Random(seed), 0, []
    for _ in range(300):
        t += chance.choice([0, 0, 1, 2, 3, 40])
        rows.append((t, chance.choice("abc"), chance.choice(["x", "y", None]), chance.randint(0, 50)))
    frame = pl.DataFrame(rows, schema=["t", "user", "page", "ms"], orient="row")
    if timestamps:
        begin = datetime(2026, 3, 1)
        frame = frame.with_columns(pl.Series("t", [begin + timedelta(seconds=t) for t in frame["t"]]))
    return frame


def answer(text: str, rows: pl.DataFrame) -> list[tuple[Any, ...]]:
    entry = StreamEntry.of({**COLUMNS, "t": "timestamp" if rows["t"].dtype == pl.Datetime else int})
    net = compile_sql(text, Catalog({"Clicks": entry}))
    parts: list[pl.DataFrame] = []
    run_here(net.value, {"Clicks": Input(entry, rows)}, lambda _, changes: parts.append(changes), train_size=37)
    told = pl.concat(parts)
    assert (told["sign"] == 1).all()  # a row of a window comes when it closes, and stays
    stream = next(iter(net.value.box("answer").fed_by.values()))
    return sorted((row for row in told.drop(stream.time, "sign").rows()), key=repr)


def duck(text: str, rows: pl.DataFrame) -> list[tuple[Any, ...]]:
    with duckdb.connect() as base:
        base.register("Clicks", rows.to_arrow())
        return sorted(base.execute(text).fetchall(), key=repr)


@pytest.mark.parametrize("seed", range(4))
def test_tumble(seed: int) -> None:
    rows = clicks(seed)
    ours = (
        "SELECT user, window_start, window_end, count(*) AS n, sum(ms) AS s, median(ms) AS m FROM Clicks "
        "WHERE ms > 5 GROUP BY TUMBLE(t, INTERVAL '1' MINUTE), user HAVING count(*) > 1"
    )
    theirs = (
        "SELECT user, t // 60 * 60, t // 60 * 60 + 60, count(*), sum(ms)::BIGINT, median(ms) FROM Clicks WHERE ms > 5 "
        "GROUP BY t // 60, user HAVING count(*) > 1"
    )
    assert answer(ours, rows) == duck(theirs, rows)


def test_tumble_by_timestamps() -> None:
    rows = clicks(7, timestamps=True)
    ours = "SELECT window_start, window_end, avg(ms) AS a FROM Clicks GROUP BY TUMBLE(t, '1 minute')"
    theirs = (
        "SELECT time_bucket(INTERVAL '1 minute', t), time_bucket(INTERVAL '1 minute', t) + INTERVAL '1 minute', "
        "avg(ms) FROM Clicks GROUP BY ALL"
    )
    assert answer(ours, rows) == duck(theirs, rows)


@pytest.mark.parametrize("seed", range(3))
def test_hop(seed: int) -> None:
    rows = clicks(seed)
    ours = "SELECT user, window_start, window_end, count(page) AS n FROM Clicks GROUP BY user, HOP(t, 20, 60)"
    theirs = (
        "SELECT user, s, s + 60, count(page) FROM Clicks, range(-60, 10000, 20) w(s) WHERE t >= s AND t < s + 60 "
        "GROUP BY user, s"
    )
    assert answer(ours, rows) == duck(theirs, rows)


@pytest.mark.parametrize("seed", range(3))
def test_session(seed: int) -> None:
    rows = clicks(seed)
    ours = "SELECT user, window_start, window_end, count(*) AS n FROM Clicks GROUP BY user, SESSION(t, '30 s')"
    theirs = (
        "WITH gaps AS (SELECT *, coalesce(t - lag(t) OVER (PARTITION BY user ORDER BY t) > 30, true) AS first "
        "FROM Clicks), "
        "numbered AS (SELECT *, sum(first::INT) OVER (PARTITION BY user ORDER BY t) AS session FROM gaps) "
        "SELECT user, min(t), max(t) + 30, count(*) FROM numbered GROUP BY user, session"
    )
    assert answer(ours, rows) == duck(theirs, rows)


@pytest.mark.parametrize(("way", "seed"), [("DESC", 1), ("", 2)])
def test_the_first_few_of_each_window(way: str, seed: int) -> None:
    rows = clicks(seed)
    ours = f"SELECT user, sum(ms) AS s FROM Clicks GROUP BY TUMBLE(t, 60), user ORDER BY s {way} LIMIT 2"
    theirs = (
        "WITH sums AS (SELECT t // 60 AS w, user, sum(ms)::BIGINT AS s FROM Clicks GROUP BY ALL) "
        f"SELECT user, s FROM sums QUALIFY row_number() OVER (PARTITION BY w ORDER BY s {way}, user) <= 2"
    )
    assert answer(ours, rows) == duck(theirs, rows)


@pytest.mark.parametrize(
    ("text", "said", "under"),
    [
        ("SELECT count(*) FROM Clicks GROUP BY TUMBLE(ms, 60)", "expected the time of Clicks, t", "ms"),
        ("SELECT count(*) FROM Clicks GROUP BY TUMBLE(t)", "expected TUMBLE(time, every), got 1", "TUMBLE"),
        ("SELECT count(*) FROM Clicks GROUP BY HOP(t, 60, 20)", "over must be at least every", "HOP"),
        ("SELECT count(*) FROM Clicks GROUP BY TUMBLE(t, 60), HOP(t, 6, 60)", "expected one window", "HOP"),
        ("SELECT count(*) FROM Clicks GROUP BY SESSION(t, page)", "expected a duration", "page"),
        ("SELECT ms FROM Clicks GROUP BY TUMBLE(t, 60)", "neither grouped nor inside an aggregate", "ms"),
        ("SELECT user FROM Clicks ORDER BY user LIMIT 3", "ORDER BY without a window", "ORDER BY"),
        ("SELECT count(*) AS n FROM Clicks GROUP BY TUMBLE(t, 60) LIMIT 3", "expected ORDER BY too", "LIMIT"),
        ("SELECT count(*) FROM Clicks A, Clicks B GROUP BY TUMBLE(A.t, 60)", "a join with a window", "Clicks B"),
    ],
)
def test_mistakes_are_shown_at_their_place(text: str, said: str, under: str) -> None:
    with pytest.raises(SqlError) as error:
        compile_sql(text, Catalog({"Clicks": CLICKS}))
    assert said in str(error.value)
    assert text[error.value.place.start :].startswith(under), text[error.value.place.start :]
