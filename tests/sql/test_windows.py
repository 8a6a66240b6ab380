"""TUMBLE, HOP and SESSION, and ORDER BY … LIMIT of each window, against DuckDB on the finished input."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import duckdb
import polars as pl
import pytest

from arterial.sql import Catalog, SqlError, StreamEntry, TableEntry, compile_sql
from arterial.sql.inputs.live import answer_stream, run_here
from arterial.sql.inputs.reading import Input

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


VIEWS = StreamEntry.of({"t": int, "user": str, "shown": str})
PAGES = TableEntry.of({"page": str, "kind": str, "cost": int})
TABLE = pl.DataFrame({"page": ["x", "x", "y", None], "kind": ["p", "q", "p", "q"], "cost": [3, 20, 40, 1]})


def views(seed: int) -> pl.DataFrame:
    chance, t, rows = random.Random(seed + 99), 0, []
    for _ in range(200):
        t += chance.choice([0, 1, 2, 5, 30])
        rows.append((t, chance.choice(["a", "b", None]), chance.choice("xyz")))
    return pl.DataFrame(rows, schema=["t", "user", "shown"], orient="row")


def changes(text: str, seed: int) -> pl.DataFrame:
    """The changes of the answer over clicks, views and the table of pages."""
    inputs = {"Clicks": Input(CLICKS, clicks(seed)), "Views": Input(VIEWS, views(seed)), "Pages": Input(PAGES, TABLE)}
    net = compile_sql(text, Catalog({name: one.entry for name, one in inputs.items()}))
    parts: list[pl.DataFrame] = []
    needed = {box.name: inputs[box.name] for box in net.value.boxes if not box.inputs}
    run_here(net.value, needed, lambda _, more: parts.append(more), train_size=37)
    time = answer_stream(net.value).time
    return pl.concat(parts).select(pl.col(time).alias("@t"), "sign", pl.exclude(time, "sign"))


def both(text: str, theirs: str, seed: int) -> tuple[list[Any], list[Any]]:
    told = changes(text, seed)
    assert (told["sign"] == 1).all()
    with duckdb.connect() as base:
        for name, frame in (("Clicks", clicks(seed)), ("Views", views(seed)), ("Pages", TABLE)):
            base.register(name, frame.to_arrow())
        expected = base.execute(theirs).fetchall()
    assert expected
    return sorted(told.drop("@t", "sign").rows(), key=repr), sorted(expected, key=repr)


@pytest.mark.parametrize("seed", range(3))
def test_streams_joined_within_a_window(seed: int) -> None:
    ours = (
        "SELECT C.window_start AS w, V.window_end AS e, C.user, ms, shown FROM TUMBLE(Clicks, t, '1 minute') C "
        "JOIN TUMBLE(Views, t, 60) V ON C.user = V.user AND C.window_start = V.window_start AND ms > 10 "
        "WHERE C.page <> V.shown"
    )
    theirs = (
        "SELECT C.t // 60 * 60, C.t // 60 * 60 + 60, C.user, ms, shown FROM Clicks C JOIN Views V ON C.user = V.user "
        "AND C.t // 60 = V.t // 60 AND ms > 10 WHERE C.page <> V.shown"
    )
    got, expected = both(ours, theirs, seed)
    assert got == expected


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
def test_groups_of_joined_windows(seed: int) -> None:
    ours = (
        "SELECT C.window_start, C.user, count(*) AS n, sum(cost) AS s FROM TUMBLE(Clicks, t, 60) C "
        "JOIN TUMBLE(Views, t, 60) V ON C.window_start = V.window_start AND C.user = V.user "
        "JOIN Pages P ON P.page = C.page GROUP BY C.window_start, C.user HAVING count(*) > 2"
    )
    theirs = (
        "SELECT C.t // 60 * 60 AS w, C.user, count(*), sum(cost)::BIGINT FROM Clicks C JOIN Views V ON C.t // 60 = "
        "V.t // 60 AND C.user = V.user JOIN Pages P ON P.page = C.page GROUP BY ALL HAVING count(*) > 2"
    )
    got, expected = both(ours, theirs, seed)
    assert got == expected


def hops(relation: str, every: int, over: int) -> str:
    """The rows of a relation for DuckDB, once for each window of HOP that they are in."""
    ends = f"generate_series(t // {every} * {every} + {every}, t + {over}, {every})"
    return f"(SELECT *, e - {over} AS b FROM (SELECT *, unnest({ends}) AS e FROM {relation}))"


@pytest.mark.parametrize(("every", "over"), [(60, 60), (20, 60), (25, 60), (1, 3)])
def test_streams_joined_within_windows_that_overlap(every: int, over: int) -> None:
    ours = (
        f"SELECT C.window_start AS w, V.window_end AS e, C.user, ms, shown FROM HOP(Clicks, t, {every}, {over}) C "
        f"JOIN HOP(Views, t, {every}, {over}) V ON C.user = V.user AND C.window_start = V.window_start AND ms > 10"
    )
    theirs = (
        f"SELECT C.b, V.e, C.user, ms, shown FROM {hops('Clicks', every, over)} C "
        f"JOIN {hops('Views', every, over)} V ON C.user = V.user AND C.b = V.b AND ms > 10"
    )
    got, expected = both(ours, theirs, 1)
    assert got == expected


@pytest.mark.thorough
@pytest.mark.parametrize(("every", "over"), [(20, 60), (25, 60)])
def test_groups_of_joined_windows_that_overlap(every: int, over: int) -> None:
    ours = (
        f"SELECT V.window_start AS w, C.user, count(*) AS n, sum(cost) AS s FROM HOP(Clicks, t, {every}, {over}) C "
        f"JOIN HOP(Views, t, {every}, {over}) V ON C.window_start = V.window_start AND C.user = V.user "
        "JOIN Pages P ON P.page = C.page GROUP BY V.window_start, C.user HAVING count(*) > 2"
    )
    theirs = (
        f"SELECT C.b, C.user, count(*), sum(cost)::BIGINT FROM {hops('Clicks', every, over)} C "
        f"JOIN {hops('Views', every, over)} V ON C.b = V.b AND C.user = V.user "
        "JOIN Pages P ON P.page = C.page GROUP BY ALL HAVING count(*) > 2"
    )
    got, expected = both(ours, theirs, 2)
    assert got == expected
    first = "SELECT window_start, user, count(*) AS n FROM HOP(Clicks, t, 20, 60) GROUP BY window_start, user"
    second = "SELECT window_start, user, count(*) AS n FROM Clicks GROUP BY HOP(t, 20, 60), user"
    assert answer(first, clicks(3)) == answer(second, clicks(3))


SESSIONS = (
    "WITH rows AS (SELECT t, user FROM Clicks UNION ALL SELECT t, user FROM Views), "
    "gaps AS (SELECT *, coalesce(t - lag(t) OVER (PARTITION BY user ORDER BY t) > 12, true) AS first FROM rows), "
    "numbered AS (SELECT *, sum(first::INT) OVER (PARTITION BY user ORDER BY t) AS number FROM gaps), "
    "sessions AS (SELECT user, min(t) AS b, max(t) AS e FROM numbered GROUP BY user, number), "
    "pairs AS (SELECT b, e + 12 AS e, C.user, page, ms, shown FROM sessions S JOIN Clicks C ON C.user = S.user AND "
    "C.t BETWEEN b AND e JOIN Views V ON V.user = S.user AND V.t BETWEEN b AND e)"
)
"""The sessions that clicks and views of a user have in common, and the pairs in them."""
IN_SESSIONS = (
    "FROM SESSION(Clicks, t, '12 s', user) C JOIN SESSION(Views, t, 12, user) V "
    "ON C.user = V.user AND V.window_start = C.window_start"
)


@pytest.mark.parametrize("seed", range(3))
def test_streams_joined_within_sessions_that_they_have_in_common(seed: int) -> None:
    what = "AS b, V.window_end AS e, C.user, ms, shown"
    ours = f"SELECT C.window_start {what} {IN_SESSIONS} AND ms > 10 WHERE shown <> 'x'"
    theirs = f"{SESSIONS} SELECT b, e, user, ms, shown FROM pairs WHERE ms > 10 AND shown <> 'x'"
    got, expected = both(ours, theirs, seed)
    assert got == expected


def test_groups_of_sessions_that_streams_have_in_common() -> None:
    ours = (
        f"SELECT C.window_start AS b, C.user, count(*) AS n, sum(cost) AS s {IN_SESSIONS} JOIN Pages P "
        "ON P.page = C.page GROUP BY C.window_start, C.user HAVING count(*) > 2"
    )
    theirs = (
        f"{SESSIONS} SELECT b, user, count(*), sum(cost)::BIGINT FROM pairs JOIN Pages P ON P.page = pairs.page "
        "GROUP BY ALL HAVING count(*) > 2"
    )
    got, expected = both(ours, theirs, 2)
    assert got == expected


def test_sessions_in_from_and_in_group_by_are_the_same() -> None:
    for timestamps in (False, True):
        rows = clicks(3, timestamps=timestamps)
        in_groups = "SELECT user, window_start, window_end, count(*) AS n FROM Clicks GROUP BY SESSION(t, '9 s'), user"
        in_from = (
            "SELECT user, window_start, window_end, count(*) AS n FROM SESSION(Clicks, t, '9 s', user) "
            "GROUP BY user, window_start, window_end"
        )
        assert answer(in_from, rows) == answer(in_groups, rows)
    first = "SELECT user, ms FROM SESSION(Clicks, t, 9, user) ORDER BY ms DESC LIMIT 1"
    assert len(answer(first, clicks(3))) == len({e for *_, e, _ in answer(in_groups, clicks(3))})


def test_windows_that_overlap_by_timestamps() -> None:
    rows = clicks(7, timestamps=True)
    in_from = "SELECT user, window_start, window_end, count(*) AS n FROM HOP(Clicks, t, '25 s', '1 minute') GROUP BY "
    in_groups = "SELECT user, window_start, window_end, count(*) AS n FROM Clicks GROUP BY HOP(t, '25 s', '60 s'), user"
    assert answer(in_from + "user, window_start, window_end", rows) == answer(in_groups, rows)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("window", "begin"),
    [("TUMBLE(t, 60)", "t // 60 * 60"), ("HOP(C.t, 60, 60)", "t // 60 * 60"), ("SESSION(t, 99999)", "min(t)")],
)
def test_a_stream_and_a_table_in_windows(window: str, begin: str, seed: int) -> None:
    rest = "FROM Pages P, Clicks C WHERE C.page = P.page AND ms < cost GROUP BY"
    ours = f"SELECT kind, window_start, count(*) AS n, max(ms + cost) AS m {rest} {window}, kind"
    theirs = f"SELECT kind, {begin}, count(*), max(ms + cost) {rest} ALL"
    got, expected = both(ours, theirs, seed)
    assert got == expected


def test_windows_in_from_by_timestamps() -> None:
    rows = clicks(7, timestamps=True)
    ours = "SELECT user, window_start, window_end, count(*) AS n FROM TUMBLE(Clicks, t, '1 minute') GROUP BY 1, 2, 3"
    ours = ours.replace("1, 2, 3", "user, window_start, window_end")
    begin = "time_bucket(INTERVAL '1 minute', t)"
    theirs = f"SELECT user, {begin}, {begin} + INTERVAL '1 minute', count(*) FROM Clicks GROUP BY ALL"
    assert answer(ours, rows) == duck(theirs, rows)


def test_the_first_few_pairs_of_each_window() -> None:
    ours = (
        "SELECT C.window_start AS w, ms, shown FROM TUMBLE(Clicks, t, 60) C JOIN TUMBLE(Views, t, 60) V "
        "ON C.window_start = V.window_start AND C.user = V.user ORDER BY ms DESC LIMIT 2"
    )
    theirs = (
        "SELECT C.t // 60 * 60 AS w, ms, shown FROM Clicks C JOIN Views V ON C.t // 60 = V.t // 60 AND C.user = V.user "
        "QUALIFY row_number() OVER (PARTITION BY w ORDER BY ms DESC, w, shown) <= 2"
    )
    got, expected = both(ours, theirs, 1)
    assert got == expected


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["DESC", ""])
def test_the_first_few_at_each_instant(way: str) -> None:
    """Without a window: after each instant the answer is what DuckDB gives over all rows up to then."""
    told = changes(f"SELECT user, sum(ms) AS s FROM Clicks GROUP BY user ORDER BY s {way} LIMIT 2", 3)
    stands: Counter[tuple[Any, ...]] = Counter()
    rows = clicks(3)
    with duckdb.connect() as base:
        base.register("Clicks", rows.to_arrow())
        for t in sorted(set(rows["t"])):
            for _, sign, *values in told.filter(pl.col("@t") == t).rows():
                stands[tuple(values)] += sign
            expected = base.execute(
                f"SELECT user, sum(ms)::BIGINT AS s FROM Clicks WHERE t <= {t} GROUP BY user "
                f"ORDER BY s {way}, user LIMIT 2"
            ).fetchall()
            assert sorted(+stands) == sorted(expected)


def test_the_latest_of_each_object_in_order() -> None:
    entry = StreamEntry.of({"t": int, "id": str, "speed": int})
    rows = pl.DataFrame([(1, "a", 5), (1, "b", 9), (2, "b", 1), (3, "c", 7)], schema=["t", "id", "speed"], orient="row")
    net = compile_sql("SELECT id, speed FROM Cars ORDER BY speed DESC LIMIT 1", Catalog({"Cars": entry}))
    parts: list[pl.DataFrame] = []
    run_here(net.value, {"Cars": Input(entry, rows)}, lambda _, more: parts.append(more), train_size=1)
    got = pl.concat(parts).select("t", "sign", "id").rows()
    assert got == [(1, 1, "b"), (2, -1, "b"), (2, 1, "a"), (3, -1, "a"), (3, 1, "c")]


@pytest.mark.parametrize(
    ("text", "said", "under"),
    [
        ("SELECT count(*) FROM Clicks GROUP BY TUMBLE(ms, 60)", "expected the time of Clicks, t", "ms"),
        ("SELECT count(*) FROM Clicks GROUP BY TUMBLE(t)", "expected TUMBLE(time, every), got 1", "TUMBLE"),
        ("SELECT count(*) FROM Clicks GROUP BY HOP(t, 60, 20)", "over must be at least every", "HOP"),
        ("SELECT count(*) FROM Clicks GROUP BY TUMBLE(t, 60), HOP(t, 6, 60)", "expected one window", "HOP"),
        ("SELECT count(*) FROM Clicks GROUP BY SESSION(t, page)", "expected a duration", "page"),
        ("SELECT ms FROM Clicks GROUP BY TUMBLE(t, 60)", "neither grouped nor inside an aggregate", "ms"),
        ("SELECT user FROM Clicks ORDER BY user", "expected LIMIT too", "ORDER BY"),
        ("SELECT count(*) AS n FROM Clicks GROUP BY TUMBLE(t, 60) LIMIT 3", "expected ORDER BY too", "LIMIT"),
        (
            "SELECT count(*) FROM Clicks A, Clicks B GROUP BY TUMBLE(A.t, 60)",
            "each stream has its own, in FROM",
            "Clicks B",
        ),
        ("SELECT A.ms FROM TUMBLE(Clicks, t, 60) A, Clicks B", "Clicks is a stream; where windows", "Clicks B"),
        (
            "SELECT A.ms FROM TUMBLE(Clicks, t, 60) A JOIN TUMBLE(Clicks, t, 60) B ON A.user = B.user",
            "add AND A.window_start = B.window_start",
            "Clicks, t, 60) B",
        ),
        (
            "SELECT A.ms FROM TUMBLE(Clicks, t, 60) A JOIN TUMBLE(Clicks, t, 9) B ON A.window_start = B.window_start",
            "differ in length",
            "Clicks, t, 9",
        ),
        ("SELECT count(*) FROM TUMBLE(Clicks, t, 60) GROUP BY user", "add window_start to GROUP BY", "TUMBLE"),
        ("SELECT ms FROM SESSION(Clicks, t)", "expected SESSION(stream, time, gap, key…)", "SESSION"),
        ("SELECT ms FROM SESSION(Clicks, t, 60, usr)", "there is no column 'usr'", "usr"),
        ("SELECT ms FROM SESSION(Clicks, t, 60, ms + 1)", "a key of SESSION is a column", "ms + 1"),
        (
            "SELECT A.ms FROM SESSION(Clicks, t, 9, user) A JOIN SESSION(Clicks, t, 9, user) B "
            "ON A.window_start = B.window_start",
            "add AND A.user = B.user",
            "Clicks, t, 9, user) B",
        ),
        (
            "SELECT A.ms FROM SESSION(Clicks, t, 9, user) A JOIN SESSION(Clicks, t, 9) B "
            "ON A.window_start = B.window_start",
            "1 and 0 key column(s)",
            "Clicks, t, 9) B",
        ),
        (
            "SELECT A.ms FROM SESSION(Clicks, t, 9, user) A JOIN SESSION(Clicks, t, 9, page) B ON A.user = B.page",
            "add AND A.window_start = B.window_start",
            "Clicks, t, 9, page) B",
        ),
        (
            "SELECT A.ms FROM SESSION(Clicks, t, 9) A JOIN TUMBLE(Clicks, t, 9) B ON A.window_start = B.window_start",
            "differ in length",
            "Clicks, t, 9) B",
        ),
        ("SELECT ms FROM HOP(Clicks, t, 60)", "in FROM expected HOP(stream, time, every, over)", "HOP"),
        ("SELECT ms FROM HOP(Clicks, t, 60, 20)", "over must be from 1 to 100 times every", "HOP"),
        ("SELECT ms FROM HOP(Clicks, t, 1, 101)", "over must be from 1 to 100 times every", "HOP"),
        ("SELECT ms FROM HOP(Clicks, t, 9, 60) ORDER BY ms LIMIT 2", "needs GROUP BY, as windows overlap", "ms LIMIT"),
        ("SELECT ms FROM TUMBLE(Clicks, ms, 60)", "expected the time of Clicks, t", "ms, 60"),
        ("SELECT ms FROM TUMBLE(Clicks, 60)", "expected TUMBLE(stream, time, every)", "TUMBLE"),
        ("SELECT ms FROM TUMBLE(Clicks, t, 60) GPAC-kNN (1, 0, 0)", "has no column for", "GPAC"),
    ],
)
def test_mistakes_are_shown_at_their_place(text: str, said: str, under: str) -> None:
    with pytest.raises(SqlError) as error:
        compile_sql(text, Catalog({"Clicks": CLICKS}))
    assert said in str(error.value)
    assert text[error.value.place.start :].startswith(under), text[error.value.place.start :]


def test_functions_of_times_as_in_duckdb() -> None:
    text = (
        "SELECT epoch_ms(t) AS e, week(t) AS w, date_diff('minutes', TIMESTAMP '2026-02-28 23:59:30', t) AS d, "
        "millisecond(t) AS m, dayname(t) AS a, monthname(t) AS b, tanh(ms) AS h FROM Clicks "
        "WHERE date_diff('hour', TIMESTAMP '2026-02-28 23:59:30', t) < 3 AND cosh(ms) > 10"
    )
    rows = clicks(1, timestamps=True)
    assert answer(text, rows) == duck(text, rows)
