"""The data driver: every tuple, at its time, to each kind of target."""

from __future__ import annotations

import io
import math
import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from arterial.connectors.pace import Pace, parse_speed
from arterial.errors import ArterialError, DataError, RunError
from arterial.linearroad.data.dataset import Data, open_data
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.drive.driver import FolderTarget, StreamTarget, TcpTarget, drive, target_of

LINES = [
    "0,0,1,50,0,0,0,3,16000,-1,-1,-1,-1,-1,-1",
    "0,2,2,50,1,1,1,4,21500,-1,-1,-1,-1,-1,-1",
    "2,2,2,-1,-1,-1,-1,-1,-1,9,-1,-1,-1,-1,-1",
    "0,30,1,50,0,1,0,3,18000,-1,-1,-1,-1,-1,-1",
]


@pytest.fixture
def data(tmp_path: Path) -> Data:
    file = tmp_path / "events.csv"
    file.write_text("\n".join(LINES) + "\n")
    return open_data(file)


def once(data: Data) -> Replication:
    return Replication.of(data, 1)


def test_a_stream_gets_every_line_in_order(data: Data) -> None:
    out = io.BytesIO()
    done = drive(data, StreamTarget(out), speed=math.inf, begin=0, until=31, replication=once(data))
    assert out.getvalue().decode().splitlines() == [*LINES, "#end"]
    assert (done.events, done.seconds) == (4, 31)


def test_a_reader_that_goes_away_is_named(data: Data) -> None:
    begin, end = os.pipe()
    os.close(begin)
    with os.fdopen(end, "wb", buffering=0) as stream, pytest.raises(RunError, match="receiver went away in second 0"):
        drive(data, StreamTarget(stream), speed=math.inf, begin=0, until=31, replication=once(data))


def test_a_folder_gets_a_file_a_second_and_a_mark_at_the_end(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "out"
    drive(data, FolderTarget(out), speed=math.inf, begin=0, until=31, replication=once(data))
    assert (out / "second-000002.csv").read_text().splitlines() == LINES[1:3]
    assert (out / "second-000001.csv").read_text() == ""
    assert len(list(out.glob("second-*.csv"))) == 31
    assert (out / "END").exists()
    with pytest.raises(DataError, match="not empty"):
        FolderTarget(out)


def test_a_tcp_client_is_the_start_signal(data: Data) -> None:
    target = TcpTarget("127.0.0.1", 0, lambda said: None)
    got: list[bytes] = []

    def client() -> None:
        with socket.create_connection(("127.0.0.1", target.port)) as end:
            while piece := end.recv(65536):
                got.append(piece)

    reader = threading.Thread(target=client)
    reader.start()
    drive(data, target, speed=math.inf, begin=0, until=31, replication=once(data))
    reader.join()
    assert b"".join(got).decode().splitlines() == [*LINES, "#end"]


def test_seconds_come_at_their_time_and_are_recorded(data: Data, tmp_path: Path) -> None:
    record = io.StringIO()
    signal = tmp_path / "go"
    threading.Timer(0.2, signal.touch).start()
    called = time.time()
    done = drive(
        data,
        StreamTarget(io.BytesIO()),
        speed=10,
        begin=0,
        until=5,
        replication=once(data),
        record=record,
        start_on=signal,
    )
    assert done.started >= called + 0.2
    rows = [line.split(",") for line in record.getvalue().splitlines()[1:]]
    assert [int(row[0]) for row in rows] == list(range(5))
    assert [int(row[3]) for row in rows] == [1, 0, 2, 0, 0]
    for second, row in enumerate(rows):
        due, delivered = float(row[1]), float(row[2])
        assert due == pytest.approx(done.started + second / 10, abs=0.002)
        assert delivered >= due - 0.001


def test_replicas_are_disjoint_and_map_back(data: Data) -> None:
    out = io.BytesIO()
    twice = Replication.of(data, 2)
    drive(data, StreamTarget(out, end=None), speed=math.inf, begin=0, until=3, replication=twice)
    fields = [[int(f) for f in line.split(",")] for line in out.getvalue().decode().splitlines()]
    assert [(f[0], f[1], f[2], f[4], f[9]) for f in fields] == [
        (0, 0, 1, 0, -1),
        (0, 0, 11, 2, -1),
        (0, 2, 2, 1, -1),
        (2, 2, 2, -1, 9),
        (0, 2, 12, 3, -1),
        (2, 2, 12, -1, 19),
    ]
    replicated = twice.events(data.read(0, 3), [1])
    assert [vid % twice.vid_step for vid in replicated["vid"].to_pylist()] == data.read(0, 3)["vid"].to_pylist()
    assert isinstance(replicated, pa.Table)


def test_replicas_are_disjoint_where_files_have_no_statistics_of_their_numbers(data: Data, tmp_path: Path) -> None:
    """As the simulator writes them: only for the time."""
    city = tmp_path / "city"
    shutil.copytree(data.folder, city)
    for path in open_data(city).parquet_files.values():
        events = pq.read_table(path)
        moved = pc.add(events["vid"], pa.scalar(123_456, pa.int64())).cast(events.schema.field("vid").type)
        events = events.set_column(events.schema.get_field_index("vid"), events.schema.field("vid"), moved)
        pq.write_table(events, path, write_statistics=["time"])
    assert Replication.of(open_data(city), 3) == Replication(times=3, vid_step=1_000_000, xway_step=2, qid_step=10)


def test_pace_sleeps_until_due() -> None:
    now = [100.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    pace = Pace(10, 2.0)
    pace.start(100.0)
    pace.wait(14, clock=lambda: now[0], sleep=sleep)
    assert slept == [2.0]


@pytest.mark.parametrize("text", ["0", "-1", "fast", "nan", "inf", ""])
def test_a_wrong_speed_is_refused(text: str) -> None:
    with pytest.raises(ArterialError, match="--speed"):
        parse_speed(text)


@pytest.mark.parametrize("place", ["tcp://5000", "tcp://127.0.0.1:", "tcp://:x", "udp://127.0.0.1:5000"])
def test_a_wrong_tcp_place_is_refused(place: str) -> None:
    with pytest.raises(ArterialError, match="tcp://HOST:PORT"):
        target_of(place, print)
