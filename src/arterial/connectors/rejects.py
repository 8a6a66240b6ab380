"""Lines that are set aside because they do not fit: counted by reason, a few kept as examples, all written to a file.

The file is CSV with a header or, if its name ends in .jsonl, a JSON object a line. Whoever reads lines decides which
do not fit and gives them to `Rejects`; the rest of the input is read as if they were not there.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Collection
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from arterial.errors import DataError, MachineError
from arterial.storage.appended import append_to, cut_back
from arterial.storage.place import put_in_place, remove

ONE_FILE = ("line", "reason", "text")
SEVERAL_FILES = ("file", "line", "reason", "text")
EXAMPLES = 3
MOST_REASONS, OTHER_REASONS = 1000, "other reasons"
"""So many reasons are counted by themselves; a reason may contain a value of the line."""


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
    """All lines that are set aside while an input is read; only their counts and a few examples stay in memory.

    An old file is removed, and a new one is made when the first line is set aside. With `resume_at` the file always
    exists: its header and that many bytes of lines are kept.
    """

    def __init__(
        self, path: Path, columns: tuple[str, ...] = ONE_FILE, *, resume_at: int | None = None, examples: int = EXAMPLES
    ) -> None:
        self.path, self.columns, self.most = path, columns, examples
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
        """Count lines and append them to the file."""
        if not rejects:
            return
        for reject in rejects:
            known = reject.reason in self.counts or len(self.counts) < MOST_REASONS
            self.counts[reject.reason if known else OTHER_REASONS] += 1
        self.examples += list(rejects)[: self.most - len(self.examples)]
        lines = self._lines(rejects)
        try:
            header = b"" if self.path.exists() else self._header
            append_to(self.path, io.BytesIO(header + lines))
        except OSError as fault:
            raise self._unwritable(fault) from None
        self.size += len(lines)

    def _lines(self, rejects: Collection[RejectRow]) -> bytes:
        rows = map(attrgetter(*self.columns), rejects)
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
