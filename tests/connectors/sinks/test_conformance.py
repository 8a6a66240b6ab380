"""One suite for all sinks: each tuple arrives once, however often a step is repeated, whatever is in it or goes wrong.

A `System` is a place to write to, seen from outside. It can be slow, and it can be down for a while.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from threading import Thread, Timer
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.sinks.files import compaction
from arterial.connectors.uri import sink_from
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Schema
from arterial.network.train import Train
from tests.connectors.sinks.hook import Webhook
from tests.postgres import PASSWORD

SCHEMA = Schema.of({"t": int, "id": "int32", "name": str, "speed": float, "ok": bool, "at": "timestamp"})
STREAM = Stream(SCHEMA, "t")
OTHER = Stream(Schema.of({"t": int, "colour": str}), "t")


class System(ABC):
    """A place to write to, seen from outside."""

    exactly_once = True
    infinite = True
    """Whether it can hold infinities and NaN."""

    nan = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)

    @abstractmethod
    def uri(self) -> str:
        """What a user writes."""

    @abstractmethod
    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        """What is there."""

    waits = False
    """Whether the sink waits until the place is back; else the run stops, and goes on when it is started again."""

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        """A place that takes its time."""
        yield

    def down(self) -> None:
        """A place that cannot be written to: a file is where its folder was."""
        self.folder.rename(self.folder.with_name("elsewhere"))
        self.folder.touch()

    def up(self) -> None:
        """It is back, with what it held."""
        self.folder.unlink()
        self.folder.with_name("elsewhere").rename(self.folder)

    def close(self) -> None:  # noqa: B027  (most have nothing to do)
        """The test is over."""


class Parts(System):
    options = ""

    def uri(self) -> str:
        return f"{self.folder}/parts{self.options}"

    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        return sink.read().to_dicts()  # type: ignore[attr-defined]


class CsvParts(Parts):
    options = "?format=csv"


class JsonParts(Parts):
    options = "?format=jsonl"
    infinite = nan = False


class Compacted(Parts):
    options = "?compact"


class CompactedCsv(Parts):
    options = "?format=csv&compact"


class CompactedJson(Parts):
    options = "?format=jsonl&compact"
    infinite = nan = False


class OneFile(Parts):
    def uri(self) -> str:
        return f"{self.folder}/one.parquet"

    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        sink.finish()
        return pl.read_parquet(self.uri()).to_dicts()


class GrowingCsv(Parts):
    def uri(self) -> str:
        return f"file://{self.folder}/growing.csv?grow"

    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        outside = pl.read_csv(self.folder / "growing.csv", schema=SCHEMA.polars()).to_dicts()
        assert repr(outside) == repr(super().rows(sink))
        return outside


class GrowingJson(Parts):
    infinite = nan = False

    def uri(self) -> str:
        return f"{self.folder}/growing.jsonl?grow"


class OneJson(Parts):
    infinite = nan = False

    def uri(self) -> str:
        return f"{self.folder}/one.jsonl"

    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        sink.finish()
        return [_from_json(json.loads(line)) for line in Path(self.uri()).read_text().splitlines()]


class Printed(System):
    """Standard output is a pipe, and a thread reads it."""

    exactly_once = infinite = nan = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.printed, self.delay = b"", 0.0
        self.standard_output = SimpleNamespace(buffer=None)
        self.up()

    def uri(self) -> str:
        return "-"

    def up(self) -> None:
        if self.standard_output.buffer:
            self.standard_output.buffer.close()
        reading, writing = os.pipe()
        self.standard_output.buffer = os.fdopen(writing, "wb")
        self._reader = Thread(target=self._read, args=(reading,))
        self._reader.start()

    def down(self) -> None:
        self.close()
        reading, writing = os.pipe()
        os.close(reading)
        self.standard_output.buffer = os.fdopen(writing, "wb", buffering=0)

    def close(self) -> None:
        self.standard_output.buffer.close()
        self._reader.join()

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        self.delay = seconds
        yield
        self.delay = 0.0

    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        self.close()
        self.up()
        return [_from_json(json.loads(line)) for line in self.printed.splitlines()]

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while some := pipe.read(1 << 16):
                time.sleep(self.delay)
                self.printed += some


class Sqlite(System):
    nan = False
    options = "?table=found"

    def uri(self) -> str:
        return f"sqlite:///{self.folder}/base.db{self.options}"

    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.folder / "base.db")) as db:
            rows = db.execute("SELECT * FROM found ORDER BY t").fetchall()
        kinds = {"ok": lambda value: bool(value), "at": lambda value: datetime.fromisoformat(value)}
        return [
            {
                name: value if value is None else kinds.get(name, lambda one: one)(value)
                for name, value in zip(SCHEMA.names, row, strict=True)
            }
            for row in rows
        ]

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        with closing(sqlite3.connect(self.folder / "base.db", check_same_thread=False)) as db:
            db.execute("BEGIN IMMEDIATE")  # another writer
            Timer(seconds, db.rollback).start()
            yield


class SqliteByKey(Sqlite):
    options = "?table=found&key=t"


class Postgres(System):
    options = ""
    waits = True
    server: Any = None

    def uri(self) -> str:
        return str(self.server.uri(f"table={self.table}{self.options}"))

    @property
    def table(self) -> str:
        return f"found_{abs(hash(self.folder))}"

    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        rows = query(self.server, f"SELECT * FROM {self.table} ORDER BY t")
        return [
            {**dict(zip(SCHEMA.names, row, strict=True)), "at": row[5] and row[5].replace(tzinfo=None)} for row in rows
        ]

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        import psycopg

        with psycopg.connect(self.server.uri()) as db:
            db.execute(f"LOCK TABLE {self.table}".encode())
            Timer(seconds, db.rollback).start()
            yield

    def down(self) -> None:
        self.server.stop()

    def up(self) -> None:
        self.server.start()


class PostgresByKey(Postgres):
    options = "&key=t"


class Posted(System):
    exactly_once = infinite = nan = False
    waits = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.hook = Webhook()

    def uri(self) -> str:
        return f"{self.hook.url}#rows=1000"

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        self.hook.delay = seconds
        yield
        self.hook.delay = 0.0

    def down(self) -> None:
        self.hook.close()

    def up(self) -> None:
        self.hook.open()

    def close(self) -> None:
        self.hook.close()

    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        # As a server does that knows the keys.
        return [_from_json(row) for body in dict(self.hook.taken).values() for row in body]


class Topic(System):
    """A topic of Kafka with one partition, as a reader of committed messages sees it."""

    infinite = nan = False
    waits = True
    broker: Any = None

    def __init__(self, folder: Path) -> None:
        from confluent_kafka import Consumer, TopicPartition

        super().__init__(folder)
        self.name, self.seen = self.broker.topic(), list[dict[str, Any]]()
        self.reader: Any = Consumer(
            {"bootstrap.servers": self.broker.server, "group.id": "tests", "enable.partition.eof": True}
        )
        self.reader.assign([TopicPartition(self.name, 0, 0)])

    def uri(self) -> str:
        return str(self.broker.uri(self.name, "key=id"))

    def rows(self, sink: Sink) -> list[dict[str, Any]]:
        from confluent_kafka import TopicPartition

        end, at = self.broker.committed_end(self.name, 0), 0
        while at < end:
            for message in self.reader.consume(10_000, 0.1):
                at = message.offset() if message.error() else message.offset() + 1  # the end has an offset too
                self.seen += [] if message.error() else [_from_json(json.loads(message.value()))]
            position = self.reader.position([TopicPartition(self.name, 0)])[0].offset
            at = max(at, position)
        return list(self.seen)

    def down(self) -> None:
        self.broker.stop(kill=True)

    def up(self) -> None:
        self.broker.start()

    def close(self) -> None:
        self.reader.close()


FILES = (Parts, CsvParts, JsonParts, Compacted, CompactedCsv, CompactedJson, OneFile, OneJson, GrowingCsv, GrowingJson)
DATABASES = (Sqlite, SqliteByKey, Postgres, PostgresByKey)


@pytest.fixture(params=[*FILES, Printed, *DATABASES, Posted, Topic], ids=lambda kind: kind.__name__)
def system(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[System]:
    """Each of them, empty."""
    monkeypatch.setattr(compaction, "MERGED_AT_ONCE", 3)
    made = make(request.param, tmp_path / "there", request, monkeypatch)
    yield made
    made.close()


def make(kind: type[System], folder: Path, request: pytest.FixtureRequest, patches: pytest.MonkeyPatch) -> System:
    """An empty one."""
    if issubclass(kind, Postgres):
        patches.setattr(Postgres, "server", request.getfixturevalue("postgres"))
    if issubclass(kind, Topic):
        patches.setattr(Topic, "broker", request.getfixturevalue("kafka"))
    made = kind(folder)
    if isinstance(made, Printed):
        patches.setattr("arterial.connectors.sinks.print.sys", SimpleNamespace(stdout=made.standard_output))
    return made


class Life:
    """What the engine does with a sink between a start and a kill."""

    def __init__(self, system: System, checkpoint: Path, stream: Stream = STREAM) -> None:
        self.sink = sink_from(system.uri(), "out", checkpoint / "parts").bind("out", stream, checkpoint)

    def write(self, step: int, slot: int, tuples: pl.DataFrame) -> None:
        packed = pickle.dumps(self.sink)
        assert PASSWORD.encode() not in packed
        there = self.sink if self.sink.to_driver else pickle.loads(packed)
        there.write(Delivery("out", step, slot, Train(tuples, step)))

    def step(self, step: int, end: bool = False) -> None:
        for slot in (1, 0):
            self.write(step, slot, tuples_of(step, slot))
        self.sink.commit(step)
        if end:
            self.sink.finish()


def tuples_of(step: int, slot: int) -> pl.DataFrame:
    """What arrives in a step: nothing in every fourth."""
    count = 0 if step % 4 == 3 else 2
    rows = [
        {"t": step * 10 + slot + 2 * row, "id": slot, "name": f"ñ{row}", "speed": row / 3, "ok": bool(row), "at": None}
        for row in range(count)
    ]
    return pl.DataFrame(rows, schema=SCHEMA.polars())


def expected(steps: range) -> list[dict[str, Any]]:
    """What a place holds after these steps, by time."""
    return pl.concat([tuples_of(step, slot) for step in steps for slot in (0, 1)]).sort("t").to_dicts()


def by_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["t"])


@pytest.mark.thorough
@pytest.mark.parametrize("killed", ["after one slot", "after the slots", "after the commit", "commit twice"])
def test_a_step_that_comes_again_is_there_once(system: System, tmp_path: Path, killed: str) -> None:
    life = Life(system, tmp_path / "c")
    for step in range(1, 14):
        if killed != "after one slot":
            life.write(step, 0, tuples_of(step, 0))
        life.write(step, 1, tuples_of(step, 1))
        if killed in ("after the commit", "commit twice"):
            life.sink.commit(step)
        if killed == "commit twice":
            life.sink.commit(step)
        elif step % 3 == 0:
            life = Life(system, tmp_path / "c")
        life.step(step)
        assert by_time(system.rows(life.sink)) == expected(range(1, step + 1))


def test_steps_are_in_the_order_of_time(system: System, tmp_path: Path) -> None:
    life = Life(system, tmp_path / "c")
    for step in range(6):
        life.step(step)
    rows = system.rows(life.sink)
    assert [row["t"] // 10 for row in rows] == sorted(row["t"] // 10 for row in rows)
    if life.sink.to_driver:
        assert rows == by_time(rows)


def test_nothing_arrives(system: System, tmp_path: Path) -> None:
    life = Life(system, tmp_path / "c")
    life.write(3, 0, SCHEMA.empty())
    life.sink.commit(3)
    life = Life(system, tmp_path / "c")
    life.sink.commit(4)
    assert system.rows(life.sink) == []
    life.sink.finish()


@pytest.mark.thorough
def test_a_slow_receiver_is_waited_for(system: System, tmp_path: Path) -> None:
    life = Life(system, tmp_path / "c")
    life.step(1)
    with system.slow(0.3):
        life.step(2)
    life.step(3)
    assert by_time(system.rows(life.sink)) == expected(range(1, 4))


@pytest.mark.thorough
def test_a_receiver_that_was_down_has_each_tuple_once(system: System, tmp_path: Path) -> None:
    life = Life(system, tmp_path / "c")
    life.step(1)
    system.down()
    back = Timer(0.3, system.up)
    back.start()
    if system.waits:
        life.step(2)
        back.join()
    else:
        with pytest.raises(RunError, match="same checkpoint"):
            life.step(2, end=True)
        back.join()
        life = Life(system, tmp_path / "c")
        life.step(2)
    life.step(4)
    assert by_time(system.rows(life.sink)) == expected(range(1, 5))


def test_all_values(system: System, tmp_path: Path) -> None:
    texts = ["", None, "a,b", 'say "hi"', "line\nbreak\r\n", "\\N", "NULL", "🚗 münchen", "'; DROP TABLE x; --", "\t"]
    floats = [0.1, None, -1.5, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"), 2.0**53, 1 / 3]
    times = [datetime(2026, 3, 1, 6), None, datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999)]
    frame = pl.DataFrame(
        {
            "t": [-(2**63) + 1, *range(8), 2**63 - 1],
            "id": [2**31 - 1, None, *range(8)],
            "name": texts,
            "speed": floats,
            "ok": [True, None, False, *[True] * 7],
            "at": [*times, *[datetime(2026, 3, 1, 6, 0, 0, n) for n in range(6)]],
        },
        schema=SCHEMA.polars(),
    )
    life = Life(system, tmp_path / "c")
    life.write(1, 0, frame)
    life.sink.commit(1)
    if not system.infinite:
        frame = frame.with_columns(pl.when(pl.col("speed").is_finite()).then("speed").alias("speed"))
    if not system.nan:
        frame = frame.with_columns(pl.col("speed").fill_nan(None))
    # NaN equals nothing: compare what is shown.
    assert [repr(row) for row in by_time(system.rows(life.sink))] == [repr(row) for row in frame.to_dicts()]


@pytest.mark.thorough
def test_a_huge_train(system: System, tmp_path: Path) -> None:
    count = 50_000
    frame = pl.DataFrame({"t": pl.int_range(count, eager=True)}).select(
        "t", id=pl.col("t").cast(pl.Int32), name=pl.lit("x" * 20), speed=pl.col("t") / 7, ok=pl.col("t") > 5,
        at=pl.col("t").cast(pl.Datetime("us")),
    )  # fmt: skip
    life = Life(system, tmp_path / "c")
    life.write(1, 0, frame)
    life.sink.commit(1)
    rows = system.rows(life.sink)
    assert (len(rows), rows[-1]["t"], rows[7]["speed"]) == (count, count - 1, 1.0)


@pytest.mark.parametrize("kind", [GrowingCsv, *DATABASES], ids=lambda kind: kind.__name__)
def test_a_changed_schema_is_refused_at_the_start(
    kind: type[System], tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = make(kind, tmp_path / "there", request, monkeypatch)
    life = Life(system, tmp_path / "c")
    life.step(1)
    with pytest.raises(RunError, match="colour"):
        Life(system, tmp_path / "c", OTHER)
    assert by_time(system.rows(life.sink)) == expected(range(1, 2))


@pytest.mark.parametrize("kind", DATABASES, ids=lambda kind: kind.__name__)
def test_a_transaction_is_whole_or_not_there(
    kind: type[System], tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = make(kind, tmp_path / "there", request, monkeypatch)
    life = Life(system, tmp_path / "c")
    life.step(1)

    def insert_and_fail(db: Any, tuples: pl.DataFrame) -> None:
        type(life.sink).insert(life.sink, db, tuples)  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    monkeypatch.setattr(life.sink, "insert", insert_and_fail)
    with pytest.raises(KeyboardInterrupt):
        life.step(2)
    assert by_time(system.rows(life.sink)) == expected(range(1, 2))
    life = Life(system, tmp_path / "c")
    life.step(2)
    assert by_time(system.rows(life.sink)) == expected(range(1, 3))


@pytest.mark.parametrize("kind", [Printed, Posted], ids=lambda kind: kind.__name__)
def test_at_least_once_repeats_only_the_step_of_the_crash(
    kind: type[System], tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = make(kind, tmp_path / "there", request, monkeypatch)
    life = Life(system, tmp_path / "c")
    life.step(1)

    def killed(step: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(life.sink, "note", killed)
    with pytest.raises(KeyboardInterrupt):
        life.step(2)
    life = Life(system, tmp_path / "c")
    life.step(1)
    life.step(2)
    if isinstance(system, Posted):
        assert [key.split("/", 1)[1] for key, _ in system.hook.taken] == ["out/1/0", "out/2/0", "out/2/0"]
        assert len({key for key, _ in system.hook.taken}) == 2
    else:
        assert system.rows(life.sink) == [*expected(range(1, 3)), *expected(range(2, 3))]
    system.close()


@pytest.mark.parametrize("kind", [Parts, CsvParts, Compacted, GrowingCsv, GrowingJson], ids=lambda kind: kind.__name__)
class TestAPlaceBelongsToOneCheckpoint:
    def test_another_one_is_refused(self, kind: type[System], tmp_path: Path) -> None:
        system = kind(tmp_path / "there")
        life = Life(system, tmp_path / "one" / "c")
        life.step(1)
        with pytest.raises(RunError, match=f"belongs to the run with the checkpoint {tmp_path}/one"):
            Life(system, tmp_path / "two" / "c")
        assert system.rows(Life(system, tmp_path / "one" / "c").sink) == system.rows(life.sink)

    def test_also_by_another_name(self, kind: type[System], tmp_path: Path) -> None:
        system = kind(tmp_path / "there")
        Life(system, tmp_path / "one" / "c").step(1)
        alias = kind(tmp_path / "alias")
        for path in system.folder.iterdir():
            if not path.name.startswith("."):
                (alias.folder / path.name).symlink_to(path)
        with pytest.raises(RunError, match=f"belongs to the run with the checkpoint {tmp_path}/one"):
            Life(alias, tmp_path / "two" / "c")

    def test_also_if_it_had_begun_elsewhere(self, kind: type[System], tmp_path: Path) -> None:
        system, other = kind(tmp_path / "there"), kind(tmp_path / "other")
        Life(system, tmp_path / "one" / "c").step(1)
        Life(other, tmp_path / "two" / "c").step(1)
        with pytest.raises(RunError, match="are not mixed"):
            Life(system, tmp_path / "two" / "c")

    def test_what_was_deleted_is_free(self, kind: type[System], tmp_path: Path) -> None:
        system = kind(tmp_path / "there")
        Life(system, tmp_path / "one" / "c").step(1)
        for path in system.folder.iterdir():
            if not path.name.startswith("."):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        life = Life(system, tmp_path / "two" / "c")
        life.step(2)
        assert by_time(system.rows(life.sink)) == expected(range(2, 3))
        with pytest.raises(RunError, match=r"belongs to the run|shorter than the run left it"):
            Life(system, tmp_path / "one" / "c")


def test_a_folder_has_one_format(tmp_path: Path) -> None:
    Life(Parts(tmp_path / "there"), tmp_path / "c").step(1)
    with pytest.raises(RunError, match=r"holds part-000000001-000\.parquet, and the format is now csv"):
        Life(CsvParts(tmp_path / "there"), tmp_path / "c")


def query(server: Any, text: str) -> list[tuple[Any, ...]]:
    """Ask PostgreSQL."""
    import psycopg

    with psycopg.connect(server.uri(), options="-c timezone=UTC") as db:
        cursor = db.execute(text.encode())
        return cursor.fetchall() if cursor.description else []


def _from_json(row: dict[str, Any]) -> dict[str, Any]:
    at = row["at"]
    return {**row, "at": at and datetime.strptime(at, "%Y-%m-%dT%H:%M:%S.%fZ")}
