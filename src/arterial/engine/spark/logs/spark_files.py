"""Spark's own files in a checkpoint, in a durable run: synced by the driver, because Spark does not (decision 27)."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

from arterial.engine.spark.logs.damage import check_log, numbers_in
from arterial.errors import RunError
from arterial.storage.disk import disk
from arterial.storage.place import remove

_MAGIC = b"crc\x00"


class SparkFiles:
    """Spark's part of a checkpoint; remembers what is synced already. Files there are never changed."""

    def __init__(self, spark: Path) -> None:
        self._spark = spark
        self._synced: dict[str, set[str]] = {}

    def sync_logs(self) -> None:
        """When a step begins, before a task of it runs: its offset, and the commit of the step before."""
        if not self._synced:
            disk().sync(self._spark.parent)
        self._sync(self._spark, deep=False)
        for log in ("commits", "offsets"):  # no offset without the commit before it
            self._sync(self._spark / log, deep=False)

    def sync_state(self) -> None:
        """When the tasks of a step are done, before Spark commits it: the state that they left."""
        self._sync(self._spark / "state", deep=True)

    def _sync(self, folder: Path, *, deep: bool) -> None:
        """Sync what is new in a folder, then its names."""
        if not folder.is_dir():
            return
        known = self._synced.get(str(folder), set())
        there: set[str] = set()
        for entry in os.scandir(folder):
            with suppress(FileNotFoundError):  # a draft that has its name by now, or an old file that Spark removed
                if entry.is_dir():
                    there.add(entry.name)
                    if deep:
                        self._sync(Path(entry.path), deep=True)
                elif not entry.name.endswith(".tmp"):
                    if entry.name not in known:
                        disk().sync(Path(entry.path))
                    there.add(entry.name)
        if there - known:
            disk().sync(folder)
        self._synced[str(folder)] = there


def repair(spark: Path) -> None:
    """Remove what a power cut left torn of the files that a durable run had not synced yet.

    At the end of the logs: no task of a step runs before its offset and the commit of the step before are synced. So an
    offset that is torn is of a step that did nothing, and a step whose commit is torn is run again. Snapshots of state,
    which Spark writes beside the steps: it then takes an earlier one, and more of the changes.
    """
    offsets, commits = numbers_in(spark / "offsets"), numbers_in(spark / "commits")
    if not is_whole_log(spark / "metadata", lines=False) and not commits:
        _remove(spark / "metadata")
        for number in offsets:
            _remove(spark / "offsets" / str(number))
        return
    done = commits[-1] if commits else -1
    torn = done >= 0 and not is_whole_log(spark / "commits" / str(done))
    for number in reversed(offsets):
        if number > done + (not torn) or (number > done and not is_whole_log(spark / "offsets" / str(number))):
            _remove(spark / "offsets" / str(number))
    if torn:
        _remove(spark / "commits" / str(done))
    for snapshot in sorted(spark.glob("state/*/*/*.zip")):
        if is_torn(snapshot) or any(map(is_torn, _tables_of(snapshot))):
            _remove(snapshot.with_name(f"{snapshot.name}.crc"))
            _remove(snapshot)


def is_torn(path: Path) -> bool:
    """Whether a file is missing, or has other content than the checksums say that Hadoop keeps beside it."""
    sums = _sums_of(path)
    if not path.is_file() or not sums.is_file():
        return True
    said = sums.read_bytes()
    if said[:4] != _MAGIC:
        return True
    size = int.from_bytes(said[4:8], "big")
    content = path.read_bytes()
    expected = [said[at : at + 4] for at in range(8, len(said), 4)]
    found = [zlib.crc32(content[at : at + size]).to_bytes(4, "big") for at in range(0, len(content), size or 1)]
    return expected != found


def is_whole_log(path: Path, *, lines: bool = True) -> bool:
    """Whether a file of a log is there and whole."""
    try:
        check_log(path, lines=lines)
    except RunError:
        return False
    return not _sums_of(path).is_file() or not is_torn(path)


def _remove(path: Path) -> None:
    for one in (path, _sums_of(path)):
        remove(one)


def _tables_of(snapshot: Path) -> list[Path]:
    """The files of RocksDB that a snapshot names."""
    with zipfile.ZipFile(snapshot) as content:
        said = json.loads(content.read("metadata").partition(b"\n")[2])
    return [snapshot.parent / "SSTs" / file["dfsSstFileName"] for file in said["sstFiles"]]


def _sums_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")
