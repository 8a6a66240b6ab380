"""A page that takes nothing for long is let go: its answers end, its connection is cut, and others notice nothing."""

from __future__ import annotations

import asyncio
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import polars as pl
import pytest
from websockets.sync.client import connect

import arterial.studio.app
import arterial.studio.connection
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.drawing import Network
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.network.train import END, Train
from arterial.studio.connection import STALLED_SECONDS, Connection
from arterial.studio.server import Studio
from arterial.studio.subject import Run

ROWS, TRAINS, ANSWERS = 20_000, 15, 6
"""So many rows a train; all together are more than a connection holds on its way."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that is over and keeps many rows."""
    folder = tmp_path_factory.mktemp("kept")
    net = Network("many")
    reports = net.source("reports", {"time": int, "speed": int})
    reports.connection_point("kept", "1 hour")
    reports.filter("none", "speed < 0").output("few")
    trains = [
        Train(pl.DataFrame({"time": [second] * ROWS, "speed": range(ROWS)}), END if second + 1 == TRAINS else second)
        for second in range(TRAINS)
    ]
    sources = {"reports": MemorySource(trains)}
    run = run_locally(net.value, sources, {"few": MemorySink()}, folder, Settings(shards=1))
    assert run.wait(60)
    return folder


@pytest.fixture
def impatient(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    """A studio that waits for a second only."""
    monkeypatch.setattr(arterial.studio.app, "SEND_SECONDS", 1.0)
    monkeypatch.setattr(arterial.studio.connection, "STALLED_SECONDS", 1.0)
    shown = Studio(Run(kept)).start()
    yield shown
    shown.stop()


def _open(studio: Studio) -> socket.socket:
    """A connection with little room for what comes."""
    place = urlsplit(studio.address)
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect((place.hostname, place.port))
    return made


def _ask(number: int) -> str:
    return json.dumps({"open": "rows", "id": number, "place": "kept"})


@pytest.mark.thorough
def test_a_page_that_never_reads_is_let_go_and_others_notice_nothing(impatient: Studio) -> None:
    address = f"ws://{urlsplit(impatient.address).netloc}/api/live"
    before = set(threading.enumerate())
    slow = _open(impatient)
    with connect(address, sock=slow, max_queue=1, ping_interval=None, close_timeout=0.1) as page:
        for number in range(ANSWERS):
            page.send(_ask(number))
        with connect(address) as other:  # while nobody reads that
            other.send(_ask(1))
            height = 0
            while "ended" not in (said := _header(other.recv(timeout=30))):
                height += said.get("height", 0)
            assert height == ROWS * TRAINS
        # Its answers are no longer computed …
        _until(lambda: not [one for one in set(threading.enumerate()) - before if "_answer" in one.name])
        # … and its connection is closed, though it never took what was on its way.
        watch = select.poll()
        watch.register(slow, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        _until(lambda: bool(watch.poll(0)))


def _header(content: str | bytes) -> dict[str, int]:
    assert isinstance(content, bytes)
    length = int.from_bytes(content[8:12], "little")
    found: dict[str, int] = json.loads(content[12 : 12 + length])
    return found


def _until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    patience = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < patience
        time.sleep(0.05)


def test_a_page_that_takes_a_little_is_only_slow() -> None:
    class Transport:
        """What is left to send, look by look."""

        left: ClassVar = [100, 90, 10, 10]
        cut = False

        def get_write_buffer_size(self) -> int:
            return self.left[0]

        def get_extra_info(self, name: str) -> socket.socket:
            return plain

        def abort(self) -> None:
            self.cut = True

    class Loop:
        """The timer that is set."""

        def call_later(self, seconds: float, look: Callable[[int], None], left: int) -> Loop:
            assert seconds == STALLED_SECONDS
            self.look = lambda: look(left)
            return self

        def cancel(self) -> None:
            self.look = lambda: None

    plain = socket.socket()
    connection = Connection.__new__(Connection)
    transport, loop = Transport(), Loop()
    connection.transport, connection.loop, connection.writable = transport, loop, asyncio.Event()  # type: ignore[assignment]
    connection.pause_writing()
    for _ in range(2):
        transport.left.pop(0)
        loop.look()
        assert not transport.cut
    transport.left.pop(0)
    with plain:
        loop.look()
    assert transport.cut
