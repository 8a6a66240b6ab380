"""The contents of a connection point's table: the file that says which files count, replaced whole with every step.

A reader that has read it knows a consistent state of the table: whole steps, and each tuple in one file. `point.json`
beside it says what the table is: its columns, its time, its id.
"""

from __future__ import annotations

import json
import time as clock
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.schema import Field, Schema, Type
from arterial.network.train import BEGIN
from arterial.storage.place import put_in_place
from arterial.storage.remote import stamp

POINTS = "points"
"""The folder of a checkpoint in which connection points are kept."""
CONTENTS = "contents.json"
POINT = "point.json"

Range = tuple[Any, Any]
"""The least and the greatest value of a column, as JSON has them: times in the unit of their column."""


@dataclass(frozen=True)
class TableFile:
    """A file of the table: the part of a step and slot, or several merged."""

    name: str
    first: int
    last: int
    tier: int
    rows: int
    bytes: int
    earliest: int
    latest: int
    """The times of its first and last tuple."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """The range of each column of the storage key; a column with nulls only is not there."""


@dataclass(frozen=True)
class Contents:
    """What a table holds after a step."""

    step: int = 0
    """The last step that is in it."""
    through: int = BEGIN
    """It is complete through this time, but for what is older than the retention."""
    files: tuple[TableFile, ...] = ()
    """Those that count, in the order of steps and slots."""
    lost: int = BEGIN
    """The time of the last tuple that the retention has removed; what is later is whole."""
    lost_rows: int = 0
    """How many it has removed."""
    leaving: tuple[tuple[str, float], ...] = ()
    """Files that no longer count, with the time at which they stopped to; they are deleted some time later."""

    def covering(self, after: int, through: int) -> list[TableFile]:
        """The files with tuples after a time, through another."""
        return [file for file in self.files if file.rows and file.latest > after and file.earliest <= through]


@dataclass(frozen=True)
class Point:
    """What a table is; it stays the same while the run goes on."""

    id: str
    """Unique for each table that was ever begun, so that a token of another one is recognised; up to a dot it stays the
    same when a run begins a table again with the same tuples."""
    name: str
    schema: Schema
    time: str
    signed: bool
    storage_key: tuple[str, ...]
    retention: int


def read_contents(folder: Path) -> Contents:
    """What counts now; nothing before the first step."""
    try:
        said = json.loads((folder / CONTENTS).read_text())
        files = tuple(TableFile(**{**file, "ranges": _ranges(file["ranges"])}) for file in said.pop("files"))
        leaving = tuple((name, at) for name, at in said.pop("leaving"))
        return Contents(**said, files=files, leaving=leaving)
    except FileNotFoundError:
        return Contents()
    except (ValueError, KeyError, TypeError) as broken:
        raise RunError(f"{folder / CONTENTS}: is damaged ({broken}). Restore it from a copy.") from None


def write_contents(folder: Path, contents: Contents) -> None:
    """Let this count from now on."""
    put_in_place(folder / CONTENTS, json.dumps(asdict(contents), separators=(",", ":")))


def stamp_of(folder: Path) -> tuple[int, ...] | None:
    """By what it is seen that the contents were replaced; None before the first step."""
    try:
        return stamp(folder / CONTENTS)
    except FileNotFoundError:
        return None


def read_point(folder: Path) -> Point | None:
    """What the table in a folder is; None if there is none."""
    try:
        said = json.loads((folder / POINT).read_text())
        schema = Schema(tuple(Field(name, Type(kind)) for name, kind in said.pop("schema")))
        return Point(**{**said, "schema": schema, "storage_key": tuple(said["storage_key"])})
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError) as broken:
        raise RunError(f"{folder / POINT}: is damaged ({broken}). Restore it from a copy.") from None


def begin_point(folder: Path, name: str, stream: Stream, storage_key: Sequence[str], retention: int) -> Point:
    """Say what the table in a folder is; one that is there goes on if its columns are the same."""
    before = read_point(folder)
    now = (stream.schema, stream.time, stream.signed)
    if before is not None and (before.schema, before.time, before.signed) != now:
        raise RunError(
            f"connection point {name!r}: {folder} holds tuples of {before.schema}, by {before.time}; this network's "
            f"are {stream.schema}, by {stream.time}. Give the connection point another name"
        )
    _check_both(folder, before)
    same = before.id if before else uuid.uuid4().hex
    point = Point(same, name, stream.schema, stream.time, stream.signed, tuple(storage_key), retention)
    if point != before:
        _write_point(folder, point)
    return point


def begin_again(folder: Path, *, whole: bool) -> None:
    """Let a table that is there begin empty. It is `whole` if the next step gives it its history again; otherwise it is
    another one, and whoever has read the old one gets an error.
    """
    point, contents = read_point(folder), read_contents(folder)
    if point is None:
        return
    now = clock.time()
    leaving = (*contents.leaving, *((file.name, now) for file in contents.files))
    write_contents(folder, Contents(contents.step, leaving=leaving))
    new = uuid.uuid4().hex
    _write_point(folder, replace(point, id=f"{origin(point.id)}.{new[:8]}" if whole else new))


def origin(id: str) -> str:
    """What the id of a table has in common with those of the tables that the same run had in its place."""
    return id.partition(".")[0]


def _write_point(folder: Path, point: Point) -> None:
    said = {**asdict(point), "schema": [[one.name, one.type.value] for one in point.schema]}
    put_in_place(folder / POINT, json.dumps(said, indent=1))


def _check_both(folder: Path, point: Point | None) -> None:
    """The contents are written first, and a table that is there has both files; with one of them it has lost tuples."""
    is_there = (folder / CONTENTS).exists()
    if point is None and not is_there:
        write_contents(folder, Contents())
    elif (point is not None) != is_there and (point is not None or read_contents(folder) != Contents()):
        missing = folder / (POINT if point is None else CONTENTS)
        raise RunError(
            f"the checkpoint is damaged: {missing} is missing. Restore it from a copy, or delete the folder {folder}: "
            "the table then begins empty."
        )


def _ranges(said: Mapping[str, Sequence[Any]]) -> dict[str, Range]:
    return {name: (least, greatest) for name, (least, greatest) in said.items()}
