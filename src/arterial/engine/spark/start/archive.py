"""Java's classes of Spark in an archive that Java maps instead of loading them one by one (decision 31).

Starting Spark and running a first query loads some 20,000 classes, most of what Java does then. The first run on a
machine has Java note which; when it is over, a process in the background makes an archive of them in the user's cache,
which takes a minute, and all later runs use it. Java itself ignores an archive that does not match its version or the
jars. `ARTERIAL_ARCHIVE=off` neither uses nor makes one, `ARTERIAL_ARCHIVE=use` makes none.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from arterial.engine.host.step_back import LOWEST, step_back
from arterial.engine.spark.start.java import Java, cache_folder
from arterial.storage.place import PRIVATE, put_in_place, remove
from arterial.storage.private import not_private

# A run that went as far as to plan a stateful step has loaded nearly all that others will load.
_TELLING = b"TransformWithState"
_PATIENCE_SECONDS = 120.0


class Archive:
    """The archive for a Java and a Spark: it is there, or a run can note what belongs in it."""

    def __init__(self, java: Java, spark_home: Path) -> None:
        jars = spark_home / "jars"
        known = (str(java.home.resolve()), str(jars.resolve()), jars.stat().st_mtime_ns if jars.exists() else 0)
        key = hashlib.sha256(repr(known).encode()).hexdigest()[:12]
        self.path = cache_folder() / "classes" / f"spark-{version('pyspark')}-java-{java.version}-{key}.jsa"
        self.java: subprocess.Popen[bytes] | None = None
        """The Java that got the options."""
        self.used = False
        """Whether the options have Java use it."""
        self._mode = os.environ.get("ARTERIAL_ARCHIVE", "")

    @property
    def usable(self) -> bool:
        """Whether it is there as it was made, and nobody but this user could have put it there."""
        try:
            whole = self.path.stat().st_size == int(_size_of(self.path).read_text())
            return whole and not any(not_private(path) for path in (self.path, self.path.parent))
        except (OSError, ValueError):
            return False

    def options(self) -> list[str]:
        """What to say to Java: use it, note what belongs in it, or nothing."""
        if self._mode == "off" or " " in str(self.path):
            return []
        if self.usable:
            self.used = True
            # Without the latter two, Java would say on standard output why it does not use it.
            return [f"-XX:SharedArchiveFile={self.path}", "-Xlog:disable", "-Xlog:all=error:stderr"]
        if self._mode == "use":
            return []
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            return []
        atexit.register(self._make)
        return [f"-XX:DumpLoadedClassList={self.noted}"]

    @property
    def noted(self) -> Path:
        """The list of classes that the Java of this process loads."""
        return self.path.with_suffix(f".{socket.gethostname()}-{os.getpid()}.classes")

    def _make(self) -> None:
        """Have the archive made of what Java noted, in a process that outlives this one."""
        pid = self.java.pid if self.java else 0
        arguments = [sys.executable, "-m", __name__, str(pid), str(self.noted), str(self.path), *_said_to_java(pid)]
        with suppress(OSError):
            subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )


def make(pid: int, noted: Path, target: Path, java: Sequence[str]) -> None:
    """Make the archive of the classes that a Java noted, when that is over; one process at a time."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    draft = target.with_suffix(f".{os.urandom(8).hex()}.draft")
    try:
        with target.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not java or _TELLING not in noted.read_bytes():
                return
            options = [f"-XX:SharedClassListFile={noted}", f"-XX:SharedArchiveFile={draft}", "-Xlog:disable"]
            command = [java[0], "-Xshare:dump", *options, *java[1:]]
            # The folder that the run was started in may be gone, without which Java does not start.
            subprocess.run(command, check=True, timeout=900, cwd=target.parent)
            draft.chmod(0o600)
            with draft.open("rb") as archive:
                os.fsync(archive.fileno())
            put_in_place(_size_of(target), str(draft.stat().st_size), mode=PRIVATE)
            draft.rename(target)
    except (OSError, subprocess.SubprocessError):
        return  # the next run tries again
    finally:
        remove(draft)
        remove(noted)


def _size_of(archive: Path) -> Path:
    """The file with the size of an archive: Java would use what is left of one that was cut off, and crash."""
    return archive.with_suffix(".size")


def _said_to_java(pid: int) -> list[str]:
    """The `java` of a process, and those of its options that an archive depends on: collector, modules, class path."""
    try:
        said = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        path = said[said.index("-cp") + 1]
    except (OSError, ValueError, IndexError):
        return []
    kept = [part for part in said[1:] if part.startswith(("--add-", "-XX:+Use", "-XX:+Ignore"))]
    return [said[0], *kept, "-XX:TieredStopAtLevel=1", "-cp", path]


if __name__ == "__main__":
    step_back(LOWEST)
    make(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
