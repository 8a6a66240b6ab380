"""A real PostgreSQL for the tests: a server of its own on loopback, in a temporary folder, stopped in the end."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSWORD = "not-for-logs-4711"


@dataclass(frozen=True)
class Server:
    """Where it listens."""

    port: int
    user: str = "tester"
    database: str = "postgres"

    def uri(self, options: str = "") -> str:
        """The URI of its database."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{self.database}?{options}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server that asks for a password, which is in PGPASSWORD."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed here: apt-get install postgresql")
    pytest.importorskip("psycopg")
    folder = Path(tempfile.mkdtemp(prefix="arterial-postgres-", dir="/tmp"))
    # PostgreSQL refuses to run as root.
    user = pwd.getpwnam("postgres" if _has_user("postgres") else "nobody").pw_uid if os.geteuid() == 0 else None
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PGPASSWORD", PASSWORD)
        secret = folder / "secret"
        secret.write_text(PASSWORD)
        if user is not None:
            os.chown(folder, user, -1)
            os.chown(secret, user, -1)
        server = Server(_free_port())
        initdb = [programs / "initdb", "-D", folder / "data", "-U", server.user, "-A", "scram-sha-256"]
        options = ["-E", "UTF8", "--locale=C", "--no-sync", f"--pwfile={secret}"]
        done = subprocess.run([*initdb, *options], user=user, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        listening = ["-h", "127.0.0.1", "-p", str(server.port), "-k", "", "-F"]
        with (folder / "log").open("wb") as log:
            command = [programs / "postgres", "-D", folder / "data", *listening]
            process = subprocess.Popen(command, user=user, cwd=folder, stdout=log, stderr=log)
        try:
            _wait_until_ready(server, process, folder / "log")
            yield server
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
            shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """The folder of the server's programs."""
    found = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return Path(found).parent if found else debian[-1].parent if debian else None


def _has_user(name: str) -> bool:
    return any(entry.pw_name == name for entry in pwd.getpwall())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    until = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(server.uri(), connect_timeout=5).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
