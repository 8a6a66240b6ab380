"""Where Spark runs: this machine, or a cluster; what a driver and its workers must know of each other there.

On this machine everything listens on loopback. On a cluster the driver has an address that the workers can reach, the
workers have a Python with arterial in it, and all of them see the folder of the run. `check_workers` looks at that
before a run starts, so that what is missing is a sentence and not a query that hangs.
"""

from __future__ import annotations

import logging
import os
import platform
import shlex
import socket
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from arterial.errors import MachineError, RunError
from arterial.storage.place import put_in_place, remove
from arterial.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

# All cores, and four attempts for a task: on one machine Spark would else stop when a single worker dies.
DEFAULT_MASTER = "local[*,4]"

LOOPBACK = "127.0.0.1"
PATIENCE_SECONDS = 300.0
"""How long to wait for the first worker that takes the application: it may have to be started first."""
_NOTICE_SECONDS = 15.0
_SETTLED_SECONDS = 1.0
_CONNECT_SECONDS = 10.0

ENVIRONMENT = "environment"
"""The folder into which Spark unpacks the environment on every worker."""
PYTHON_SETTING = "spark.pyspark.python"
_PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ALL_ADDRESSES = "0.0.0.0"
"""What the driver binds to where the user names the address by which it is reached."""


@dataclass(frozen=True)
class Cluster:
    """A Spark master, and how a run gets there.

    Args:
        master: `spark://HOST:PORT`, `yarn`, `k8s://…` or `local[N]`; by default what `ARTERIAL_MASTER` says, or the
            cores of this machine.
        driver_host: The name or address by which workers reach this process; by default the address from which this
            machine reaches the master.
        environment: An archive that `arterial pack` made: the Python of the workers, with all packages. Without one,
            workers use the Python of this process, under the same path.
        settings: Settings of Spark, by their own names.

    >>> Cluster("spark://10.0.0.1:7077", settings={"spark.executor.memory": "4g"}).on_one_machine
    False
    >>> Cluster("local[2]").on_one_machine
    True
    """

    master: str | None = None
    driver_host: str | None = None
    environment: str | Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: str | Cluster | None) -> Cluster:
        """What a user names: a master, or all of it."""
        return given if isinstance(given, Cluster) else cls(given)

    @property
    def url(self) -> str:
        """The master, by whatever it is given."""
        return self.master or os.environ.get("ARTERIAL_MASTER") or DEFAULT_MASTER

    @property
    def on_one_machine(self) -> bool:
        """Whether all processes of Spark are on this machine."""
        return self.url.startswith("local")

    @property
    def is_default(self) -> bool:
        """Whether nothing was chosen."""
        return self == Cluster()

    def spark_settings(self) -> dict[str, str]:
        """The settings of Spark that follow from where it runs; those that the user gave win."""
        if self.on_one_machine:
            if self.driver_host or self.environment:
                raise RunError(
                    f"master {self.url}: Spark runs on this machine, which needs no driver host and no environment; "
                    "leave them out, or name the master of a cluster"
                )
            return {"spark.driver.bindAddress": LOOPBACK, "spark.driver.host": LOOPBACK, **self.settings}
        settings = {"spark.master": self.url}
        host = self.driver_host or self.settings.get("spark.driver.host")
        found = address_towards(self.url)
        if host:
            # It may be the name of a gateway or a service: the driver itself cannot bind to that.
            settings |= {"spark.driver.host": host, "spark.driver.bindAddress": ALL_ADDRESSES}
        elif found:
            settings |= {"spark.driver.host": found, "spark.driver.bindAddress": found}
        if self.environment is not None:
            settings["spark.archives"] = f"{_archive(self.environment)}#{ENVIRONMENT}"
        elif path := os.environ.get("PYTHONPATH"):
            here = (str(Path(entry).absolute()) for entry in path.split(os.pathsep) if entry)
            settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(here)
        return settings | {name: value for name, value in self.settings.items() if name != PYTHON_SETTING}

    def workers_python(self) -> str:
        """The program that workers take for Python."""
        packed = f"{ENVIRONMENT}/bin/python" if self.environment is not None else None
        chosen = self.settings.get(PYTHON_SETTING) or packed or os.environ.get("PYSPARK_PYTHON")
        return chosen or sys.executable


@dataclass(frozen=True)
class PythonName:
    """A name under which this machine and the workers each find a Python of their own.

    Spark starts Python processes on the driver and on the workers by one and the same name. Where the workers' Python
    does not exist here, that is a name without a folder, and each machine finds it on its own path.
    """

    name: str
    environment: Mapping[str, str]
    """For the Java of the driver."""
    settings: Mapping[str, str]
    """For Spark, about the workers."""

    @classmethod
    def of(cls, wanted: str) -> PythonName:
        """The name for a program that workers have."""
        if Path(wanted).is_absolute() and Path(wanted).exists():
            return cls(wanted, {}, {})
        folder = Path(tempfile.mkdtemp(prefix="arterial-python-"))
        program = folder / Path(wanted).name
        put_in_place(program, f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', mode=0o700)
        here = {"PATH": os.pathsep.join([str(folder), os.environ.get("PATH", _PATHS)])}
        return cls(program.name, here, {"spark.executorEnv.PATH": f"{Path(wanted).parent}:{_PATHS}"})


def address_towards(master: str) -> str | None:
    """The address from which this machine reaches a master; None for one without an address, such as YARN.

    Raises if nothing answers there: Spark would say so only after a minute.
    """
    places = list(_places(master))
    refused = ""
    for host, port in places:
        try:
            with socket.create_connection((host, port), _CONNECT_SECONDS) as connected:
                return str(connected.getsockname()[0])
        except OSError as fault:
            refused = f"{host}:{port}: {fault.strerror or fault}"
    if places:
        raise MachineError(
            f"nothing answers at the Spark master {master} ({refused}). Start it, or name it as its own page and log "
            "do: spark://HOST:PORT."
        )
    return None


def _places(master: str) -> Iterator[tuple[str, int]]:
    """The hosts and ports that a master's address names.

    >>> list(_places("spark://one:7077,two:7078")), list(_places("k8s://https://api:6443")), list(_places("yarn"))
    ([('one', 7077), ('two', 7078)], [('api', 6443)], [])
    """
    scheme, sign, rest = master.partition("://")
    if not sign:
        return
    for place in rest.split(","):
        split = urlsplit(place if "://" in place else f"//{place}")
        try:
            host, port = split.hostname, split.port or {"http": 80}.get(split.scheme, 443)
        except ValueError:
            host, port = None, 0
        if not host or (scheme == "spark" and not split.port):
            raise RunError(f"master {master}: expected spark://HOST:PORT, k8s://https://HOST:PORT, yarn or local[N]")
        yield host, port


def _archive(path: str | Path) -> Path:
    if not Path(path).is_file():
        raise RunError(f"environment {path}: there is no such file. `arterial pack {path}` makes one of this Python.")
    return Path(path).absolute()


def wait_for_workers(session: SparkSession, url: str) -> None:
    """Wait until a worker has taken the application and no others come, so that all cores are known."""
    context = session.sparkContext
    state = context._jsc.sc()
    began = time.monotonic()
    until, settled, known, said = began + PATIENCE_SECONDS, 0.0, 0, False
    while time.monotonic() < until:
        workers = int(state.getExecutorMemoryStatus().size()) - 1
        if workers != known:
            known, settled = workers, time.monotonic() + _SETTLED_SECONDS
        if known and time.monotonic() > settled:
            return
        if not (known or said) and time.monotonic() > began + _NOTICE_SECONDS:
            _log.info("waiting for workers of %s …", url)
            said = True
        time.sleep(0.05)
    if not known:
        memory = context.getConf().get("spark.executor.memory", "1g")
        raise MachineError(
            f"no worker of {url} took this application within {PATIENCE_SECONDS:.0f} s. Each needs a free core and "
            f"{memory} of memory (--spark-conf spark.executor.memory=…), and must reach this machine at "
            f"{context.getConf().get('spark.driver.host')} (--driver-host). The master's page says what it has."
        )


@dataclass(frozen=True)
class _Seen:
    """What a worker says of itself."""

    host: str
    arterial: str
    python: str
    sees: bool


def check_workers(session: SparkSession, folder: Path) -> None:
    """Raise unless the workers of a cluster have this arterial and see a folder."""
    context = session.sparkContext
    if str(context.master).startswith("local"):
        return
    probe, said = folder / f".probe-{uuid.uuid4().hex}", uuid.uuid4().hex
    put_in_place(probe, said)
    count = 2 * int(context.defaultParallelism)
    try:
        seen = context.parallelize(range(count), count).mapPartitions(_look_from(probe, said)).collect()
    except Exception as trouble:
        raise _not_fit(str(trouble)) from None
    finally:
        remove(probe)
    for one in seen:
        if one.arterial != __version__:
            raise MachineError(
                f"worker {one.host} has arterial {one.arterial}, this is {__version__}. Install the same everywhere, "
                "or give the workers an environment (arterial pack, --environment)."
            )
        if not one.sees:
            raise RunError(
                f"worker {one.host} does not see the folder {folder}. Checkpoint, inputs and outputs must lie "
                "where all machines of the cluster see them under the same path."
            )


class _look_from:  # noqa: N801 (a function that is sent to workers)
    """What a worker says of itself; a class, so that it is sent by name and needs arterial there."""

    def __init__(self, probe: Path, said: str) -> None:
        self._probe, self._said = probe, said

    def __call__(self, _: Iterable[int]) -> Iterator[_Seen]:
        try:
            sees = self._probe.read_text() == self._said
        except OSError:
            sees = False
        yield _Seen(socket.gethostname(), __version__, platform.python_version(), sees)


def _not_fit(text: str) -> MachineError:
    """The error for what Spark says when workers cannot run Python."""
    remedy = "Install arterial there, or give the workers an environment (arterial pack, --environment)."
    if "No module named 'arterial" in text:
        return MachineError(f"the Python of the workers has no arterial. {remedy}")
    if "Cannot run program" in text:
        program = text.partition("Cannot run program ")[2].partition('"')[2].partition('"')[0]
        return MachineError(f"the workers cannot run {program or 'their Python'}. {remedy}")
    if "PYTHON_VERSION_MISMATCH" in text:
        return MachineError(
            f"the Python of the workers is of another version than this one ({platform.python_version()}). {remedy}"
        )
    lines = [line for line in text.splitlines() if "Error" in line and not line.strip().startswith("at ")]
    return MachineError(f"the workers cannot run Python: {(lines or text.splitlines() or ['unknown'])[-1].strip()}")
