"""Shipments in shared memory and as rows, and the folders in shared memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from arterial import Network
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.host.failures import FAIL
from arterial.engine.host.inprocess import InProcess
from arterial.engine.plan.compile import compile_network
from arterial.engine.run.run import Settings, run
from arterial.engine.spark.work import Work
from arterial.engine.transport import rows as transport_rows
from arterial.engine.transport.parcels import Parcel
from arterial.engine.transport.rows import (
    IN_MEMORY,
    LEAST_IN_MEMORY,
    PIECE,
    PIECE_BYTES,
    address_of,
    from_rows,
    to_rows,
)
from arterial.engine.transport.shipments import Shipment
from arterial.figures.steering import Drop, Steering
from arterial.network.network import NetworkValue
from arterial.network.train import END, Train
from arterial.storage.shared_memory import MemoryFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def folder() -> Iterator[MemoryFolder]:
    made = MemoryFolder.make("test")
    assert made is not None, "this machine has no shared memory"
    yield made
    made.remove()


def _network() -> NetworkValue:
    net = Network("sums")
    source = net.source("reports", {"time": "int64", "key": "int32", "value": "int64"})
    source.group_by("key").tumble("minutes", every=60, total="sum(value)").output("out")
    return net.value


def _reports(count: int) -> pl.DataFrame:
    order = np.arange(count)
    return pl.DataFrame({"time": order // 100, "key": (order * 7 % 30).astype(np.int32), "value": order * 10**9})


def _work(memory: str) -> Work:
    return Work("run", compile_network(_network(), 2), {}, {}, FAIL, folder="", memory=memory)


def _shipment(work: Work, count: int) -> Shipment:
    (number,) = work.channels
    return Shipment(
        4, 0, 1.5, (Parcel(number, 0, 1, Train(_reports(count), 99)),), Steering(3, shed={"a.out → b.in": Drop(0.5)})
    )


def _check(got: Shipment, expected: Shipment) -> None:
    assert (got.step, got.level, got.born, got.steering) == (4, 0, 1.5, expected.steering)
    assert got.parcels[0].train.through == 99
    assert got.parcels[0].train.tuples.equals(expected.parcels[0].train.tuples)


def test_long_ones_lie_in_memory_and_a_row_names_them(folder: MemoryFolder) -> None:
    work = _work(str(folder.path))
    sent = _shipment(work, 50_000)
    (row,) = to_rows(sent, 0, work.channels, work.memory)
    assert row[:4] == IN_MEMORY
    assert len(row) < 100
    assert address_of(row) == (0, 3)
    for _ in range(2):  # a task that is repeated finds it again
        (got,) = from_rows([row], work.channels, work.memory)
        _check(got, sent)
    folder.empty()
    _check(got, sent)  # who has it keeps it
    with pytest.raises(FileNotFoundError):
        from_rows([row], work.channels, work.memory)


def test_short_ones_go_as_they_are(folder: MemoryFolder) -> None:
    work = _work(str(folder.path))
    sent = _shipment(work, LEAST_IN_MEMORY // 100)
    (row,) = to_rows(sent, 0, work.channels, work.memory)
    assert row[:4] not in (IN_MEMORY, PIECE)
    _check(from_rows([row], work.channels, work.memory)[0], sent)
    assert [path.name for path in folder.path.iterdir()] == ["lock"]


def test_without_memory_they_go_in_pieces() -> None:
    work = _work("")
    sent = _shipment(work, 300_000)
    rows = to_rows(sent, 0, work.channels, work.memory)
    assert len(rows) > 1
    assert max(map(len, rows)) < PIECE_BYTES + 64
    _check(from_rows(rows, work.channels, work.memory)[0], sent)


def test_when_the_memory_is_full_they_go_in_pieces(folder: MemoryFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _work(str(folder.path))
    sent = _shipment(work, 300_000)
    monkeypatch.setattr(transport_rows, "has_room", lambda folder, size: False)
    assert {row[:4] for row in to_rows(sent, 0, work.channels, work.memory)} == {PIECE}
    monkeypatch.undo()

    def full(file: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    rows = to_rows(sent, 0, work.channels, work.memory)
    monkeypatch.undo()
    assert {row[:4] for row in rows} == {PIECE}
    assert [path.name for path in folder.path.iterdir()] == ["lock"]
    _check(from_rows(rows, work.channels, work.memory)[0], sent)


def test_a_folder_whose_process_was_killed_is_removed(folder: MemoryFolder) -> None:
    script = (
        "from arterial.storage.shared_memory import MemoryFolder\n"
        "folder = MemoryFolder.make('test')\n"
        "(folder.path / 'something').write_bytes(bytes(1000))\n"
        "print(folder.path, flush=True)\n"
        "input()"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    theirs = Path(child.stdout.readline().strip())
    other = MemoryFolder.make("test")
    assert other is not None
    other.remove()
    assert theirs.exists(), "its process lives"
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    other = MemoryFolder.make("test")
    assert other is not None
    other.remove()
    assert not theirs.exists()
    assert folder.path.exists()


class InPieces(MemorySource):
    """What delivers by slot is read where it is wanted; only others send anything."""

    def splits_by(self, key: tuple[str, ...]) -> bool:
        return False


def test_a_run_uses_shared_memory_and_leaves_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory: list[int] = []
    folders: set[Path] = set()
    empty = MemoryFolder.empty

    def watched(self: MemoryFolder) -> None:
        in_memory.append(len([path for path in self.path.iterdir() if path.name != "lock"]))
        folders.add(self.path)
        empty(self)

    monkeypatch.setattr(MemoryFolder, "empty", watched)
    tuples = _reports(60_000)
    cuts = [tuples.head(30_000), tuples.slice(30_000, 10), tuples.slice(30_010)]
    steps = [Train(part, END if n == 2 else int(part["time"][-1]) - 1) for n, part in enumerate(cuts)]
    sink = MemorySink()
    running = run(
        _network(), {"reports": InPieces(steps)}, {"out": sink}, tmp_path / "c", Settings(shards=2), spark=spark
    )
    assert running.wait(300)
    expected = InProcess(_network(), ordered_sources=["reports"]).run([{"reports": train} for train in steps])["out"]
    order = ["time", "key"]
    assert sink.read().sort(order).equals(expected.sort(order))
    assert in_memory == [4, 0, 4]  # each slot sends to each; ten tuples are too few
    assert len(folders) == 1
    assert not any(path.exists() for path in folders)
