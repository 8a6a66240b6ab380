"""A source for `net.loaded_relation`: a table outside, complete from the beginning of time, and looked at again.

The position is the number of a version. Each version is kept in the checkpoint before a step may refer to it, so that a
step that is run again loads the same rows, whatever has become of the table. The table is read on the driver, by a
thread of its own: a slow one holds up no step, and a password leaves the driver's memory for nowhere.
"""

from __future__ import annotations

import sys
import time
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any, ClassVar

import polars as pl

from arterial.connectors.source import Ask, Part, Progress, Source
from arterial.errors import ArterialError, DataError
from arterial.network.duration import Duration, units
from arterial.network.keys.slots import pieces
from arterial.network.relation import DELETED, LOADED, loaded_columns
from arterial.network.schema import FIRST_MICROSECOND, Schema, Type
from arterial.network.train import BEGIN, END, FURTHEST
from arterial.storage.damage import read_parquet
from arterial.storage.place import make_folder, put_in_place, remove
from arterial.storage.remote import path_of, stamp

"""The beginning of the year 1, before which no timestamp is."""

_SHORTEST_WAIT = 0.001
"""Seconds between two looks, whatever `refresh` says: a thread that never rests takes the time of all others."""


@dataclass
class Looks:
    """What the driver found when it looked at a table again."""

    mark: object = None
    loaded: float = 0.0
    failures: int = 0
    reason: str = ""
    """Why the last look failed; empty once one succeeds."""
    last_failure: str = ""
    done: Event = field(default_factory=Event)


@dataclass(frozen=True)
class TableSource(Source):
    """A table outside, as the rows of a loaded relation. A subclass says how it is read (`load`).

    - The rows that the run begins with hold from the beginning of time: no tuple is read before they are loaded.
    - With `refresh` the table is looked at again so often. If it changed, its new rows hold from the first instant that
      no step had read when that was seen. If it cannot be read then, that is reported, and the old rows hold.
    - It ends with the other sources.
    """

    refresh: Duration | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    columns: Schema | None = field(default=None, kw_only=True)
    kind: Type = field(default=Type.INT64, kw_only=True)
    key: tuple[str, ...] = field(default=(), kw_only=True)
    folder: str = field(default="", kw_only=True)
    _looks: Looks = field(default_factory=Looks, kw_only=True, compare=False, repr=False)
    _planned: dict[str, Any] = field(default_factory=dict, kw_only=True, compare=False, repr=False)

    keeps_up: ClassVar[bool] = True

    @abstractmethod
    def load(self, schema: Schema) -> pl.DataFrame:
        """All rows, with these columns. Raises `DataError` if it cannot be read. Runs on the driver."""

    def mark(self) -> object:
        """What differs if the table may have changed; cheap. None: load it to know."""
        return None

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> TableSource:
        """Read it once, so that what is wrong with it is said at the start."""
        found = loaded_columns(schema, time)
        if found is None:
            raise DataError(
                f"source {name!r}: a {type(self).__name__} is for a relation; draw it with net.loaded_relation(…)"
            )
        columns, key = found
        if self.refresh is not None:
            units(self.refresh, Type.TIMESTAMP, "refresh")
        kept = folder / "sources" / name
        make_folder(kept)
        bound = replace(self, name=name, columns=columns, key=key, kind=schema[time], folder=str(kept))
        bound = replace(bound, _looks=Looks(bound.mark()), _planned={})
        bound._keep(bound.load(columns))
        return bound

    def start(self) -> None:
        """Begin to look again."""
        if self.refresh is not None:
            Thread(target=self._look_again, name=f"arterial-table-{self.name}", daemon=True).start()

    def close(self, *, ended: bool) -> None:
        """Look no more."""
        self._looks.done.set()

    @property
    def notices(self) -> tuple[str, ...]:
        """How often it could not be read again."""
        looks = self._looks
        if not looks.failures:
            return ()
        still = "; the rows loaded before held until the end" if looks.reason else "; it was read again since"
        return (
            f"source {self.name!r}: {looks.failures:,} look(s) at it failed, the last one: {looks.last_failure}{still}",
        )

    def begin(self) -> Progress:
        """Before the first version."""
        return Progress({"version": 0, "at": BEGIN})

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """As far as the others go; with a new version, if there is one."""
        until = END if ask.until is None else ask.until
        if before.through == END:
            return before
        version = int(before.position["version"])
        rows = self._changed(version)
        if rows is not None:
            at = max(before.through + 1, first_instant(self.kind))
            put_in_place(self._version(version + 1), rows.write_parquet)
            # The step before is committed, so only this version and the next can be asked for again.
            remove(self._version(version - 1))
            return Progress({"version": version + 1, "at": at}, max(until, at))
        return Progress(before.position, until) if until > before.through else before

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """The rows that are new or other than before, and the keys that are gone."""
        assert self.columns is not None
        same = before.position["version"] == after.position["version"]  # most steps: nothing is read for them
        old, new = (self.columns.empty() if same else self._rows(progress) for progress in (before, after))
        names, keys = list(self.columns.names), list(self.key)
        stamp = pl.lit(int(after.position["at"]), pl.Int64).cast(self.kind.polars).alias(LOADED)
        came = new.join(old, on=names, how="anti", nulls_equal=True).with_columns(stamp, pl.lit(False).alias(DELETED))
        gone = old.head(0 if new.height else 1) if not keys else old.join(new, on=keys, how="anti", nulls_equal=True)
        gone = gone.with_columns(stamp, pl.lit(True).alias(DELETED))
        order = [*keys, DELETED, *(name for name in names if name not in keys), LOADED]
        return pieces(pl.concat([gone, came]).select(order), part.count)[part.index]

    def look(self) -> None:
        """Read the table again if it may have changed; report what is wrong with it. Runs on the driver."""
        assert self.columns is not None
        looks = self._looks
        try:
            mark = self.mark()
            if mark is None or mark != looks.mark:
                rows = self.load(self.columns)
                if self.mark() != mark:
                    return  # it is being written; look again
                self._keep(rows)
                looks.mark = mark
        except Exception as trouble:  # of the user's `load` too; a thread that dies here would be silence
            self._report(str(trouble) if isinstance(trouble, ArterialError | OSError) else repr(trouble))
            return
        if looks.reason:
            looks.reason = ""
            sys.stderr.write(f"source {self.name!r}: it can be read again\n")

    def _look_again(self) -> None:
        assert self.refresh is not None
        seconds = max(units(self.refresh, Type.TIMESTAMP, "refresh") / 1e6, _SHORTEST_WAIT)
        while not self._looks.done.wait(seconds):
            self.look()

    def _report(self, reason: str) -> None:
        """Say once that it cannot be read, until it can be again."""
        looks = self._looks
        if looks.done.is_set():
            return
        now, since = (datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S UTC") for at in (time.time(), looks.loaded))
        looks.failures += 1
        looks.last_failure = f"{now}: {reason}"
        if not looks.reason:
            sys.stderr.write(
                f"source {self.name!r}: at {now} it could not be read again: {reason}. The rows loaded at {since} "
                f"hold; it is tried again every {self.refresh}\n"
            )
        looks.reason = reason

    def _keep(self, rows: pl.DataFrame) -> None:
        self._looks.loaded = time.time()
        put_in_place(self._latest, rows.write_parquet)

    def _changed(self, version: int) -> pl.DataFrame | None:
        """The rows that were read last, if they are others than those of a version and may be taken."""
        if version > 0 and self.refresh is None:
            return None
        mark = stamp(self._latest)
        if version > 0 and self._planned.get("mark") == mark:
            return None
        rows = read_parquet(self._latest)
        self._planned["mark"] = mark
        return None if version > 0 and rows.equals(read_parquet(self._version(version))) else rows

    @property
    def _latest(self) -> Path:
        return path_of(self.folder) / "latest.parquet"

    def _version(self, number: int) -> Path:
        return path_of(self.folder) / f"version-{number:06d}.parquet"

    def _rows(self, progress: Progress) -> pl.DataFrame:
        assert self.columns is not None
        version = int(progress.position["version"])
        return read_parquet(self._version(version)) if version else self.columns.empty()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_looks": None, "_planned": {}}


def first_instant(kind: Type) -> int:
    """The time from which the first rows hold, before which no tuple is."""
    return FIRST_MICROSECOND if kind is Type.TIMESTAMP else -FURTHEST


def check_key(rows: pl.DataFrame, key: tuple[str, ...], relation: str, where: str, lines: Any, line: str) -> None:
    """Raise unless each key comes once; `lines` says where each row is, in words a `line` or row."""
    if not key:
        if rows.height > 1:
            raise DataError(f"{where}: expected one row, as the relation {relation!r} has no key; got {rows.height}")
        return
    first = rows.select(pl.struct(key).is_first_distinct().alias("first"))["first"]
    if not first.all():
        at = int((~first).arg_max() or 0)
        values = ", ".join(str(value) for value in rows.select(key).row(at))
        raise DataError(f"{where}: {line} {lines[at]}: the key {values} comes a second time")
