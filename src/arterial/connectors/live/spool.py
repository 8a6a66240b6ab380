"""The spool of live input: what arrived, on disk in files that never change, so that a step can be read again.

A file holds rows in the order of their time, then those that came too late, and in its name what a reader must know to
plan. It is put in place whole. With each file goes the account of the input up to there, as JSON. One process writes;
readers leave word of how far they have come, and the writer removes what none of them needs any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from arterial.errors import DataError
from arterial.network.train import BEGIN, END
from arterial.storage.appended import writing
from arterial.storage.damage import damaged, read_json
from arterial.storage.mapped import map_file
from arterial.storage.place import make_folder, put_in_place, refresh_listing, remove, remove_drafts

REMOVED = "removed.json"
_ACCOUNT = b"arterial"
_POSITION = ".position"


@dataclass(frozen=True)
class SpoolFile:
    """A file of the spool, the `number`-th: its rows have times from `low` to `high`; complete is all `through`."""

    path: Path
    number: int
    low: int
    high: int
    through: int
    rows: int
    late: int


@dataclass(frozen=True)
class Reached:
    """How far a reader has come: all files up to a number were looked at, and all rows through a time taken."""

    number: int
    through: int

    def needs(self, file: SpoolFile) -> bool:
        """Whether a file still has something for it."""
        return file.number > self.number or (file.rows > 0 and file.high > self.through)


class Spool:
    """The writer's side of a spool, of which there is one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with writing(folder):
            make_folder(folder)
            remove_drafts(folder)
        self.files = list(look(folder))
        self.account: dict[str, Any] = account_of(self.files[-1]) if self.files else {}
        self._sizes = {file.number: file.path.stat().st_size for file in self.files}

    @property
    def through(self) -> int:
        """Every row up to this time is in the spool."""
        return self.files[-1].through if self.files else BEGIN

    @property
    def ended(self) -> bool:
        """Whether no more will come."""
        return self.through == END

    @property
    def size(self) -> int:
        """How many bytes its files have."""
        return sum(self._sizes.values())

    def write(self, rows: pa.Table, through: int, *, low: int = END, high: int = BEGIN, late: int = 0) -> None:
        """Add a file; the last `late` rows came too late, the others are in the order of their time, low to high."""
        number = self.files[-1].number + 1 if self.files else 0
        in_time = rows.num_rows - late
        path = self.folder / f"{number:09d}_{low}_{high}_{through}_{in_time}_{late}.arrow"
        with writing(path):
            put_rows(path, rows, rows.schema.with_metadata({_ACCOUNT: json.dumps(self.account).encode()}))
            self._sizes[number] = path.stat().st_size
        self.files.append(SpoolFile(path, number, low, high, through, in_time, late))

    def trim(self) -> None:
        """Remove the files that no reader needs; the last one stays, for its account."""
        reached = reached_by_all(self.folder)
        needed = [file for file in self.files[:-1] if reached is None or reached.needs(file)]
        if len(needed) < len(self.files) - 1:
            self._keep_only([*needed, self.files[-1]])

    def clear(self) -> None:
        """Remove all files but the last: the run is over."""
        self._keep_only(self.files[-1:])

    def _keep_only(self, files: list[SpoolFile]) -> None:
        if not files:
            return
        kept = {file.number for file in files}
        with writing(self.folder):
            # Before the files go, so that a reader who misses one finds the reason.
            said = {"before": files[-1].number, "kept": sorted(kept)}
            put_in_place(self.folder / REMOVED, json.dumps(said))
            for file in self.files:
                if file.number not in kept:
                    remove(file.path)
                    del self._sizes[file.number]
        self.files = files


def look(folder: Path) -> tuple[SpoolFile, ...]:
    """The files that are in a spool now, in the order of their numbers."""
    found = []
    for path in sorted(folder.glob("*.arrow")):
        number, low, high, through, rows, late = map(int, path.stem.split("_"))
        found.append(SpoolFile(path, number, low, high, through, rows, late))
    return tuple(found)


def put_rows(path: Path, rows: pa.Table, schema: pa.Schema) -> None:
    """Put a file with rows in place; what the schema has beside columns goes with them."""

    def write(file: BinaryIO) -> None:
        with pa.ipc.new_file(file, schema) as writer:
            writer.write_table(rows.replace_schema_metadata(schema.metadata))

    put_in_place(path, write)


def read_rows(folder: Path, time: str, after: int, through: int, last: int | None = None) -> pa.Table | None:
    """The rows with times above `after` up to `through`, of the files up to the number `last`; None if there are none.

    In the order of time, and for equal times in that of arrival. Raises if not all that was asked for is there.
    """
    pieces = []
    for file in _whole(folder, through, last):
        if file.rows and file.low <= through and file.high > after:
            rows = _open(file).slice(0, file.rows)
            if file.low <= after or file.high > through:
                first, end = np.searchsorted(_instants(rows, time), [after, through], side="right")
                rows = rows.slice(first, end - first)
            pieces.append(rows)
    if not pieces:
        return None
    together = pa.concat_tables(pieces)
    times = _instants(together, time)
    if (times[1:] < times[:-1]).any():
        together = together.take(np.argsort(times, kind="stable"))
    return together


def read_late(folder: Path, after: int, last: int) -> pa.Table | None:
    """The rows that came too late, of the files above the number `after` up to `last`; None if there are none."""
    pieces = [_open(f).slice(f.rows) for f in _whole(folder, BEGIN, last) if f.late and after < f.number <= last]
    return pa.concat_tables(pieces) if pieces else None


def account_of(file: SpoolFile) -> dict[str, Any]:
    """The account of the input up to the end of a file."""
    try:
        account: dict[str, Any] = json.loads(pa.ipc.open_file(map_file(file.path)).schema.metadata[_ACCOUNT])
    except (OSError, pa.ArrowInvalid, ValueError, KeyError, TypeError) as fault:
        raise damaged(file.path, str(fault).splitlines()[0]) from None
    return account


def note_reached(folder: Path, reader: str, reached: Reached) -> None:
    """Leave word of how far a reader has come, for good."""
    path = folder / f"{reader}{_POSITION}"
    with writing(path):
        put_in_place(path, json.dumps([reached.number, reached.through]))


def reached_by_all(folder: Path) -> Reached | None:
    """How far all readers have come; None if none has said so."""
    notes = [read_json(path) for path in folder.glob(f"*{_POSITION}")]
    return Reached(min(n for n, _ in notes), min(t for _, t in notes)) if notes else None


def _whole(folder: Path, through: int, last: int | None) -> Iterable[SpoolFile]:
    """The files up to a number, or that are there; the driver may have written them on another host just now."""
    try:
        return _listed(folder, through, last)
    except DataError:
        refresh_listing(folder)
        return _listed(folder, through, last)


def _listed(folder: Path, through: int, last: int | None) -> Iterable[SpoolFile]:
    """The files up to a number, or that are there; raises if one is missing or they do not reach a time."""
    files = [file for file in look(folder) if last is None or file.number <= last]
    there = {file.number for file in files}
    removed = folder / REMOVED
    # Read after the files were looked for: what went meanwhile is named in it.
    said: dict[str, Any] = read_json(removed) if removed.exists() else {"before": 0, "kept": []}
    end = last if last is not None else max(there, default=-1)
    wanted = {*range(said["before"], end + 1), *(number for number in said["kept"] if number <= end)}
    if missing := sorted(wanted - there):
        raise DataError(
            f"{folder}: the spool's file {missing[0]:09d} is missing; a step cannot be read again without it. Restore "
            "it, or begin again with another checkpoint"
        )
    reached = max((file.through for file in files), default=BEGIN)
    if last is None and reached < through:
        raise DataError(
            f"{folder}: the spool is complete through {reached}, but {through} was asked for; restore its files, or "
            "begin again with another checkpoint"
        )
    return files


def _open(file: SpoolFile) -> pa.Table:
    try:
        rows = pa.ipc.open_file(map_file(file.path)).read_all().replace_schema_metadata(None)
    except (OSError, pa.ArrowInvalid) as fault:
        raise DataError(f"{file.path}: cannot be read: {str(fault).splitlines()[0]}") from None
    if rows.num_rows != file.rows + file.late:
        raise DataError(f"{file.path}: has {rows.num_rows} rows; expected {file.rows + file.late}, as its name says")
    return rows


def _instants(rows: pa.Table, time: str) -> Any:
    times = rows[time].combine_chunks()
    if pa.types.is_timestamp(times.type):
        times = times.cast(pa.int64())
    return times.to_numpy(zero_copy_only=False)
