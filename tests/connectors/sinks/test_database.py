"""Tables of SQLite and PostgreSQL: replaced by key, checked before the run, passwords shown nowhere."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.databases.database import DatabaseSink
from arterial.connectors.uri import sink_from
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import Train
from tests.connectors.sinks.test_conformance import query
from tests.postgres import PASSWORD, Server

SCHEMA = Schema.of({"t": int, "car": str, "speed": int})
Ask = Callable[[str], list[tuple[Any, ...]]]


class Base:
    """A database: where it is, and how to ask it."""

    def __init__(self, uri: str, ask: Ask) -> None:
        self.uri, self.ask = uri, ask

    def bound(self, options: str, folder: Path, schema: Schema = SCHEMA) -> DatabaseSink:
        sink = sink_from(self.uri + options, "alerts", folder).bind("alerts", Stream(schema, "t"), folder)
        assert isinstance(sink, DatabaseSink)
        return sink


@pytest.fixture(params=["sqlite", "postgresql"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Base:
    if request.param == "sqlite":

        def ask(text: str) -> list[tuple[Any, ...]]:
            with closing(sqlite3.connect(tmp_path / "base.db")) as db, db:
                return db.execute(text).fetchall()

        return Base(f"sqlite:///{tmp_path}/base.db?", ask)
    server: Server = request.getfixturevalue("postgres")
    for table in ("alerts", "others", "arterial_steps", '"odd ""name"'):
        query(server, f"DROP TABLE IF EXISTS {table}")
    return Base(server.uri(), lambda text: query(server, text))


def put(sink: DatabaseSink, step: int, *rows: tuple[int, str | None, int]) -> None:
    sink.write(Delivery("alerts", step, 0, Train(pl.DataFrame(rows, schema=SCHEMA.polars(), orient="row"), step)))
    sink.commit(step)


def test_the_latest_of_each_key_stays(base: Base, tmp_path: Path) -> None:
    sink = base.bound("key=car", tmp_path)
    put(sink, 1, (1, "a", 10), (2, "b", 20), (3, "a", 30))
    put(sink, 2, (4, "b", 40))
    assert base.ask("SELECT t, car, speed FROM alerts ORDER BY car") == [(3, "a", 30), (4, "b", 40)]
    with pytest.raises(RunError, match="null in its key"):
        put(sink, 3, (5, None, 50))


def test_keys_of_several_columns_and_nothing_else(base: Base, tmp_path: Path) -> None:
    sink = base.bound("key=t,car,speed&table=others", tmp_path)
    put(sink, 1, (1, "a", 10), (1, "a", 10))
    put(sink, 2, (1, "a", 10))
    assert base.ask("SELECT * FROM others") == [(1, "a", 10)]


def test_a_new_run_adds_to_the_table(base: Base, tmp_path: Path) -> None:
    put(base.bound("", tmp_path / "one"), 1, (1, "a", 10))
    put(base.bound("", tmp_path / "two"), 1, (2, "a", 20))
    assert base.ask("SELECT t FROM alerts ORDER BY t") == [(1,), (2,)]


def test_names_are_quoted(base: Base, tmp_path: Path) -> None:
    schema = Schema.of({"t": int, 'select "x"; --': int})
    sink = base.bound("table=odd%20%22name", tmp_path, schema)
    sink.write(Delivery("alerts", 1, 0, Train(pl.DataFrame({"t": [1], 'select "x"; --': [2]}), 1)))
    sink.commit(1)
    assert base.ask('SELECT * FROM "odd ""name"') == [(1, 2)]


@pytest.mark.parametrize(
    ("table", "options", "fault"),
    [
        ("t BIGINT, car TEXT", "", "no column 'speed'"),
        ("t BIGINT, car TEXT, speed TEXT", "", "column 'speed' is text"),
        ("t BIGINT, car TEXT, speed BIGINT, owner TEXT NOT NULL", "", "'owner' must have a value"),
        ("t BIGINT, car TEXT, speed BIGINT", "key=car", "unique index"),
        ("t BIGINT, car TEXT, speed BIGINT, PRIMARY KEY (t, car)", "key=car", "unique index"),
        ("t BIGINT, car TEXT, speed BIGINT", "key=colour", "'colour' is not a column"),
    ],
)
def test_a_table_that_does_not_fit(base: Base, tmp_path: Path, table: str, options: str, fault: str) -> None:
    base.ask(f"CREATE TABLE alerts ({table})")
    with pytest.raises(RunError, match=f"(?i){fault}"):
        base.bound(options, tmp_path)
    assert base.ask("SELECT * FROM alerts") == []


@pytest.mark.parametrize("unique", ["car TEXT PRIMARY KEY", "car TEXT UNIQUE"])
def test_a_table_that_fits(base: Base, tmp_path: Path, unique: str) -> None:
    base.ask(f"CREATE TABLE alerts (note TEXT, {unique}, speed BIGINT, t BIGINT, n INTEGER NOT NULL DEFAULT 5)")
    put(base.bound("key=car", tmp_path), 1, (1, "a", 10), (2, "a", 20))
    assert base.ask("SELECT t, car, speed, note, n FROM alerts") == [(2, "a", 20, None, 5)]


@pytest.mark.parametrize("given", ["in the URI", "in the URI as an option", "by password_env"])
def test_a_password_is_shown_and_kept_nowhere(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("BASE_PASSWORD", PASSWORD)
    uri = {
        "in the URI": postgres.uri("table=secrets").replace("tester@", f"tester:{PASSWORD}@"),
        "in the URI as an option": postgres.uri(f"table=secrets&password={PASSWORD}"),
        "by password_env": postgres.uri("table=secrets&password_env=BASE_PASSWORD"),
    }[given]
    sink = Base(uri, lambda text: []).bound("", tmp_path)
    put(sink, 1, (1, "a", 10))
    assert PASSWORD.encode() not in pickle.dumps(sink)
    assert PASSWORD not in repr(sink)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]


def test_wrong_and_missing_passwords(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = Base(postgres.uri("table=secrets&"), lambda text: [])
    with pytest.raises(RunError, match="NOT_SET"):
        base.bound("password_env=NOT_SET", tmp_path)
    monkeypatch.setenv("BASE_PASSWORD", "wrong-0815")
    with pytest.raises(RunError, match="password authentication failed") as caught:
        base.bound("password_env=BASE_PASSWORD", tmp_path)
    assert "wrong-0815" not in str(caught.value)


def test_nobody_listens(tmp_path: Path) -> None:
    base = Base(f"postgres://me:{PASSWORD}@127.0.0.1:1/road?", lambda text: [])
    with pytest.raises(RunError, match=r"PostgreSQL at 127\.0\.0\.1:1, .* 'alerts': .*refused") as caught:
        base.bound("", tmp_path)
    assert PASSWORD not in str(caught.value)


def test_no_such_folder_or_database(postgres: Server, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="file"):
        Base(f"sqlite:///{tmp_path}/file/base.db?", lambda text: []).bound("", tmp_path)
    with pytest.raises(RunError, match='database "atlantis" does not exist'):
        Base(postgres.uri().replace("/postgres?", "/atlantis?"), lambda text: []).bound("", tmp_path)


def test_a_lost_connection_is_opened_again(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query(postgres, "DROP TABLE IF EXISTS lost")
    sink = Base(postgres.uri("table=lost"), lambda text: []).bound("", tmp_path)
    lost: list[int] = []

    def insert(db: Any, tuples: pl.DataFrame) -> None:
        type(sink).insert(sink, db, tuples)
        if not lost:
            lost.append(1)
            query(postgres, f"SELECT pg_terminate_backend({db.info.backend_pid})")

    monkeypatch.setattr(sink, "insert", insert)
    put(sink, 1, (1, "a", 10))
    assert lost
    assert query(postgres, "SELECT * FROM lost") == [(1, "a", 10)]
