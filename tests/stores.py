"""Real stores for the tests, on loopback: HDFS by Hadoop's minicluster, S3 by moto's server. Stopped in the end.

`make stores` fetches them (tools/hadoop/pom.xml and the extra `stores`); without them their tests are left out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pytest

from arterial.storage import remote
from arterial.storage.remote import path_of
from arterial.storage.stores.store import Info

JARS = Path(sys.prefix) / ".hadoop" / "jars"
KEY = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "not-for-logs-4713", "AWS_REGION": "us-east-1"}
_NOT_FOR_SPARK = re.compile("hadoop-client|netty-|slf4j|snappy|junit|mockito|byte-buddy|commons-")
_SECONDS = 300.0


@dataclass(frozen=True)
class RunningStore:
    """A store that answers, and what a process needs in its environment to use it."""

    address: str
    """Where its files are: a scheme with a bucket, or with a host."""
    environment: dict[str, str] = field(default_factory=dict)
    spark: tuple[str, ...] = ()
    """What `arterial run` must be told so that Spark can use it too."""

    def folder(self) -> Path:
        """A folder that no other test uses."""
        return path_of(f"{self.address}/{uuid.uuid4().hex[:8]}")


@contextmanager
def running_s3() -> Iterator[RunningStore]:
    """moto's server, with one bucket; this process uses it too."""
    program = Path(sys.prefix, "bin", "moto_server")
    if not program.exists():
        pytest.skip("moto's server is not installed: make stores")
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(port, server)
        urllib.request.urlopen(urllib.request.Request(f"{address}/city", method="PUT")).close()
        needed = {**KEY, "AWS_ENDPOINT_URL": address}
        jars = [str(jar) for jar in JARS.glob("*.jar") if not _NOT_FOR_SPARK.match(jar.name)]
        with pytest.MonkeyPatch.context() as environment:
            for name, value in needed.items():
                environment.setenv(name, value)
            spark = ("--spark-conf", f"spark.jars={','.join(jars)}") if jars else ()
            yield RunningStore("s3://city", needed, spark)
    finally:
        server.terminate()
        server.wait()


@contextmanager
def running_hdfs() -> Iterator[RunningStore]:
    """A name node and a data node in one Java."""
    java = shutil.which("java")
    if java is None or not JARS.is_dir():
        pytest.skip("Hadoop's minicluster, or Java, is not here: make stores")
    with tempfile.TemporaryDirectory(prefix="arterial-hdfs-") as folder:
        details = Path(folder, "details.json")
        command = [java, "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command += [f"-Dtest.build.data={folder}", "-cp", f"{JARS}/*", "org.apache.hadoop.test.MiniDFSClusterManager"]
        command += ["-datanodes", "1", "-format", "-writeDetails", str(details)]
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + _SECONDS
            while not details.exists() or not details.read_text().endswith("}"):
                _still_starting(server, until)
                time.sleep(0.2)
            port = int(json.loads(details.read_text())["namenode_port"])
            yield RunningStore(f"hdfs://127.0.0.1:{port}")
        finally:
            server.terminate()
            server.wait()


class MemoryStore:
    """The files of a store that is only in memory, by their keys; it counts what is written to it."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.written = 0

    @classmethod
    def in_place(cls, patch: pytest.MonkeyPatch) -> MemoryStore:
        """Let all paths of stores lead to a new one."""
        store = cls()
        patch.setattr(remote, "_store", lambda *_: store)
        return store

    def info(self, key: str) -> Info | None:
        """What is there."""
        if key in self.files:
            return Info(key.rpartition("/")[2], is_folder=False, size=len(self.files[key]))
        return Info(key, is_folder=True) if any(one.startswith(f"{key}/") for one in self.files) else None

    def list(self, key: str) -> list[Info]:
        """What is in a folder."""
        begin = f"{key}/"
        names = {one.removeprefix(begin).partition("/")[0] for one in self.files if one.startswith(begin)}
        return [info for name in sorted(names) if (info := self.info(begin + name)) is not None]

    def open(self, key: str) -> BytesIO:
        """A file."""
        if key not in self.files:
            raise FileNotFoundError(key)
        return BytesIO(self.files[key])

    def put(self, key: str, content: bytes) -> None:
        """Write a file."""
        self.files[key] = content
        self.written += len(content)

    def put_if_absent(self, key: str, content: bytes) -> None:
        """Write a file that is not there."""
        if key not in self.files:
            self.put(key, content)

    def unlink(self, key: str) -> None:
        """Remove a file."""
        self.files.pop(key, None)

    def make_folder(self, key: str) -> None:
        """Folders are there by what is in them."""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            _still_starting(server, until)
            time.sleep(0.1)


def _still_starting(server: subprocess.Popen[bytes], until: float) -> None:
    assert server.poll() is None, "the store ended while it started"
    assert time.monotonic() < until, f"the store did not start within {_SECONDS:g} s"


def environment_of(store: RunningStore) -> dict[str, str]:
    """The environment of a process that uses a store."""
    return {**os.environ, **store.environment}
