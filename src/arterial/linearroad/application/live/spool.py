"""The spool of live input: clean events on disk in files of whole seconds, so that what was sent can be read again.

A file `seconds-FIRST-LAST-EVENTS.arrow` holds every event of the seconds FIRST through LAST, in the order of time; the
next file begins where it ends. It is put in place whole, and never changed. So what is in the spool says how far the
input has come; with each file goes the account of the input up to there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from arterial.connectors.live.spool import put_rows
from arterial.errors import DataError
from arterial.linearroad.data.event_files import reading, writing
from arterial.linearroad.formats.events import EVENT_SCHEMA, POSITION_REPORT
from arterial.storage.damage import read_json
from arterial.storage.place import make_folder, put_in_place, refresh_listing, remove, remove_drafts

END_FILE = "end"
"""The file that says that no more will come; in it, the second before which the input ended."""
POSITION_SUFFIX = ".position"
ACCOUNT = b"arterial"

# A step that Spark runs again lies right behind the position; a minute is far more than that.
KEPT_SECONDS = 60


@dataclass(frozen=True)
class SpoolFile:
    """A file of the spool: its first and last second, its number of events, and how many of them are reports."""

    path: Path
    first: int
    last: int
    events: int
    reports: int

    @property
    def requests(self) -> int:
        """How many of its events are requests."""
        return self.events - self.reports


@dataclass(frozen=True)
class Spooled:
    """What is in a spool at some moment."""

    files: tuple[SpoolFile, ...]
    end: int | None
    """The second before which the input ended, once it did."""

    @property
    def until(self) -> int:
        """Every second before this one is complete."""
        return self.files[-1].last + 1 if self.files else 0


@dataclass
class Account:
    """What became of the input: events spooled, lines set aside by reason, lines skipped because they came again."""

    events: int = 0
    skipped: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    rejects_bytes: int = 0
    """How long the file of lines set aside is."""
    xways: set[int] = field(default_factory=set)

    def to_json(self) -> bytes:
        """As text."""
        return json.dumps({**vars(self), "xways": sorted(self.xways)}).encode()

    @classmethod
    def of_json(cls, text: bytes) -> Account:
        """From text."""
        said: dict[str, Any] = json.loads(text)
        return cls(**{**said, "rejected": Counter(said["rejected"]), "xways": set(said["xways"])})


class Spool:
    """The writer's side of a spool, of which there is one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with writing(folder):
            make_folder(folder)
            remove_drafts(folder)
        now = look(folder)
        self.until, self.ended = now.until, now.end is not None
        self.account = _account_of(now.files[-1]) if now.files else Account()
        self._files = list(now.files)

    def write(self, events: pa.Table, until: int) -> None:
        """Add the seconds up to `until`; `events` are all of theirs, in the order of time."""
        assert until > self.until
        self.account.events += events.num_rows
        reports = events["type"].to_numpy() == POSITION_REPORT
        self.account.xways.update(np.unique(events["xway"].to_numpy()[reports]).tolist())
        counted = (events.num_rows, int(reports.sum()))
        path = self.folder / f"seconds-{self.until:010d}-{until - 1:010d}-{counted[0]}-{counted[1]}.arrow"
        with writing(path):
            put_rows(path, events, EVENT_SCHEMA.with_metadata({ACCOUNT: self.account.to_json()}))
        self._files.append(SpoolFile(path, self.until, until - 1, *counted))
        self.until = until

    def end(self) -> None:
        """Say that no more will come."""
        with writing(self.folder):
            put_in_place(self.folder / END_FILE, str(self.until))
        self.ended = True

    def trim(self) -> None:
        """Remove the files that all feeds are done with; the last one stays, for its account."""
        done = position(self.folder) - KEPT_SECONDS
        with writing(self.folder):
            while len(self._files) > 1 and self._files[0].last < done:
                remove(self._files.pop(0).path)

    def clear(self) -> None:
        """Remove the files of a run that is over."""
        for file in self._files:
            remove(file.path)
        self._files = []

    @property
    def ahead(self) -> int:
        """How many events lie before the feeds."""
        reached = position(self.folder)
        return sum(file.events for file in self._files if file.first >= reached)


def look(folder: Path) -> Spooled:
    """What is in a spool now."""
    end = folder / END_FILE
    with reading(folder):
        # The mark of the end is put in place after the last file, so it is looked at before them.
        ended = int(read_json(end)) if end.exists() else None
        paths = sorted(folder.glob("seconds-*.arrow"))
    files = []
    for path in paths:
        first, last, events, *reports = (int(number) for number in path.stem.split("-")[1:])
        # The name of a file of version 0.1 does not say how many are reports: nearly all are.
        files.append(SpoolFile(path, first, last, events, *reports or (events,)))
    return Spooled(tuple(files), ended)


@lru_cache(maxsize=2)
def look_at(folder: Path, now: float) -> Spooled:
    """What is in a spool at a moment: the same for all who ask about that moment."""
    del now
    return look(folder)


def read_spool(folder: Path, start: int, stop: int) -> pa.Table:
    """The events of the seconds [start, stop), in the order of time. Raises unless all of them are there."""
    pieces = []
    files, reached = _from(folder, start)
    if reached < stop:  # the driver may have written more, on another host, just now
        refresh_listing(folder)
        files, reached = _from(folder, start)
    if reached < stop:
        raise DataError(
            f"{folder}: the spool has no second {reached} of the seconds {start} to {stop - 1} that were asked for; "
            "restore its files, or begin again with --force"
        )
    for file in files:
        if file.events and file.first < stop and file.last >= start:
            with reading(file.path), pa.memory_map(str(file.path)) as mapped:
                events = pa.ipc.open_file(mapped).read_all().replace_schema_metadata(None)
            if file.first < start or file.last >= stop:
                first, last = np.searchsorted(events["time"].to_numpy(), [start, stop])
                events = events.slice(first, last - first)
            pieces.append(events)
    return pa.concat_tables(pieces) if pieces else EVENT_SCHEMA.empty_table()


def _from(folder: Path, start: int) -> tuple[tuple[SpoolFile, ...], int]:
    """The files, and the second up to which they are complete from another one on."""
    files, reached = look(folder).files, start
    for file in files:
        if file.first <= reached <= file.last:
            reached = file.last + 1
    return files, reached


def note_position(folder: Path, reader: str, second: int) -> None:
    """Leave word that a feed has read, for good, everything before a second."""
    path = folder / f"{reader}{POSITION_SUFFIX}"
    with writing(path):
        put_in_place(path, str(second))


def position(folder: Path) -> int:
    """The second before which all feeds are done."""
    return min((int(read_json(path)) for path in folder.glob(f"*{POSITION_SUFFIX}")), default=0)


def files_from(files: Iterable[SpoolFile], second: int) -> Iterator[SpoolFile]:
    """The files that end at this second or later."""
    return (file for file in files if file.last >= second)


def _account_of(file: SpoolFile) -> Account:
    with reading(file.path), pa.memory_map(str(file.path)) as mapped:
        return Account.of_json(pa.ipc.open_file(mapped).schema.metadata[ACCOUNT])
