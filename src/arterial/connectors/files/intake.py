"""Takes the rows of files in, as far as the run has come: late rows apart, the others in the order of their time.

Files are read side by side where their times overlap, always the one that is furthest behind. Each has its own highest
time; what is before the lowest of them minus `disorder` is complete, and goes into a piece in the checkpoint. So a
step that is run again reads the same rows, whatever became of the files. Pieces that no step can need any more are
removed. Parquet and Arrow files that are in order already are read where they are, and are not copied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.connectors.files.columnar.reading import columns_of, row_blocks
from arterial.connectors.files.find import DataFile, find_files, folder_of
from arterial.connectors.files.index import Index
from arterial.connectors.files.pieces import (
    NAME,
    LatePiece,
    Piece,
    Pieces,
    SlotKey,
    pieces_from,
    read_kept,
    write_late,
    write_piece,
)
from arterial.connectors.files.reader import FileReader, Request, check_memory, instants
from arterial.connectors.frames import check_columns
from arterial.connectors.rejects import SEVERAL_FILES, Reject, Rejects, set_aside
from arterial.connectors.times import NAMES as UNIT_NAMES
from arterial.connectors.values import NOTHING_FITS_AFTER, nothing_fits
from arterial.errors import DataError, MachineError
from arterial.network.duration import as_duration
from arterial.network.schema import FIRST_MICROSECOND, LAST_MICROSECOND, Schema, Type
from arterial.network.train import BEGIN, END, FURTHEST
from arterial.storage.place import make_folder, put_in_place, remove, remove_folder
from arterial.storage.remote import path_of, readable

PIECE_ROWS = 250_000
"""Pieces have about so many rows, if that many are there."""

MOST_HELD = 2_000_000
"""If so many rows wait for a file that is behind, the others are not read on."""

MOST_OPEN = 100
"""So many files are open at a time."""

END_MARKER = "_END"
"""A file of this name beside files that are followed says that nothing will be added."""

LOOK_SECONDS = 0.5
"""How often a source that follows looks for more."""

SETTLED_SECONDS = 1.0
"""A file that cannot grow line by line is taken when it was not changed for so long."""

_FILE = "@file"


@dataclass(frozen=True)
class Follow:
    """Where files are added or grow, and after how many seconds of silence one holds the others back no longer."""

    path: Path
    idle: float


@dataclass
class Intake:
    """What was taken in so far, and the files that are being read."""

    folder: Path
    request: Request
    follow: Follow | None = None
    by: SlotKey | None = None
    """How tasks ask for rows, if they do it by slot."""
    readers: list[FileReader] = field(default_factory=list)
    index: Index = field(default_factory=Index)
    pieces: Pieces = field(default_factory=lambda: Pieces((), ()))
    promised: int = BEGIN
    """Every row up to this time is in a piece; what comes later with such a time is late."""
    late_pieces: int = 0
    """How many pieces of late rows were made in all."""
    late_rows: int = 0
    behind: int = 0
    """How far the latest of the late rows is behind the highest time before it."""
    ended: bool = False
    """Whether the end marker was seen."""
    saved: int = 0
    passed: tuple[int, int] = (0, 0)
    """Where the last two steps began."""
    examples: list[Reject] = field(default_factory=list)
    rejected: int = 0
    _rejects: Rejects | None = None
    _ready: list[pl.DataFrame] = field(default_factory=list)
    _late: list[pl.DataFrame] = field(default_factory=list)
    _looked: float = 0.0

    @property
    def finished(self) -> bool:
        """Whether all rows are in pieces, and no row follows."""
        return self.promised == END

    def begin(self, files: Sequence[DataFile]) -> None:
        """Begin to read files that are all there."""
        if all(not file.is_text for file in files) and self._take_in_place(files):
            return
        for file in files:
            self._add(file, alone=len(files) == 1)

    def advance(self, row: int, tuples: int, now: float) -> None:
        """Take in about so many rows behind one, as far as they are there; keep what was done."""
        before = self.promised, self.rejected, self.late_rows, self.index.rows
        moved = self._look(now)
        late = self.late_rows
        while self.index.rows + _height(self._ready) - row < tuples and self.late_rows - late < tuples:
            reader = self._next(now)
            if reader is None:
                break
            self._read(reader, now)
            moved = True
            self._release(now)
            if _height(self._ready) >= PIECE_ROWS or _height(self._late) >= PIECE_ROWS:
                self._write()
        if self.ended and not any(reader.has_more for reader in self.readers):
            for reader in self.readers:
                self._set_aside(reader.file, [] if reader.done else reader.cut_short())
        self._release(now)
        self._write()
        self._check_that_something_fits()
        if moved or before != (self.promised, self.rejected, self.late_rows, self.index.rows) or not self.saved:
            self.save()

    def pass_to(self, row: int, late: int) -> None:
        """The step that ended at this row is done: let go of what was read in the one before it."""
        if row <= self.passed[1] or self._is_in_place():
            return
        self.passed = (self.passed[1], row)
        self.index.forget(row)
        gone = [piece for piece in self.pieces.in_order if piece.end <= self.passed[0]]
        gone_late = [piece for piece in self.pieces.late if piece.number < late and piece.at < self.passed[0]]
        if not gone and not gone_late:
            return
        self.pieces = Pieces(
            tuple(piece for piece in self.pieces.in_order if piece not in gone),
            tuple(piece for piece in self.pieces.late if piece not in gone_late),
        )
        self.save()
        for path in [*(piece.path for piece in gone), *(piece.path for piece in gone_late)]:
            remove(path_of(path))

    def late_until(self, row: int, through: int) -> int:
        """How many pieces of late rows have left when this row is reached; they go with those that came before them."""
        if through == END:
            return self.late_pieces
        return self.late_pieces - sum(piece.at > row for piece in self.pieces.late)

    def rows_left(self) -> int:
        """About how many rows are still to be taken in."""
        return sum(reader.rows_left() for reader in self.readers)

    def changes(self) -> Iterator[str]:
        """What is not as it was read, in words."""
        for reader in self.readers:
            read_all = reader.done or (reader.grows and reader.seen <= reader.place.bytes)
            if self.follow and read_all and not reader.file.path.exists():
                continue
            if difference := reader.difference():
                yield f"{reader.file.path}: {difference}"

    def notices(self) -> list[str]:
        """What the user should know about it so far."""
        where, said = f"source {self.request.name!r}: ", []
        units: dict[tuple[str, str], list[str]] = {}
        for reader in self.readers if self.request.options.unit is None else ():
            for column, unit in reader.place.units.items():
                units.setdefault((column, unit), []).append(str(reader.file.path))
        for (column, unit), files in units.items():
            more = f" and {len(files) - 1:,} more files" if len(files) > 1 else ""
            said.append(
                f"{where}numbers in column {column!r} are read as {UNIT_NAMES[unit]} since 1970 in {files[0]}{more}; "
                "the option time_unit says otherwise"
            )
        if self.rejected and self._rejects is not None:
            lines = self.rejected + self.index.rows + self.late_rows
            said.append(where + set_aside(self.rejected, self._rejects.path, lines=lines))
        if self.late_rows:
            enough = as_duration(self.behind, self.request.schema[self.request.time])
            hint = f"; a disorder of '{enough}' takes all late ones in" if self.behind else ""
            said.append(f"{where}{self.late_rows:,} tuple(s) are late or have no time, and leave by port 'late'{hint}")
        return said

    def save(self) -> None:
        """Keep all for a restart, and for tasks; the last file to be written makes it count."""
        self.saved += 1
        try:
            self._save_held(self.folder / f"held-{self.saved}.parquet")
            index = np.stack([self.index.begins, self.index.times, self.index.ends])
            put_in_place(self.folder / f"index-{self.saved}.npy", lambda file: np.save(file, index))
            put_in_place(self.folder / NAME, json.dumps(self._describe()))
        except OSError as fault:
            raise MachineError(f"{self.folder}: cannot be written: {fault.strerror or fault}") from None
        remove(self.folder / f"held-{self.saved - 1}.parquet")
        remove(self.folder / f"index-{self.saved - 1}.npy")

    def close(self) -> None:
        """Close all files."""
        for reader in self.readers:
            reader.close()

    def _describe(self) -> dict[str, Any]:
        kept = ("promised", "late_pieces", "late_rows", "behind", "ended", "saved", "passed", "rejected", "examples")
        return {
            "request": self.request.describe(),
            "files": [reader.describe() for reader in self.readers],
            "pieces": [asdict(piece) for piece in self.pieces.in_order],
            "late": [asdict(piece) for piece in self.pieces.late],
            "rows": self.index.rows,
            "last": self.index.last,
            "reject_bytes": self._rejects.size if self._rejects is not None else 0,
            "notices": self.notices(),
            **{name: getattr(self, name) for name in kept},
        }

    def _save_held(self, path: Path) -> None:
        held = [
            rows.with_columns(pl.lit(number, pl.Int32).alias(_FILE))
            for number, reader in enumerate(self.readers)
            for rows, _ in reader.held
        ]
        if held:
            put_in_place(path, pl.concat(held).write_parquet)
        else:
            remove(path)  # a save that was cut off may have left one, whose rows have gone on since

    def _add(self, file: DataFile, *, alone: bool) -> None:
        reader = FileReader.of(file, self.request, follows=self.follow is not None)
        reader.check_unchanged()
        self.readers.append(reader)
        if alone:
            return
        if file.is_text and not file.path.stat().st_size:
            reader.done = not reader.grows
        else:
            reader.look()

    def _look(self, now: float) -> bool:
        """Look for files that were added, and for the end marker; whether there is a new file."""
        if self.follow is None or self.ended or abs(now - self._looked) < LOOK_SECONDS:
            return False
        self._looked = now
        self.ended = (folder_of(self.follow.path) / END_MARKER).exists()  # looked for first: nothing comes after it
        for reader in self.readers:
            if reader.grows:
                reader.check_unchanged()
        known = {str(reader.file.path) for reader in self.readers}
        found = find_files(self.follow.path, f"source {self.request.name!r}", may_be_none=True)
        new = [file for file in found if str(file.path) not in known and (self.ended or _is_settled(file, now))]
        for file in new:
            self._add(file, alone=False)
        return bool(new)

    def _next(self, now: float) -> FileReader | None:
        """The file that is furthest behind, of those with something to read."""
        reader = min((reader for reader in self.readers if reader.has_more), key=lambda one: one.complete, default=None)
        if reader is None or reader.complete <= self._complete(now):
            return reader
        held = sum(rows.height for each in self.readers for rows, _ in each.held)
        return reader if held < MOST_HELD else None

    def _read(self, reader: FileReader, now: float) -> None:
        """Take in a block of a file."""
        others = [other for other in self.readers if other.is_open and other is not reader]
        if len(others) >= MOST_OPEN:
            max(others, key=lambda other: other.complete).close()
        taken = reader.read(self.promised, len(others) + 1)
        if taken is None:
            return
        reader.grew = now
        if taken.late.height:
            self._late.append(taken.late)
            self.late_rows += taken.late.height
            self.behind = max(self.behind, taken.behind)
        self._set_aside(reader.file, taken.rejects)
        held = sum(rows.height for each in self.readers for rows, _ in each.held)
        check_memory(self.request, held, f"{held:,} tuples wait for one of a later time, from {reader.complete} on")

    def _complete(self, now: float) -> int:
        """Up to which time the rows of all files are there."""
        if self.follow is None or self.ended:
            unread = [reader for reader in self.readers if not reader.done]
            return min((reader.complete for reader in unread), default=END)
        idle = self.follow.idle
        busy = [r for r in self.readers if not r.done and (0 <= now - r.grew < idle or r.has_more)]
        if busy:
            return min(reader.complete for reader in busy)
        return max((reader.complete for reader in self.readers), default=BEGIN)

    def _release(self, now: float) -> None:
        """Let go of the held rows that are complete: by time, then by file, then as they stand there."""
        complete = self._complete(now)
        if complete <= self.promised:
            return
        self.promised = complete
        frames = [rows for reader in self.readers for rows in reader.release(complete)]
        if not frames:
            return
        rows = pl.concat(frames) if len(frames) > 1 else frames[0]
        times = instants(rows[self.request.time])
        if (times[1:] < times[:-1]).any():
            rows = rows[np.argsort(times, kind="stable")]
        self._ready.append(rows)

    def _write(self) -> None:
        """Make pieces of what is ready, and of what is late."""
        try:
            if self._ready:
                rows = pl.concat(self._ready)
                path = self.folder / f"{self.index.rows:015d}.arrow"
                piece = write_piece(path, rows, self.index.rows, self.by)
                self.index.add(instants(rows[self.request.time]))
                self.pieces = Pieces((*self.pieces.in_order, piece), self.pieces.late)
            if self._late:
                rows = pl.concat(self._late)
                path = self.folder / f"{self.late_pieces:09d}.late.parquet"
                write_late(path, rows)
                late = LatePiece(str(path), self.late_pieces, rows.height, self.index.rows)
                self.pieces = Pieces(self.pieces.in_order, (*self.pieces.late, late))
                self.late_pieces += 1
        except OSError as fault:
            raise MachineError(f"{self.folder}: cannot be written: {fault.strerror or fault}") from None
        self._ready, self._late = [], []

    def _set_aside(self, file: DataFile, rejects: list[Reject]) -> None:
        if not rejects:
            return
        if self._rejects is None:
            self._rejects = Rejects(self.folder / "rejects.jsonl", SEVERAL_FILES)
        named = [reject._replace(file=str(file.path)) for reject in rejects]
        self._rejects.add(named)
        self.rejected += len(named)
        self.examples += [r._replace(text="") for r in named[: self._rejects.most - len(self.examples)]]

    def _check_that_something_fits(self) -> None:
        if not self.rejected or self.index.rows or self.late_rows or any(reader.held for reader in self.readers):
            return
        if not self.finished and self.rejected < NOTHING_FITS_AFTER:
            return
        raise DataError(
            nothing_fits(f"source {self.request.name!r}", self.rejected, self.request.schema, self.examples)
            + " or the file; `arterial inspect FILE` prints a source that fits"
        )

    def _is_in_place(self) -> bool:
        return self.pieces.in_place

    def _take_in_place(self, files: Sequence[DataFile]) -> bool:
        """Read only the times; if all rows are in order and of their types, the files themselves are the pieces."""
        request, index, pieces, readers = self.request, Index(), [], []
        only_time = Schema.of({request.time: str(request.schema[request.time])})
        for file in files:
            found = columns_of(file)
            check_columns(found, request.schema, str(file.path), reads_times=True)
            if request.signed or not all(_holds(c.type, found[c.name], request) for c in request.schema):
                return False
            reader, first = FileReader.of(file, request, follows=False), index.rows
            for block in row_blocks(file, only_time.names):
                times = block[request.time]
                if times.null_count():
                    return False
                values = instants(times.cast(only_time[request.time].polars))
                if not len(values) or not _is_in_order(values, index.last, only_time[request.time]):
                    return False
                index.add(values)
            reader.done, reader.highest = True, index.last
            readers.append(reader)
            pieces.append(Piece(str(file.path), file.kind, first, index.rows - first, reader.print))
        self.index, self.pieces, self.readers, self.promised = index, Pieces(tuple(pieces), ()), readers, END
        return True


def new_intake(folder: Path, request: Request, follow: Follow | None) -> Intake:
    """Begin in an empty folder."""
    remove_folder(folder)
    make_folder(folder)
    return Intake(folder, request, follow)


def load_intake(folder: Path, request: Request, follow: Follow | None) -> Intake | None:
    """What was taken in by an earlier start of the run; None if there is nothing."""
    if not (folder / NAME).is_file():
        return None
    kept = read_kept(folder)
    _check_request(kept["request"], request)
    intake = Intake(folder, request, follow, pieces=pieces_from(kept))
    for name in ("promised", "late_pieces", "late_rows", "behind", "ended", "saved", "rejected"):
        setattr(intake, name, kept[name])
    intake.passed = (kept["passed"][0], kept["passed"][1])
    intake.examples = [Reject(*one) for one in kept["examples"]]
    if kept["rejected"]:
        intake._rejects = Rejects(folder / "rejects.jsonl", SEVERAL_FILES, resume_at=kept["reject_bytes"])
    try:
        saved = np.load(readable(folder / f"index-{intake.saved}.npy"))
        intake.index = Index(kept["rows"], saved[0], saved[1], _ends(saved, kept["last"]), kept["last"])
        path = folder / f"held-{intake.saved}.parquet"
        held = pl.read_parquet(readable(path)) if path.exists() else None
    except (OSError, ValueError, pl.exceptions.PolarsError) as fault:
        raise DataError(f"{folder}: cannot be read: {fault}. Restore the checkpoint, or begin with another") from None
    for number, one in enumerate(kept["files"]):
        rows = None if held is None else held.filter(pl.col(_FILE) == number).drop(_FILE)
        intake.readers.append(FileReader.restored(one, request, rows))
        if follow is not None:
            intake.readers[-1].follow_on()
    return intake


def _check_request(was: Mapping[str, Any], request: Request) -> None:
    asked = request.describe()
    for name, value in was.items():
        if value != asked[name]:
            raise DataError(
                f"source {request.name!r}: this checkpoint was made with {name} {value!r}, now it is {asked[name]!r}; "
                "give the same again, or another checkpoint"
            )


def _height(frames: list[pl.DataFrame]) -> int:
    return sum(frame.height for frame in frames)


def _is_settled(file: DataFile, now: float) -> bool:
    """Whether a file can be taken: it has something, and is not being written, if that would harm."""
    try:
        stat = file.path.stat()
    except OSError:
        return False
    return stat.st_size > 0 and (file.can_grow or abs(now - stat.st_mtime) >= SETTLED_SECONDS)


def _is_in_order(times: Any, last: int, kind: Type) -> bool:
    first, furthest = (FIRST_MICROSECOND, LAST_MICROSECOND) if kind is Type.TIMESTAMP else (-FURTHEST, FURTHEST)
    within = times[0] >= first and times[-1] <= furthest
    return bool(within and times[0] >= last and (times[1:] >= times[:-1]).all())


def _holds(kind: Type, found: pl.DataType, request: Request) -> bool:
    """Whether every value of a type of Parquet or Arrow is one of the schema's, without a look at each."""
    if kind is Type.TIMESTAMP:
        # Milliseconds may be too many to count them as microseconds.
        is_utc = isinstance(found, pl.Datetime) and found.time_zone is None and found.time_unit != "ms"
        return is_utc and request.options.timezone in (None, "UTC")
    if kind.is_integer:
        narrow = (pl.Int8, pl.Int16, pl.Int32, pl.Int64)
        return found in narrow and narrow.index(type(found)) <= narrow.index(type(kind.polars))
    return found in (kind.polars, pl.Null) or (kind is Type.FLOAT64 and found.is_numeric())


def _ends(saved: Array, last: int) -> Array:
    """The ends in an index; an older one has none, and then each is somewhere before the next kept instant."""
    return saved[2] if len(saved) > 2 else np.append(saved[1] - 1, last)[1:]
