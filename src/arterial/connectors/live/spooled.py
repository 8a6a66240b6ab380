"""A source that a thread of the driver spools; steps are planned and read from the spool alone.

The position is the number of the last file that was looked at. Rows are read by their time, so those that wait for a
slower connection or partition stay behind. `LiveSource` and `KafkaSource` say what comes into the spool.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import Field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl
import pyarrow as pa

from arterial.connectors.live.spool import (
    Reached,
    Spool,
    SpoolFile,
    account_of,
    look,
    note_reached,
    read_late,
    read_rows,
)
from arterial.connectors.live.spooling import STOPPED
from arterial.connectors.source import Ask, Part, Progress, Source, Span
from arterial.connectors.values import TimeOptions, instant_of
from arterial.errors import DataError, NetworkError, RunError
from arterial.network.duration import Duration, units
from arterial.network.keys.slots import of_slot, pieces
from arterial.network.schema import Schema, Type
from arterial.network.train import BEGIN, Train
from arterial.storage.damage import read_json
from arterial.storage.place import remove
from arterial.storage.remote import path_of

FOREVER = "forever"
REJECTS = "rejects.jsonl"
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_reached: dict[str, Reached] = {}
_noted: set[str] = set()


class SpooledSource(Source):
    """Plans and reads a spool. Subclasses are dataclasses with these fields, and fill it."""

    name: str
    schema: Schema | None
    time: str
    folder: str
    time_unit: str | None
    timezone: str | None
    until: str | int | None
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @abstractmethod
    def _check(self) -> None:
        """Raise if an option does not fit."""

    @abstractmethod
    def _noticed(self, account: Mapping[str, Any]) -> list[str]:
        """What the user should know of the input, by its account."""

    def allow(self, disorder: int, *, signed: bool) -> Self:
        """Take what is out of order by so much."""
        return replace(self, disorder=disorder, signed=signed)

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> Self:
        """Check the options, and find what an earlier start of the run kept."""
        ready = replace(self, name=name, schema=schema, time=time, folder=str(folder / "sources" / name), _receivers=[])
        ready._check()
        # A run begins, or goes on: what an earlier run of this process had read does not count.
        _reached.pop(ready.folder, None)
        _noted.discard(ready.folder)
        remove(Spool(ready._spool).folder / STOPPED)
        return ready

    @property
    def notices(self) -> tuple[str, ...]:
        """What came so far, and what did not fit."""
        files = look(self._spool)
        if not files:
            return ()
        account = account_of(files[-1])
        said = self._noticed(account)
        if account["late"]:
            said.append(f"{account['late']:,} tuple(s) are late or have no time: they leave by port 'late'")
        return tuple(f"source {self.name!r}: {text}" for text in said)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_receivers": []}

    def begin(self) -> Progress:
        """Before the first file."""
        return Progress({"file": -1}, BEGIN)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """What is complete; about as many rows as were asked for."""
        self._note(before)
        number = int(before.position["file"])
        # The reason is looked for first: it is left after the last file.
        stopped = self._stopped_message()
        files = look(self._spool)
        last = _last_file(files, Reached(number, before.through), ask.tuples)
        known = [file for file in files if last is not None and file.number <= last.number]
        through = before.through if last is None else max(before.through, last.through)
        if ask.until is not None:
            through = max(before.through, min(through, ask.until))
        through = _fitting(known, before.through, through, ask.tuples)
        has_late = any(file.late for file in known if file.number > number)
        if last is not None and (through > before.through or has_late):
            return Progress({"file": max(number, last.number)}, through)
        if stopped is not None and (not files or files[-1].through <= before.through):
            raise RunError(stopped)
        return before

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A piece of the rows, in the order of their time."""
        assert self.schema is not None
        if after.through <= before.through:
            return self.schema.empty()
        rows = read_rows(self._spool, self.time, before.through, after.through, after.position["file"])
        return self.schema.empty() if rows is None else pieces(self._frame(rows), part.count)[part.index]

    def read_trains(self, span: Span, part: Part) -> list[Train]:
        """One train, and the late rows with it."""
        first, last = span.before.position["file"], span.after.position["file"]
        found = read_late(self._spool, first, last) if (part.key or not part.index) and first < last else None
        late = None if found is None else self._frame(found)
        if late is not None and part.key is not None:
            late = of_slot(late, part.key, part.count, part.index)
        return [Train(self.read(span.before, span.after, part), span.after.through, late)]

    def waiting(self, progress: Progress, now: float) -> int | None:
        """How many rows are complete and not read."""
        return self.waiting_after(progress.through)

    def waiting_after(self, through: int) -> int | None:
        """How many rows behind a time are complete. What is not waits for its sender, and not for the run."""
        files = look(self._spool)
        complete = max((file.through for file in files), default=BEGIN)
        if complete <= through:
            return 0
        return sum(file.rows for file in files if file.rows and file.high > through and file.low <= complete)

    def waited(self, span: Span, now: float) -> float:
        """How long ago the first row of a step was spooled."""
        before, after = (Reached(one.position["file"], one.through) for one in (span.before, span.after))
        files = (f for f in look(self._spool) if f.number <= after.number and f.rows and f.low <= after.through)
        oldest = next((file.path for file in files if before.needs(file)), None)
        try:
            return 0.0 if oldest is None else max(0.0, now - oldest.stat().st_mtime)
        except FileNotFoundError:  # removed, since all readers are past it
            return 0.0

    @property
    def _spool(self) -> Path:
        return path_of(self.folder) / "spool"

    def _frame(self, rows: pa.Table) -> pl.DataFrame:
        assert self.schema is not None
        frame = pl.from_arrow(rows)
        assert isinstance(frame, pl.DataFrame)
        return frame.cast(pl.Schema(self.schema.polars()))

    def _stopped_message(self) -> str | None:
        path = self._spool / STOPPED
        return str(read_json(path)["message"]) if path.exists() else None

    def _note(self, before: Progress) -> None:
        """Leave word of what is read for good, a step behind: that step may be run again."""
        reached = Reached(int(before.position["file"]), before.through)
        earlier = _reached.get(self.folder)
        if earlier is None:
            _reached[self.folder] = reached
        elif earlier == reached and self.folder not in _noted:
            note_reached(self._spool, "run", reached)
            _noted.add(self.folder)
        elif earlier != reached:
            note_reached(self._spool, "run", earlier)
            _reached[self.folder] = reached
            _noted.discard(self.folder)

    @property
    def until_instant(self) -> int:
        """The time that `until` names, in units of the time column."""
        assert self.schema is not None
        assert self.until is not None
        kind, options = self.schema[self.time], TimeOptions(self.time_unit, self.timezone)
        return instant_of(self.until, self.time, kind, options, f"source {self.name!r}: until")


def _last_file(files: Sequence[SpoolFile], before: Reached, tuples: int) -> SpoolFile | None:
    """The file up to which a step goes: with what is new, about so many rows; None if there are no files.

    Beyond that it goes to one by which more is complete: of those before it a step could read nothing, ever again.
    """
    last = None
    for file in files:
        if last is not None and file.number > before.number:
            tuples -= file.rows
            if tuples < 0 and last.number > before.number and last.through > before.through:
                break
        last = file
    return last


def _fitting(files: Sequence[SpoolFile], after: int, through: int, tuples: int) -> int:
    """How far to go for about so many rows, as if the times in a file were spread evenly; at least an instant."""
    waiting = [file for file in files if file.rows and file.high > after and file.low <= through]
    if not waiting:
        return through

    def rows(to: int) -> float:
        return sum(
            file.rows * (min(to, file.high) - max(after, file.low - 1)) / (file.high - max(after, file.low - 1))
            if file.high > max(after, file.low - 1) and min(to, file.high) > max(after, file.low - 1)
            else 0
            for file in waiting
        )

    last = min(through, max(file.high for file in waiting))
    if rows(last) <= tuples:
        return through
    first = min(max(file.low, after + 1) for file in waiting)
    low, high = first, last
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if rows(middle) <= tuples else (low, middle - 1)
    return low


def seconds_of(duration: Duration, what: str, where: str) -> float:
    """A duration as a user writes it, in seconds."""
    if duration == FOREVER:
        return float("inf")
    try:
        plain: Duration = float(duration)
    except ValueError:
        plain = duration
    try:
        return units(plain, Type.TIMESTAMP, what, least=0) / 1_000_000
    except NetworkError as fault:
        raise DataError(f"{where}: {fault}") from None


def number_of(value: int | str, what: str, where: str) -> int:
    """A number above 0 as a user writes it."""
    if str(value).isdigit() and int(value) > 0:
        return int(value)
    raise DataError(f"{where}: {what} is {value!r}; expected a number above 0")


def bytes_of(value: int | str, where: str) -> int:
    """The size of a spool as a user writes it, such as 500m or 2g."""
    text = str(value).strip().lower().removesuffix("b").removesuffix("i")
    unit = text[-1:] if text[-1:].isalpha() else ""
    number = text.removesuffix(unit).strip()
    if unit in _SIZES and number.isdigit() and int(number) > 0:
        return int(number) * _SIZES[unit]
    raise DataError(f"{where}: spool is {value!r}; expected a number of bytes such as 500m or 2g")
