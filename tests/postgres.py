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
from pathlib import Path

import pytest

PASSWORD = "not-for-logs-4711"


class Server:
    """A server in a folder of its own; PostgreSQL refuses to run as root, so another user runs it then."""

    user, database = "tester", "postgres"

    def __init__(self, programs: Path, folder: Path) -> None:
        self.port, self._programs, self._folder = _free_port(), programs, folder
        as_root = os.geteuid() == 0
        self._user = pwd.getpwnam("postgres" if _has_user("postgres") else "nobody").pw_uid if as_root else None
        secret = folder / "secret"
        secret.write_text(PASSWORD)
        if self._user is not None:
            os.chown(folder, self._user, -1)
            os.chown(secret, self._user, -1)
        initdb = [programs / "initdb", "-D", folder / "data", "-U", self.user, "-A", "scram-sha-256"]
        options = ["-E", "UTF8", "--locale=C", "--no-sync", f"--pwfile={secret}"]
        done = subprocess.run(
            [*initdb, *options], user=self._user, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        self.start()

    def uri(self, options: str = "") -> str:
        """The URI of its database."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{self.database}?{options}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        import psycopg

        command = [self._programs / "postgres", "-D", self._folder / "data"]
        listening = ["-h", "127.0.0.1", "-p", str(self.port), "-k", "", "-F"]
        log = self._folder / "log"
        with log.open("ab") as said:
            self._process = subprocess.Popen(
                [*command, *listening], user=self._user, cwd=self._folder, stdout=said, stderr=said
            )
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.uri(), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop it at once, whoever is connected."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server that asks for a password, which is in PGPASSWORD."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed here: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="arterial-postgres-", dir="/tmp"))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PGPASSWORD", PASSWORD)
        server = Server(programs, folder)
        yield server
        server.stop()
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
