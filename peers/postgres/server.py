"""A PostgreSQL server of the system's own, on a socket in a temporary folder, which ends with the system."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

# No durability is asked for; a connection's working memory holds a batch of any L that it can serve.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "1GB",
    "work_mem": "128MB",
    "autovacuum": "off",
    "jit": "off",
    "listen_addresses": "",
}


@contextmanager
def own_server() -> Iterator[str]:
    """Start it; gives its URI. PostgreSQL refuses to run as root, so its own user runs it then."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        raise SystemExit("PostgreSQL is not installed here: apt-get install postgresql")
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="linear-road-postgres-"))
    if user is not None:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    initdb = [programs[-1] / "initdb", "-D", folder / "data", "-U", "peer", "-A", "trust", "--no-sync", "--locale=C"]
    subprocess.run(initdb, user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    with (folder / "log").open("w") as log:
        command = [programs[-1] / "postgres", "-D", folder / "data", "-k", folder, *settings]
        server = subprocess.Popen(command, user=user, cwd=folder, stdout=log, stderr=log)
    uri = f"postgresql://peer@/postgres?host={folder}"
    try:
        _wait(uri, server)
        yield uri
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(uri: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(uri).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.05)
