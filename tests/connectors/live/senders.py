"""A network to send lines to, and senders as processes that can be killed."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import arterial as art

SENDER = """
import socket, sys, time
data, pause = sys.stdin.buffer.read(), float(sys.argv[3])
client = socket.create_connection((sys.argv[1], int(sys.argv[2])))
client.sendall(data)
time.sleep(pause)
"""

NETWORK = """
import arterial as art

net = art.Network("loads")
reports = net.source("reports", {"time": int, "machine": str, "load": float})
reports.group_by("machine").tumble("per_ten", every="10 s", n="count(*)", total="sum(load)").output("sums")
reports.output("all")
"""


def network() -> art.Network:
    """Counts and sums by machine, and all reports as they came."""
    scope: dict[str, art.Network] = {}
    exec(NETWORK, scope)
    return scope["net"]


def lines(first: int, last: int) -> bytes:
    """Two reports a second."""
    return b"".join(b"%d,m%d,%d.5\n" % (n // 2, n % 3, n % 11) for n in range(2 * first, 2 * last))


HEADER = b"time,machine,load\n"


def start_sender(port: int, data: bytes, pause: float = 600.0) -> subprocess.Popen[bytes]:
    """A process that sends data and then only waits: it can be killed, or it ends by itself."""
    sender = subprocess.Popen([sys.executable, "-c", SENDER, "127.0.0.1", str(port), str(pause)], stdin=subprocess.PIPE)
    assert sender.stdin
    sender.stdin.write(data)
    sender.stdin.close()
    return sender


def free_port() -> int:
    """A port that no one listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_until(reached: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether something came to be in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if reached():
            return True
        time.sleep(0.02)
    return False


def spooled_lines(spool: Path) -> int:
    """How many lines a spool has taken in."""
    from arterial.connectors.live.spool import account_of, look

    files = look(spool) if spool.exists() else ()
    return int(account_of(files[-1])["total"]) if files else 0
