"""Live input: lines that come through a socket or a pipe are answered as those of a file are."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arterial.connectors.rejects import read_rejects
from arterial.errors import ArterialError, RunError
from arterial.linearroad.application.live.spool import look, position
from arterial.linearroad.application.run import LinearRoadRun, RunOptions
from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.drive.driver import TcpTarget, drive
from arterial.linearroad.formats.dialects import dialect, parse
from arterial.linearroad.formats.line_writer import event_lines
from arterial.linearroad.reference import answer
from arterial.linearroad.semantics.profiles import profile
from tests.linearroad.cities import City, generate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CITY = generate(3)
WAIT_SECONDS = 300.0
Rows = list[list[tuple[int, ...]]]


def lines_of(city: City) -> bytes:
    return b"".join(event_lines(city.table()))


def rows_of(out: Path) -> Rows:
    """The answers of each type, without the time of emission, in order."""
    tables = parse((out / "output.csv").read_bytes(), dialect("paper")).answers.tables()
    return [sorted(tuple(row.values()) for row in table.drop(["emit"]).to_pylist()) for _, table in tables]


@pytest.fixture(scope="module")
def right() -> Rows:
    return [sorted(rows) for rows in astuple(answer(CITY.table(), (), (), profile("spec")))]


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def place_of(server: socket.socket) -> str:
    return f"tcp://127.0.0.1:{server.getsockname()[1]}"


def send(server: socket.socket, *pieces: bytes) -> threading.Thread:
    """Send to the first client, then close; whether that was the end, the pieces say."""

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


def test_the_driver_through_tcp_is_answered_as_the_file_is(spark: SparkSession, tmp_path: Path, right: Rows) -> None:
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
    assert run.wait(WAIT_SECONDS)
    figures = run.finish()
    driver.join()
    assert rows_of(tmp_path / "live") == right
    assert figures["rejected"] == {}
    assert figures["reports"] + figures["requests"] == CITY.table().num_rows
    assert not look(tmp_path / "live" / "work" / "spool").files
    stored = LinearRoadRun(options(file, tmp_path / "stored"), spark=spark)
    assert stored.wait(WAIT_SECONDS)
    assert stored.finish()["expressways"] == figures["expressways"]
    assert rows_of(tmp_path / "stored") == right


def test_dirty_lines_through_a_socket_are_set_aside(
    spark: SparkSession, tmp_path: Path, server: socket.socket, right: Rows
) -> None:
    lines = lines_of(CITY).splitlines(keepends=True)
    middle = len(lines) // 2
    dirty = [b"hello\n", *lines[:middle], b"0,1,2\r\n", b"\n", *lines[middle:], b"0,999999,1,55,0,1,0,20,105700,-1,-1"]
    data = b"".join(dirty)
    cuts = [data[at : at + 997] for at in range(0, len(data), 997)]
    sender = send(server, *cuts)
    place = f"{place_of(server)}?eof=end"
    run = LinearRoadRun(options(place, tmp_path / "out"), spark=spark)
    assert run.wait(WAIT_SECONDS)
    figures = run.finish()
    sender.join()
    assert rows_of(tmp_path / "out") == right
    assert figures["rejected"] == {"not 15 fields": 2, "last line is cut short": 1}
    rejects = read_rejects(tmp_path / "out" / "rejects.csv")
    assert [(reject.line, reject.file) for reject in rejects] == [
        (number, place) for number in (1, middle + 2, len(dirty))
    ]


def test_a_sender_that_goes_away_is_no_end(
    spark: SparkSession, tmp_path: Path, server: socket.socket, right: Rows
) -> None:
    """A line is cut so that it still has 15 fields: `69` could be read as `6`."""
    lines = lines_of(CITY).splitlines(keepends=True)
    half = len(lines) // 2
    sender = send(server, b"".join(lines[:half]), lines[half][:-2])
    run = LinearRoadRun(options(place_of(server), tmp_path / "out"), spark=spark)
    with pytest.raises(
        RunError, match=r"without the line '#end'.*last line was cut short and is not taken.*from second"
    ):
        run.wait(WAIT_SECONDS)
    sender.join()
    assert json.loads((tmp_path / "out" / "run.json").read_text())["state"] == "stopped"
    sender = send(server, *lines, b"#end\n")
    run = LinearRoadRun(options(place_of(server), tmp_path / "out"), spark=spark)
    assert run.wait(WAIT_SECONDS)
    figures = run.finish()
    sender.join()
    assert rows_of(tmp_path / "out") == right
    assert figures["rejected"] == {}


def test_a_named_pipe(spark: SparkSession, tmp_path: Path, right: Rows) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(lines_of(CITY) + b"#end\n",))
    writer.start()
    run = LinearRoadRun(options(pipe, tmp_path / "out"), spark=spark)
    assert run.wait(WAIT_SECONDS)
    run.finish()
    writer.join()
    assert rows_of(tmp_path / "out") == right


def test_no_one_at_the_port(spark: SparkSession, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = place_of(server)
    run = LinearRoadRun(options(place, tmp_path / "out"), spark=spark)
    with pytest.raises(RunError, match="Start the sender before the run"):
        run.wait(WAIT_SECONDS)


@pytest.mark.parametrize("data", ["tcp://5000", "tcp://127.0.0.1:", "tcp://127.0.0.1:70000"])
def test_a_wrong_place(tmp_path: Path, data: str) -> None:
    with pytest.raises(ArterialError, match="tcp://HOST:PORT"):
        LinearRoadRun(options(data, tmp_path / "out"))


def test_a_pipe_that_is_not_there(tmp_path: Path) -> None:
    for name in ("pipe", "corrected"):  # a folder in which nothing has begun can be used again
        with pytest.raises(ArterialError, match="no such file"):
            LinearRoadRun(options(tmp_path / name, tmp_path / "out"))


def test_live_input_is_not_replicated(tmp_path: Path) -> None:
    with pytest.raises(ArterialError, match="let the sender do it"):
        LinearRoadRun(options("tcp://127.0.0.1:5000", tmp_path / "out", replicate=2))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("again", ["from the start", "from where the spool ended"])
def test_killed_and_taken_up_again(tmp_path: Path, server: socket.socket, right: Rows, again: str) -> None:
    out, spool = tmp_path / "out", tmp_path / "out" / "work" / "spool"
    lines = lines_of(CITY).splitlines(keepends=True)
    first = _start(place_of(server), out)
    client, _ = server.accept()
    with client:
        client.sendall(b"".join(lines[: 2 * len(lines) // 3]))
        assert _until(lambda: spool.exists() and bool(look(spool).files) and position(spool) > 0)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    reached = look(spool).until
    assert reached > 0
    rest = lines if again == "from the start" else [line for line in lines if int(line.split(b",")[1]) >= reached]
    second = _start(place_of(server), out)
    send(server, *rest, b"#end\n")
    assert second.wait(WAIT_SECONDS) == 0
    assert rows_of(out) == right
    figures = json.loads((out / "run.json").read_text())
    assert figures["skipped"] == (0 if rest != lines else sum(int(line.split(b",")[1]) < reached for line in lines))


def _start(data: str, out: Path) -> subprocess.Popen[bytes]:
    words = ["linear-road", "run", "--data", data, "--out", str(out), "--speed", "max", "--shards", "2", "--json"]
    return subprocess.Popen([sys.executable, "-m", "arterial", *words], start_new_session=True)


def _until(reached: Callable[[], bool]) -> bool:
    end = time.monotonic() + WAIT_SECONDS
    while not reached() and time.monotonic() < end:
        time.sleep(0.05)
    return reached()
