"""Live sources on Spark: a run that is killed, or loses its sender, goes on; nothing is lost or doubled."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import arterial as art
from arterial.errors import RunError
from tests.connectors.live.senders import (
    HEADER,
    NETWORK,
    free_port,
    lines,
    network,
    spooled_lines,
    start_sender,
    wait_until,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 200


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    file = tmp_path_factory.mktemp("file") / "reports.csv"
    file.write_bytes(HEADER + lines(0, SECONDS))
    return art.collect(network(), reports=str(file))


def send(port: int, data: bytes) -> None:
    """Send when someone listens, and wait until all was taken."""
    with _connected(port) as sender:
        sender.sendall(data)
        sender.shutdown(socket.SHUT_WR)
        while sender.recv(100):
            pass


def test_a_sender_that_is_killed_and_started_again(
    spark: SparkSession, tmp_path: Path, right: dict[str, pl.DataFrame]
) -> None:
    port, outputs = free_port(), {name: str(tmp_path / name) for name in ("sums", "all")}

    def start() -> art.Run:
        place = f"tcp+listen://127.0.0.1:{port}?wait=200 ms"
        return art.run(network(), {"reports": place, **outputs}, checkpoint=tmp_path / "ck", spark=spark)

    run = start()
    sender = start_sender(port, HEADER + lines(0, 90) + b"90,m0,1.")
    assert wait_until(lambda: run.statistics.tuples_in > 170)
    sender.kill()
    sender.wait()
    with pytest.raises(RunError, match="without saying that it is done"):
        run.wait(60)
    assert any("1 of them had no end" in notice for notice in run.notices)
    run = start()
    send(port, HEADER + lines(90, SECONDS) + b"#end\n")
    assert run.wait(60)
    assert run.ended
    for name in outputs:
        assert sorted(run[name].rows()) == sorted(right[name].rows())
    assert len(list((tmp_path / "ck" / "arterial" / "sources" / "reports" / "spool").glob("*.arrow"))) == 1


@pytest.mark.slow
@pytest.mark.spark
def test_the_whole_run_is_killed_and_started_again(tmp_path: Path, right: dict[str, pl.DataFrame]) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    port = free_port()
    spool = tmp_path / "out" / "checkpoint" / "arterial" / "sources" / "reports" / "spool"

    def start() -> subprocess.Popen[bytes]:
        words = ["run", "net.py:net", "--source", f"reports=tcp+listen://127.0.0.1:{port}", "--out", "out"]
        command = [sys.executable, "-m", "arterial", *words, "--shards", "2"]
        return subprocess.Popen(command, cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE)

    first = start()
    assert wait_until(spool.exists)
    with _connected(port) as client:
        client.sendall(HEADER + lines(0, 120))
        assert wait_until(lambda: spooled_lines(spool) == 240)
        assert wait_until(lambda: any((tmp_path / "out" / "all").glob("part-*")))
        client.sendall(lines(120, 150))
        assert wait_until(lambda: spooled_lines(spool) == 300)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
    second = start()
    send(port, HEADER + lines(150, SECONDS) + b"#end\n")
    _, said = second.communicate(timeout=120)
    assert second.returncode == 0, said.decode()
    for name in ("sums", "all"):
        parts = [pl.read_parquet(part) for part in sorted((tmp_path / "out" / name).glob("part-*"))]
        assert sorted(pl.concat(parts).rows()) == sorted(right[name].rows())


def _connected(port: int) -> socket.socket:
    sockets: list[socket.socket] = []

    def connect() -> bool:
        try:
            sockets.append(socket.create_connection(("127.0.0.1", port)))
        except OSError:
            return False
        return True

    assert wait_until(connect)
    return sockets[0]
