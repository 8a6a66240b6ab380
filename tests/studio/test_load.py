"""Fifty pages, slow and vanished ones, huge messages: the run goes on, and so does the studio."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from arterial.engine.run.local import LocalRun
from arterial.studio.channels import rows
from arterial.studio.server import Studio
from arterial.studio.subject import Run

pytestmark = pytest.mark.thorough


def test_fifty_pages_slow_ones_and_vanished_ones(studio: Studio, running: LocalRun) -> None:
    place = urlsplit(studio.address)
    with ExitStack() as stack:
        pages = [stack.enter_context(connect(f"ws://{place.netloc}/api/live")) for _ in range(50)]
        for number, page in enumerate(pages):
            page.send(json.dumps({"open": "figures", "id": 1}))
            if number % 10 == 0:
                page.send(json.dumps({"open": "tuples", "id": 2, "arc": "reports -> fast"}))
        before = running.status.step
        # Half of them never read; some vanish without a word.
        for page in pages[:5]:
            page.socket.shutdown(socket.SHUT_RDWR)
        for page in pages[25:]:
            assert page.recv(timeout=10)
        patience = time.monotonic() + 15
        while running.status.step < before + 5:
            assert time.monotonic() < patience
            time.sleep(0.05)
    taps = Path(running.checkpoint) / "arterial" / "taps"
    patience = time.monotonic() + 20
    while any(taps.iterdir()):
        assert time.monotonic() < patience
        time.sleep(0.1)
    with connect(f"ws://{place.netloc}/api/live") as page:
        page.send(json.dumps({"open": "figures", "id": 1}))
        assert page.recv(timeout=10)


@pytest.mark.parametrize("kind", ["text", "binary", "query"])
def test_a_message_of_ten_megabytes_ends_its_socket_only(studio: Studio, running: LocalRun, kind: str) -> None:
    place = urlsplit(studio.address)
    query = "SELECT " + "speed + " * 1_250_000 + "1 AS a FROM kept"
    message: str | bytes = json.dumps({"open": "rows", "id": 2, "place": "kept", "query": query})
    message = {"text": "x" * 10_000_000, "binary": bytes(10_000_000), "query": message}[kind]
    with connect(f"ws://{place.netloc}/api/live") as other, connect(f"ws://{place.netloc}/api/live") as page:
        other.send(json.dumps({"open": "figures", "id": 1}))
        with suppress(ConnectionClosed):  # it may be refused before all of it was sent
            page.send(message)
        with pytest.raises(ConnectionClosed) as over:
            page.recv(timeout=20)
        assert over.value.rcvd is None or over.value.rcvd.code in (1003, 1009)
        before = running.status.step
        for _ in range(3):
            assert other.recv(timeout=10)
    assert running.status.step > before


def test_an_answer_that_is_cut_off_twice_leaves_nothing_behind(running: LocalRun) -> None:
    before = set(threading.enumerate())
    frames = rows(Run(Path(running.checkpoint)), {"place": "kept"})

    async def cut_off() -> None:
        closing = asyncio.ensure_future(frames.aclose())  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        closing.cancel()  # as by a studio that stops while its pages go
        await asyncio.wait([closing])

    def until_it_is_gone() -> None:
        # This loop has stopped but is not closed yet, as at the end of a studio.
        loop = asyncio.new_event_loop()
        loop.run_until_complete(anext(frames))
        time.sleep(0.3)
        loop.run_until_complete(cut_off())
        patience = time.monotonic() + 5
        while left := [thread for thread in threading.enumerate() if thread not in before and "_answer" in thread.name]:
            assert time.monotonic() < patience, left
            time.sleep(0.05)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    with ThreadPoolExecutor(1) as pool:  # the browser of other tests has a loop in this one
        pool.submit(until_it_is_gone).result()
    gc.collect()  # a warning of what was never awaited fails the test


def test_a_studio_that_stops_leaves_no_answer_behind(running: LocalRun) -> None:
    before = set(threading.enumerate())
    shown = Studio(Run(Path(running.checkpoint))).start()
    place = urlsplit(shown.address)
    with ExitStack() as stack:
        for _ in range(5):
            page = stack.enter_context(connect(f"ws://{place.netloc}/api/live"))
            for number in range(6):
                page.send(json.dumps({"open": "rows", "id": number, "place": "kept"}))
            assert page.recv(timeout=10)
        shown.stop()
    patience = time.monotonic() + 15
    while left := set(threading.enumerate()) - before:
        assert time.monotonic() < patience, left
        time.sleep(0.1)
    gc.collect()  # a warning of what was never awaited fails the test
