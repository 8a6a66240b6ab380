"""The process that forks Spark's Python workers, with what they all import already loaded.

Spark forks a worker from a bare interpreter, so each new one spends a second on imports; and after every task a worker
collects garbage over all that these imports made. Here they are loaded once before the fork and set aside from
collection.
"""

from __future__ import annotations

import gc
import socket

from pyspark import daemon

from arterial.engine.spark.start import preloaded  # noqa: F401

_run_worker = daemon.worker


def main() -> None:
    """Fork workers until Spark hangs up."""
    daemon.worker = _worker
    gc.collect()
    gc.freeze()
    daemon.manager()


def _worker(sock: socket.socket, authenticated: bool) -> int:
    """A worker whose end is quiet when Spark hung up on it, as it does with workers that are idle for a minute."""
    try:
        return _run_worker(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return 1


if __name__ == "__main__":
    main()
