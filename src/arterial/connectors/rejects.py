"""Lines that are set aside because they do not fit: counted by reason, a few kept as examples, written to a file.

The file is CSV with a header or, if its name ends in .jsonl, a JSON object a line. Whoever reads lines decides which
do not fit and gives them to `Rejects`; the rest of the input is read as if they were not there.

The file has a bound, so that a sender of nonsense cannot fill the disk: when it is full, a last line says so, and more
lines are only counted, until somebody moves the file away. The first lines are kept, not the last ones, because a run
that goes on cuts its file back by bytes, which must stay where they are.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Collection
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from arterial.errors import DataError, MachineError
from arterial.storage.appended import append_to, cut_back
from arterial.storage.place import put_in_place, remove
from arterial.storage.remote import is_remote

ONE_FILE = ("line", "reason", "text")
SEVERAL_FILES = ("file", "line", "reason", "text")
EXAMPLES = 3
MOST_REASONS, OTHER_REASONS = 1000, "other reasons"
"""So many reasons are counted by themselves; a reason may contain a value of the line."""
MOST_BYTES = 256 << 20
"""So much of the lines is kept in a file."""
MOST_BYTES_FAR = 1 << 20
"""In a store, where a file is written again whenever lines are added."""
FULL = "this file is full: more lines were set aside, and are only counted. Move it away to keep the next ones"


class Reject(NamedTuple):
    """A line that is set aside: its number in its file, counted from 1, the reason, and the text."""

    line: int
    reason: str
    text: str
    file: str = ""


class RejectRow(Protocol):
    """What can be set aside: a line, a message; it has the columns of its file."""

    @property
    def reason(self) -> str:
        """Why it does not fit."""


class Rejects:
    """The lines that are set aside while an input is read; only their counts and a few examples stay in memory.

    An old file is removed, and a new one is made when the first line is set aside. With `resume_at` the file always
    exists: its header and that many bytes of lines are kept.
    """

    def __init__(
        self,
        path: Path,
        columns: tuple[str, ...] = ONE_FILE,
        *,
        resume_at: int | None = None,
        examples: int = EXAMPLES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.path, self.columns, self.most = path, columns, examples
        self.most_bytes = min(most_bytes, MOST_BYTES_FAR) if is_remote(path) else most_bytes
        self.counts: Counter[str] = Counter()
        self.examples: list[Any] = []
        self.size = 0
        """How many bytes of lines the file has, without its header."""
        self._header = b"" if path.suffix == ".jsonl" else (",".join(columns) + "\n").encode()
        try:
            if resume_at is None:
                remove(path)
            elif resume_at and path.exists():
                self.size = min(resume_at, path.stat().st_size - len(self._header))
                cut_back(path, len(self._header) + self.size)
            else:
                put_in_place(path, self._header)
        except OSError as fault:
            raise self._unwritable(fault) from None

    def __len__(self) -> int:
        return self.counts.total()

    def add(self, rejects: Collection[RejectRow]) -> None:
        """Count lines and append them to the file, as far as there is room in it."""
        if not rejects:
            return
        for reject in rejects:
            known = reject.reason in self.counts or len(self.counts) < MOST_REASONS
            self.counts[reject.reason if known else OTHER_REASONS] += 1
        self.examples += list(rejects)[: self.most - len(self.examples)]
        try:
            exists = self.path.exists()
            room = self.most_bytes - (self.path.stat().st_size if exists else 0)
            if room <= 0:
                return
            lines = self._fitting(rejects, room)
            append_to(self.path, io.BytesIO(lines if exists else self._header + lines))
        except OSError as fault:
            raise self._unwritable(fault) from None
        self.size += len(lines)

    def _fitting(self, rejects: Collection[RejectRow], room: int) -> bytes:
        """The lines if there is room for them; else the first of them, and one that says that there is no more."""
        rows = [attrgetter(*self.columns)(reject) for reject in rejects]
        lines = self._lines(rows)
        if len(lines) < room:
            return lines
        single = [self._lines([row]) for row in rows]
        first = b"".join(line for line, end in zip(single, accumulate(map(len, single)), strict=True) if end < room)
        full = self._lines([tuple({"reason": FULL, "line": 0}.get(column, "") for column in self.columns)])
        # Together they are at least as long as the room, which is how the next ones find that the file is full.
        return first + full.rstrip(b"\n").ljust(room - len(first) - 1) + b"\n"

    def _lines(self, rows: Collection[tuple[Any, ...]]) -> bytes:
        text = io.StringIO()
        if self.path.suffix == ".jsonl":
            text.writelines(json.dumps(dict(zip(self.columns, row, strict=True))) + "\n" for row in rows)
        else:
            # Texts are always quoted: one that does not fit may contain anything, a carriage return too.
            csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerows(rows)
        return text.getvalue().encode()

    def _unwritable(self, fault: OSError) -> MachineError:
        return MachineError(f"{self.path}: cannot be written: {fault.strerror or fault}")


def read_rejects(path: Path) -> list[Reject]:
    """The lines in a rejects file in CSV; none if there is no file."""
    if not path.is_file():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            return [Reject(int(row["line"]), row["reason"], row["text"], row.get("file", "")) for row in rows]
    except (OSError, KeyError, TypeError, ValueError, csv.Error) as fault:
        raise DataError(f"{path}: cannot be read as a file of lines that were set aside: {fault}") from fault


def set_aside(count: int, kept: Path | None = None, *, lines: int | None = None) -> str:
    """What a user reads about lines that were set aside: how many, of how many, and in which file they are.

    >>> set_aside(3, Path("out/rejects.csv"), lines=1200)
    '3 of 1,200 lines were set aside, see out/rejects.csv'
    """
    what = f"{count:,} line(s)" if lines is None else f"{count:,} of {lines:,} lines"
    return f"{what} were set aside" + (f", see {kept}" if kept else "")
