"""Hosts on one machine: each has a network and a name of its own, its own /tmp and /dev/shm, and one folder in common.

They hang on a switch, which is a namespace too, so that nothing of them is seen from outside. Needs root and iproute2.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

import pyspark

from arterial.engine.spark.start.archive import Archive
from arterial.engine.spark.start.gateway import spark_home
from arterial.engine.spark.start.java import find_java

ROOT = Path(__file__).parents[2]
_PREFIX = "art"
_numbers = count()
_ENTER = """
set -e
hostname "$HOST_NAME"
mount --make-rprivate /
mount --bind "$HOST_DISK/hosts" /etc/hosts
mount -t tmpfs tmpfs /dev/shm
case "$PROJECT" in /tmp/*)  # its own /tmp hides the others' folders there, but not the project
    mkdir -p "$HOST_DISK$PROJECT"
    mount --bind "$PROJECT" "$HOST_DISK$PROJECT";;
esac
mount --rbind "$HOST_DISK/tmp" /tmp
cd "$HOST_FOLDER"
exec "$@"
"""


def available() -> bool:
    """Whether hosts can be made here."""
    return os.geteuid() == 0 and all(shutil.which(tool) for tool in ("ip", "unshare", "mount", "hostname"))


class Host:
    """A host: a name, an address, a local disk."""

    def __init__(self, name: str, number: int, network: Network) -> None:
        self.name, self.network = name, network
        self.namespace = f"{network.prefix}-{name}"
        self.address = f"10.{network.octet}.0.{number + 1}"
        self._cable = f"v{number}"
        self.disk = network.folder / name
        self._started: list[subprocess.Popen[bytes]] = []
        (self.disk / "tmp").mkdir(parents=True)
        (self.disk / "tmp").chmod(0o1777)
        _ip(
            f"netns add {self.namespace}",
            f"link add {self._cable} netns {network.switch} type veth peer name eth0 netns {self.namespace}",
        )
        _ip(f"link set {self._cable} master br0 up", inside=network.switch)
        _ip("link set lo up", f"addr add {self.address}/24 dev eth0", "link set eth0 up", inside=self.namespace)

    def start(
        self, command: Sequence[str | Path], log: str, more: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process on this host; what it prints goes to a file beside its local disk."""
        names = [f"{host.address} {host.name}" for host in self.network.hosts.values()]
        (self.disk / "hosts").write_text("127.0.0.1 localhost\n" + "\n".join(names) + "\n")
        environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("SPARK_", "ARTERIAL_", "PYSPARK_"))
            },
            "HOST_NAME": self.name,
            "HOST_DISK": str(self.disk),
            "HOST_FOLDER": str(self.network.shared),
            "PROJECT": str(ROOT),
            "JAVA_HOME": str(find_java().home),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            **(more or {}),
        }
        enter = ["ip", "netns", "exec", self.namespace, "unshare", "--mount", "--uts", "sh", "-c", _ENTER, "sh"]
        with self.log(log).open("ab") as said:
            process = subprocess.Popen(
                [*enter, *map(str, command)], env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        self._started.append(process)
        return process

    def log(self, name: str) -> Path:
        """The file with what a process printed."""
        return self.disk / f"{name}.log"

    def cut_off(self) -> None:
        """Pull the cable: nothing comes in or goes out, and nobody hears of it."""
        _ip(f"link set {self._cable} down", inside=self.network.switch)

    def connect(self) -> None:
        """Plug the cable in again."""
        _ip(f"link set {self._cable} up", inside=self.network.switch)

    def pids(self) -> list[int]:
        """The processes that run here."""
        return _pids(self.namespace)

    def kill(self) -> None:
        """Kill all that runs here, at once."""
        for process in self._started:
            process.kill()
        while pids := self.pids():  # until none is left that was just being started
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for process in self._started:
                process.wait(60)
        for process in self._started:
            process.wait(60)


class Network:
    """Hosts by name, and the folder that they share."""

    def __init__(self) -> None:
        _remove_abandoned()
        self.prefix, self.octet = f"{_PREFIX}{os.getpid()}-{next(_numbers)}", 64 + os.getpid() % 128
        self.switch = f"{self.prefix}-switch"
        # Not below /tmp, where every host has a folder of its own.
        self.folder = Path(tempfile.mkdtemp(prefix=f"arterial-hosts-{os.getpid()}-", dir="/var/tmp"))
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        self.hosts: dict[str, Host] = {}
        _ip(f"netns add {self.switch}")
        _ip("link add br0 type bridge", "link set br0 up", inside=self.switch)

    def host(self, name: str) -> Host:
        """A host, which is made when it is first asked for."""
        if name not in self.hosts:
            self.hosts[name] = Host(name, len(self.hosts) + 1, self)
        return self.hosts[name]

    def close(self) -> None:
        """End all that runs there, and remove every trace."""
        for host in self.hosts.values():
            host.kill()
        for namespace in [*(host.namespace for host in self.hosts.values()), self.switch]:
            subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


class SparkHosts:
    """A Spark master and workers, each on a host of its own; drivers run on others.

    Commands have a Java that is quick to start, or else the one that users get.
    """

    def __init__(self, workers: int = 2, *, secret: str = "", quick: bool = True) -> None:
        self.network = Network()
        self.shared = self.network.shared
        self._secret, self._quick = secret, quick
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        try:
            for name in ("master", "driver", *(f"worker{n}" for n in range(1, workers + 1))):
                self.network.host(name)
            self.url = f"spark://{self.host('master').address}:7077"
            self._start("master", "master.Master", ["--port", "7077"])
            for n in range(1, workers + 1):
                self.add_worker(f"worker{n}")
        except BaseException:
            self.close()
            raise

    def host(self, name: str) -> Host:
        """A host by its name."""
        return self.network.host(name)

    def add_worker(self, name: str) -> None:
        """A host with a worker of one core; it registers when it is up."""
        self.network.host(name)
        self._start(name, "worker.Worker", ["--cores", "1", "--memory", "900m", "--work-dir", "/tmp/work", self.url])

    def until(self, workers: int, seconds: float = 120) -> None:
        """Wait until so many workers have registered with the master."""
        log = self.host("master").log("spark")
        until(lambda: log.read_text().count("Registering worker") >= workers, seconds, log.read_text)

    def arterial(
        self,
        host: str,
        arguments: Sequence[str | Path],
        log: str = "driver",
        more: Mapping[str, str] | None = None,
        master: str = "",
    ) -> subprocess.Popen[bytes]:
        """Start a command of arterial on a host, with this cluster as its master, or another."""
        conf = {
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            **({"spark.executor.extraJavaOptions": java_options()} if self._quick else {}),
            **({"spark.authenticate": "true", "spark.authenticate.secret": self._secret} if self._secret else {}),
            **(more or {}),
        }
        options = [part for name, value in conf.items() for part in ("--spark-conf", f"{name}={value}")]
        command = [sys.executable, "-m", "arterial", *arguments, "--master", master or self.url, *options]
        java = java_options().replace("-XX:+UseSerialGC", "")  # a driver says another one, and Java takes only one
        quick = {"JAVA_TOOL_OPTIONS": java} if self._quick else {}
        return self.host(host).start(command, log, {"ARTERIAL_ARCHIVE": "off", **quick})

    def finish(self, process: subprocess.Popen[bytes], host: str, log: str = "driver", seconds: float = 900) -> str:
        """Wait for a command that must succeed; what it printed."""
        code = process.wait(seconds)
        said = self.host(host).log(log).read_text()
        assert code == 0, f"exit code {code}: {said[-3000:]}{self._workers_said()}"
        return said

    def _workers_said(self) -> str:
        """The end of what each executor logged."""
        logs = sorted(self.network.folder.glob("*/tmp/work/*/*/stderr"))
        return "".join(f"\n{log}:\n{log.read_text()[-2000:]}" for log in logs)

    def executors(self, name: str) -> int:
        """How many executors a worker was asked to start."""
        return self.host(name).log("spark").read_text().count("Asked to launch executor")

    def close(self) -> None:
        """End everything."""
        self.network.close()

    def _start(self, name: str, daemon: str, arguments: list[str]) -> None:
        host = self.host(name)
        home = Path(pyspark.__file__).parent
        auth = f" -Dspark.authenticate=true -Dspark.authenticate.secret={self._secret}" if self._secret else ""
        environment = {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": host.address,
            "SPARK_LOCAL_DIRS": "/tmp/spark",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{java_options()} -Dspark.worker.timeout=10{auth}",
            "SPARK_NO_DAEMONIZE": "1",
        }
        command: list[str | Path] = [
            home / "bin" / "spark-class",
            f"org.apache.spark.deploy.{daemon}",
            "--host",
            host.address,
        ]
        self._daemons[name] = host.start([*command, "--webui-port", "0", *arguments], "spark", environment)
        if name == "master":
            log = host.log("spark")
            until(lambda: "I have been elected leader" in log.read_text(), 120, log.read_text)


def java_options() -> str:
    """Small and quick to start: with the archive of classes, if there is one."""
    return " ".join(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *Archive(find_java(), spark_home()).options()])


def until(true: object, seconds: float, otherwise: object) -> None:
    patience = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < patience, otherwise()  # type: ignore[operator]
        time.sleep(0.1)


def _pids(namespace: str) -> list[int]:
    """The processes of a namespace."""
    listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    return [int(pid) for pid in listed.stdout.split()]


def _ip(*commands: str, inside: str = "") -> None:
    within = ["-netns", inside] if inside else []
    for command in commands:
        done = subprocess.run(["ip", *within, *command.split()], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"ip {command}: {done.stderr}"


def _remove_abandoned() -> None:
    """Remove the namespaces and folders of tests that were killed."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout.splitlines()
    for namespace in (line.split()[0] for line in listed if line.startswith(_PREFIX)):
        owner = namespace.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            for pid in _pids(namespace):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)
    for folder in Path("/var/tmp").glob("arterial-hosts-*-*"):
        if not Path(f"/proc/{folder.name.split('-')[2]}").exists():
            shutil.rmtree(folder, ignore_errors=True)
