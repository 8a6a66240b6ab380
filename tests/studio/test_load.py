"""Fifty pages, pages that take nothing, and pages that vanish: the run goes on, and so does the studio."""

from __future__ import annotations

import json
import socket
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from arterial.engine.run.local import LocalRun
from arterial.studio.server import Studio

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
