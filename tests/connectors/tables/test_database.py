"""Tables of SQLite and PostgreSQL as relations: the same answers as of a file, checked at the start, read again."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import arterial as art
from arterial.connectors.source import Ask, Part, Progress
from arterial.connectors.tables.database import as_column
from arterial.connectors.uri import source_from
from arterial.errors import ArterialError, DataError, RunError
from arterial.network.box import Stream
from arterial.network.schema import Type
from tests.connectors.sinks.test_conformance import query
from tests.connectors.tables.test_file import REPORTS, SCHEMA, network
from tests.postgres import PASSWORD, Server


class Base:
    """A database: where it is, and how to ask it."""

    def __init__(self, uri: str, ask: Callable[[str], Any]) -> None:
        self.uri, self.ask = uri, ask

    def bound(self, folder: Path, options: str = "refresh=1 minute") -> art.TableSource:
        source = source_from(self.uri + options, "places", Stream(SCHEMA, "loaded"))
        assert isinstance(source, art.TableSource)
        return source.bind("places", SCHEMA, "loaded", folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Base:
    if request.param == "sqlite":

        def ask(text: str) -> list[tuple[Any, ...]]:
            with closing(sqlite3.connect(tmp_path / "city.db")) as db, db:
                return db.execute(text).fetchall()

        return Base(f"sqlite:///{tmp_path}/city.db?", ask)
    server: Server = request.getfixturevalue("postgres")
    query(server, "DROP TABLE IF EXISTS places CASCADE")
    query(server, "DROP TABLE IF EXISTS kinds")
    return Base(server.uri(), lambda text: query(server, text))


def changes(source: art.TableSource, before: Progress, after: Progress) -> list[tuple[Any, ...]]:
    return sorted(row for i in range(2) for row in source.read(before, after, Part(i, 2)).rows())


def test_the_rows_of_a_table(base: Base) -> None:
    base.ask("CREATE TABLE places (note TEXT, zone INTEGER, place TEXT)")
    base.ask("INSERT INTO places VALUES ('x', 2, 'b'), (NULL, 1, 'a')")
    base.ask("CREATE VIEW near AS SELECT * FROM places WHERE zone < 2")
    for table, zones in (("places", [1, 2, None, 1]), ("near", [1, None, None, 1])):
        out = art.collect(network(), reports=REPORTS, places=f"{base.uri}table={table}&key=place")["out"]
        assert out.sort("time")["zone"].to_list() == zones


def test_a_change_is_seen_and_a_failure_reported(
    base: Base, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base.ask("CREATE TABLE places (place TEXT, zone INTEGER)")
    base.ask("INSERT INTO places VALUES ('a', 1), ('b', 2)")
    source = base.bound(tmp_path / "run")
    steps = [source.begin()]
    steps.append(source.plan(steps[-1], Ask(0.0, 10, 5)))
    base.ask("UPDATE places SET zone = 9 WHERE place = 'a'")
    base.ask("DELETE FROM places WHERE place = 'b'")
    source.look()
    steps.append(source.plan(steps[-1], Ask(0.0, 10, 8)))
    expected = [("a", False, 9, 6), ("b", True, 2, 6)]
    assert changes(source, *steps[-2:]) == expected
    base.ask("DROP TABLE places")
    source.look()
    assert source.plan(steps[-1], Ask(0.0, 10, 8)) == steps[-1]
    assert "there is no such table; name it with table=NAME. The rows loaded at " in capsys.readouterr().err
    assert changes(pickle.loads(pickle.dumps(source)), *steps[-2:]) == expected, "a step that is run again"
    with pytest.raises(DataError, match="no such table"):
        base.bound(tmp_path / "run")


@pytest.mark.parametrize(
    ("table", "rows", "said"),
    [
        ("place TEXT, region INTEGER", "('a', 1)", "the column 'zone' is missing; it has: place, region"),
        ("place TEXT, zone TEXT", "('a', 'x')", "row place 'a': zone is 'x', expected int64"),
        ("place TEXT, zone NUMERIC(9, 1)", "('a', 1.5)", r"row place 'a': zone is .*1\.5.*, expected int64"),
        ("place TEXT, zone INTEGER", "('a', 1), ('a', 2)", "the key a comes a second time"),
    ],
)
def test_half_a_table_is_refused(base: Base, tmp_path: Path, table: str, rows: str, said: str) -> None:
    base.ask(f"CREATE TABLE places ({table})")
    base.ask(f"INSERT INTO places VALUES {rows}")
    with pytest.raises(DataError, match=said):
        base.bound(tmp_path)


def test_every_type(base: Base) -> None:
    base.ask("CREATE TABLE kinds (k BIGINT, f NUMERIC, b BOOLEAN, s TEXT, t TIMESTAMP, small SMALLINT)")
    base.ask("INSERT INTO kinds VALUES (1, 2.5, true, '', '2026-03-01 06:00:00.25', 7)")
    base.ask("INSERT INTO kinds VALUES (2, NULL, NULL, NULL, NULL, NULL)")
    net = art.Network("kinds")
    columns = {"k": int, "f": float, "b": bool, "s": str, "t": "timestamp", "small": "int8"}
    kinds = net.loaded_relation("kinds", columns, key="k")
    net.source("asks", {"time": int, "k": int}).group_by("k").read_relation("read", kinds).output("out")
    out = art.collect(net, asks=[{"time": k, "k": k} for k in (1, 2)], kinds=base.uri)["out"]
    assert out.select("f", "b", "s", "small").rows() == [(2.5, True, "", 7), (None, None, None, None)]
    assert out["t"].cast(pl.String).to_list() == ["2026-03-01 06:00:00.250000", None]


def test_a_password_is_kept_nowhere(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query(postgres, "DROP TABLE IF EXISTS places CASCADE")
    query(postgres, "CREATE TABLE places (place TEXT, zone INTEGER)")
    monkeypatch.delenv("PGPASSWORD")
    source = Base(postgres.uri().replace("tester@", f"tester:{PASSWORD}@"), lambda text: []).bound(tmp_path)
    assert PASSWORD.encode() not in pickle.dumps(source)
    assert PASSWORD not in repr(source)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    with pytest.raises(ArterialError, match="NOT_SET"):
        Base(postgres.uri(), lambda text: []).bound(tmp_path, "password_env=NOT_SET")


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("sqlite:///no/such.db", "does not exist; expected a SQLite file"),
        ("postgres://me:secret@127.0.0.1:1/city", r"PostgreSQL at 127\.0\.0\.1:1, .*refused"),
        ("sqlite:///city.db?tabel=x", "unknown option 'tabel'.*did you mean 'table'"),
        ("sqlite:///city.db?key=zone", "the relation is drawn with the key place"),
        ("file://city/places.csv", "source 'places': expected file:///PATH, without a host"),
        ("mysql://h/city", "unknown scheme 'mysql' for a relation; expected file://, sqlite://"),
        ("places.csv?refesh=1 s", "unknown option 'refesh'.*did you mean 'refresh'"),
    ],
)
def test_what_is_refused(tmp_path: Path, uri: str, said: str) -> None:
    with pytest.raises(ArterialError, match=said) as caught:
        art.collect(network(), reports=REPORTS, places=uri)
    assert "secret" not in str(caught.value)


def test_a_table_is_no_stream() -> None:
    net = art.Network("n")
    net.source("rows", {"time": int}).output("out")
    with pytest.raises(RunError, match=r"draw it as a relation, net\.loaded_relation\('rows', …\)"):
        art.collect(net, rows="sqlite:///city.db?table=rows")


def test_times_of_no_year_do_not_fit() -> None:
    values = [datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "9999-12-31T23:59-01:00", 2**53, "2026-03-01"]
    assert as_column("at", Type.TIMESTAMP, values).to_list() == [None, None, None, datetime(2026, 3, 1)]
