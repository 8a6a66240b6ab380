"""Live input: lines that come through a socket or a pipe are answered as those of a file are."""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arterial.errors import ArterialError, RunError
from arterial.linearroad.application.run import LinearRoadRun, RunOptions
from arterial.linearroad.application.spool import look
from arterial.linearroad.clean_set import read_rejects
from arterial.linearroad.data import open_data
from arterial.linearroad.dialects import dialect, parse
from arterial.linearroad.drive import TcpTarget, drive
from arterial.linearroad.line_writer import event_lines
from arterial.linearroad.profiles import profile
from arterial.linearroad.reference import answer
from arterial.linearroad.replicate import Replication
from tests.linearroad.cities import City, generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CITY = generate(3)


def lines_of(city: City) -> bytes:
    return b"".join(event_lines(city.table()))


def rows_of(out: Path) -> list[list[tuple[int, ...]]]:
    """The answers of each type, without the time of emission, in order."""
    tables = parse((out / "output.csv").read_bytes(), dialect("paper")).answers.tables()
    return [sorted(tuple(row.values()) for row in table.drop(["emit"]).to_pylist()) for _, table in tables]


@pytest.fixture(scope="module")
def right() -> list[list[tuple[int, ...]]]:
    wanted = answer(CITY.table(), (), (), profile("spec"))
    return [sorted(rows) for rows in (wanted.notices, wanted.alerts, wanted.balances, wanted.expenditures, wanted.travels)]


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def place_of(server: socket.socket) -> str:
    return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def send(server: socket.socket, *pieces: bytes) -> threading.Thread:
    """Send to the first client, then close."""

    def serve() -> None:
        client, _ = server.accept()
        with client:
            for piece in pieces:
                client.sendall(piece)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


def options(data: str | Path, out: Path, **others: object) -> RunOptions:
    return RunOptions(data, out, **{"speed": math.inf, "shards": 2, **others})  # type: ignore[arg-type]


def test_the_driver_through_tcp_is_answered_as_the_file_is(
    spark: SparkSession, tmp_path: Path, right: list[list[tuple[int, ...]]]
) -> None:
    file = tmp_path / "events.csv"
    file.write_bytes(lines_of(CITY))
    data = open_data(file)
    target = TcpTarget("127.0.0.1", 0, lambda said: None)
    once = Replication.of(data, 1)
    driver = threading.Thread(
        target=drive,
        args=(data, target),
        kwargs={"speed": math.inf, "begin": 0, "until": data.last_second + 1, "replication": once},
    )
    driver.start()
    run = LinearRoadRun(options(f"tcp://127.0.0.1:{target.port}", tmp_path / "live"), spark=spark)
    assert run.wait(90)
    figures = run.finish()
    driver.join()
    assert rows_of(tmp_path / "live") == right
    assert figures["rejected"] == {}
    assert figures["reports"] + figures["requests"] == CITY.table().num_rows
    assert not look(tmp_path / "live" / "work" / "spool").files
    stored = LinearRoadRun(options(file, tmp_path / "stored"), spark=spark)
    assert stored.wait(120)
    assert stored.finish()["expressways"] == figures["expressways"]
    assert rows_of(tmp_path / "stored") == right
