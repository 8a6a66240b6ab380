"""Takes the rows of files in, once: late rows apart, the others in the order of their time, in pieces that are kept.

The pieces lie in the checkpoint, so a restart reads them and not the files. Parquet and Arrow files that are in order
already are read where they are. All that a run needs to know is in one small file, `intake.json`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts.reorder import split_late
from arterial.connectors.files.blocks import Place, read_blocks, recognise
from arterial.connectors.files.columnar import columns_of, row_blocks
from arterial.connectors.files.find import PARQUET, DataFile, Fingerprint, fingerprint
from arterial.connectors.files.index import Index
from arterial.connectors.frames import check_columns
from arterial.connectors.rejects import SEVERAL_FILES, Rejects, set_aside
from arterial.connectors.values import TimeOptions, from_columns
from arterial.errors import DataError
from arterial.network.schema import Schema, Type
from arterial.network.train import BEGIN
from arterial.storage.place import put_in_place

NAME = "intake.json"
PIECE_ROWS = 250_000
"""Pieces have about so many rows, if that many are there."""


@dataclass(frozen=True)
class Request:
    """What is read, and how."""

    name: str
    schema: Schema
    time: str
    disorder: int
    options: TimeOptions

    @property
    def only_time(self) -> Schema:
        """The time column alone."""
        return Schema.of({self.time: str(self.schema[self.time])})

    def describe(self) -> dict[str, Any]:
        """What must be the same after a restart."""
        return {
            "schema": {column.name: str(column.type) for column in self.schema},
            "time": self.time,
            "disorder": self.disorder,
            "time unit": self.options.unit,
            "timezone": self.options.timezone,
        }


@dataclass
class Piece:
    """Rows in the order of their time, in a file of ours or of the user."""

    path: str
    kind: str
    rows: int
    units: dict[str, str] | None = None
    """Of a file of the user, the units that were recognised in it."""


@dataclass
class Late:
    """Rows that came too late, in a file; `at` is how many rows in order were there by then."""

    path: str
    rows: int
    at: int


@dataclass
class Taken:
    """A file that was read, or so much of it."""

    path: str
    size: int
    changed: int
    ends: str
    place: Place = field(default_factory=Place)


@dataclass
class Intake:
    """What was taken in so far."""

    folder: Path
    request: Request
    index: Index = field(default_factory=Index)
    pieces: list[Piece] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    highest: int = BEGIN
    promised: int = BEGIN
    behind: int = 0
    """How far the latest of the late rows is behind the highest time before it."""
    rejected: int = 0
    _held: list[pl.DataFrame] = field(default_factory=list)
    _ready: list[pl.DataFrame] = field(default_factory=list)
    _late: list[pl.DataFrame] = field(default_factory=list)
    _rejects: Rejects | None = None

    @property
    def through(self) -> int:
        """Every row up to this time is in a piece, if no file grows or is added that begins before."""
        return max(self.promised, self.highest - self.request.disorder - 1 if self.highest != BEGIN else BEGIN)

    def take_all(self, files: Sequence[DataFile]) -> None:
        """Take in all rows of files, and what is held back too: no row follows that belongs before them."""
        if not self.pieces and not self.late and all(not file.is_text for file in files) and self._take_in_place(files):
            return
        for file in files:
            self.take(file)
        self.finish()

    def finish(self) -> None:
        """Give what is held back, in order."""
        self.promised = max(self.promised, self.highest)
        self._arrive(self.request.schema.empty())
        self.write()

    def take(self, file: DataFile, *, ends: bool = True) -> None:
        """Take in the rows of a file that were not read yet."""
        known = next((one for one in self.taken if one.path == str(file.path)), None)
        place = known.place if known else Place()
        rows = late = 0
        is_first = self.highest == BEGIN or place.bytes > 0
        for block in read_blocks(file, self.request.schema, self.request.options, place, ends=ends):
            rows += block.rows.height
            late += self._arrive(block.rows)
            if block.rejects:
                self._set_aside(file, block.rejects)
            if sum(part.height for part in self._ready) >= PIECE_ROWS:
                self.write()
        if rows and late == rows and not is_first:
            raise DataError(
                f"{file.path}: all of its {rows:,} rows are before the end of the file in front of it, more than "
                f"{self.request.disorder} ({self.request.time}); files are read in the order of their names: name "
                "them in the order of their time, or put them together and sort them"
            )
        print_of = fingerprint(file.path, place.bytes if file.can_grow else None)
        if known is None:
            self.taken.append(Taken(str(file.path), **asdict(print_of), place=place))
            if notice := place.notice(str(file.path), self.request.options):
                self.notices.append(notice)
        else:
            known.size, known.changed, known.ends = print_of.size, print_of.changed, print_of.ends

    def report(self) -> None:
        """Raise if nothing fitted; note what was set aside, and what is late."""
        lost = sum(late.rows for late in self.late)
        if self.rejected and not self.index.rows and not lost and self._rejects is not None:
            first = "\n".join(f"  line {r.line}: {r.reason}" for r in self._rejects.examples)
            raise DataError(
                f"source {self.request.name!r}: none of the {self.rejected:,} lines fit "
                f"{self.request.schema}:\n{first}\nCorrect the schema of the source, or the file; "
                f"`arterial inspect FILE` prints a schema that fits"
            )
        if self._rejects is not None:
            self.notices.append(
                f"source {self.request.name!r}: "
                + set_aside(self.rejected, self._rejects.path, lines=self.rejected + self.index.rows + lost)
            )
        if lost:
            self.notices.append(
                f"source {self.request.name!r}: {lost:,} tuple(s) are late or have no time: they leave by port 'late'"
                + (f"; a disorder of {_duration(self.behind, self.request)} takes them all in" if self.behind else "")
            )

    def save(self) -> None:
        """Keep it for a restart, and for tasks."""
        held = self.folder / "held.parquet"
        if self._held:
            put_in_place(held, pl.concat(self._held).write_parquet)
        content = {
            "request": self.request.describe(),
            "files": [asdict(taken) for taken in self.taken],
            "pieces": [asdict(piece) for piece in self.pieces],
            "late": [asdict(late) for late in self.late],
            "notices": self.notices,
            "highest": self.highest,
            "promised": self.promised,
            "behind": self.behind,
            "rejected": self.rejected,
            "reject bytes": self._rejects.size if self._rejects is not None else 0,
            "held": bool(self._held),
        }
        np.save(self.folder / "index.npy", np.stack([self.index.begins, np.append(self.index.times, self.index.rows)]))
        put_in_place(self.folder / NAME, json.dumps(content))

    def changed_files(self) -> Iterator[str]:
        """The files that are not what they were."""
        for one in self.taken:
            path = Path(one.path)
            if not path.is_file() or not Fingerprint(one.size, one.changed, one.ends).fits(fingerprint(path)):
                yield one.path

    def _take_in_place(self, files: Sequence[DataFile]) -> bool:
        """Read only the times; if all rows are in order, the files themselves are the pieces."""
        request, index, pieces, last = self.request, Index(), [], BEGIN
        for file in files:
            check_columns(columns_of(file), request.schema, str(file.path), numbers_are_times=True)
            place, rows = Place(), index.rows
            for block in row_blocks(file, (request.time,)):
                options = recognise(block, request.only_time, request.options, place)
                times = from_columns(block, request.only_time, options)[request.time]
                if times.null_count():
                    return False
                values = _physical(times)
                if len(values) and (values[0] < last or (values[1:] < values[:-1]).any()):
                    return False
                index.add(values)
                last = int(values[-1]) if len(values) else last
            first = next(iter(row_blocks(file, request.schema.names)), None) if _may_have_units(request) else None
            if first is not None:
                recognise(first, request.schema, request.options, place)
            pieces.append(Piece(str(file.path), file.kind, index.rows - rows, dict(place.units)))
            self.taken.append(Taken(str(file.path), **asdict(fingerprint(file.path)), place=place))
            if notice := place.notice(str(file.path), request.options):
                self.notices.append(notice)
        self.index, self.pieces, self.highest, self.promised = index, pieces, last, last
        return True

    def _arrive(self, rows: pl.DataFrame) -> int:
        """Rows as they come: the late ones apart, those that are complete in order; how many are late."""
        request = self.request
        highest = self.highest if self.highest != BEGIN else BEGIN + request.disorder
        tuples, late = split_late(rows, request.time, highest, self.promised, request.disorder, False)
        if late.height:
            self._late.append(late)
            times = _physical(rows[request.time].drop_nulls())
            before = np.maximum.accumulate(np.concatenate([[highest], times]))[:-1]
            if self.highest != BEGIN or tuples.height:
                self.behind = max(self.behind, int((before - times)[before > BEGIN + request.disorder].max(initial=0)))
        if tuples.height:
            self.highest = max(self.highest, int(_physical(tuples[request.time]).max()))
        together = [*self._held, tuples] if tuples.height else list(self._held)
        self._held = []
        if together:
            all_rows = pl.concat(together)
            times = _physical(all_rows[request.time])
            if (times[1:] < times[:-1]).any():
                all_rows = all_rows[np.argsort(times, kind="stable")]
                times = np.sort(times)
            ready = int(np.searchsorted(times, self.through, side="right"))
            self._held = [all_rows[ready:]] if ready < all_rows.height else []
            if ready:
                self._ready.append(all_rows[:ready])
        return late.height

    def write(self) -> None:
        """Make pieces of what is ready, and of what is late."""
        if self._ready:
            rows = pl.concat(self._ready)
            path = self.folder / f"{len(self.pieces):06d}.parquet"
            _write_piece(path, rows)
            self.pieces.append(Piece(str(path), PARQUET, rows.height))
            self.index.add(_physical(rows[self.request.time]))
        if self._late:
            rows = pl.concat(self._late)
            path = self.folder / f"{len(self.late):06d}.late.parquet"
            _write_piece(path, rows)
            self.late.append(Late(str(path), rows.height, self.index.rows))
        self._ready, self._late = [], []

    def _set_aside(self, file: DataFile, rejects: list[Any]) -> None:
        if self._rejects is None:
            self._rejects = Rejects(self.folder / "rejects.jsonl", SEVERAL_FILES)
        self._rejects.add([reject._replace(file=str(file.path)) for reject in rejects])
        self.rejected += len(rejects)


def new_intake(folder: Path, request: Request) -> Intake:
    """Begin in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return Intake(folder, request)


def load_intake(folder: Path, request: Request) -> Intake | None:
    """What was taken in by an earlier start of the run; None if there is nothing."""
    if not (folder / NAME).is_file():
        return None
    content = read_intake(folder)
    if content["request"] != request.describe():
        was = {key: value for key, value in content["request"].items() if value != request.describe()[key]}
        raise DataError(
            f"source {request.name!r}: this checkpoint was made with {was}; give the same, or another checkpoint"
        )
    intake = Intake(folder, request)
    intake.pieces = [Piece(**one) for one in content["pieces"]]
    intake.late = [Late(**one) for one in content["late"]]
    intake.taken = [Taken(**{**one, "place": Place(**one["place"])}) for one in content["files"]]
    intake.notices = content["notices"]
    intake.highest, intake.promised = content["highest"], content["promised"]
    intake.behind, intake.rejected = content["behind"], content["rejected"]
    if content["rejected"]:
        intake._rejects = Rejects(folder / "rejects.jsonl", SEVERAL_FILES, resume_at=content["reject bytes"])
    if content["held"]:
        intake._held = [pl.read_parquet(folder / "held.parquet")]
    saved = np.load(folder / "index.npy")
    intake.index = Index(int(saved[0][-1]), [saved[0][:-1]], [saved[1][:-1]], intake.through)
    return intake


def read_intake(folder: Path) -> dict[str, Any]:
    """What an intake kept."""
    content: dict[str, Any] = json.loads((folder / NAME).read_text())
    return content


def _write_piece(path: Path, rows: pl.DataFrame) -> None:
    put_in_place(path, lambda file: rows.write_parquet(file, compression="lz4", statistics=False))


def _physical(times: pl.Series) -> Array:
    return times.to_physical().cast(pl.Int64).to_numpy()


def _may_have_units(request: Request) -> bool:
    return any(column.type is Type.TIMESTAMP and column.name != request.time for column in request.schema)


def _duration(units: int, request: Request) -> str:
    if request.schema[request.time] is not Type.TIMESTAMP:
        return f"{units}"
    return f"'{units / 1_000_000:g} s'" if units % 1000 else f"'{units // 1000 / 1000:g} s'"
