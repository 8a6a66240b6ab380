"""How `arterial attach` prints an answer: rows with marks between them, as CSV or JSON; and rows into a file."""

from __future__ import annotations

import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
import polars.selectors as cs

from arterial.engine.attach.attachment import FINISHED, REACHED, STOPPED, Answer, Attachment
from arterial.errors import MachineError
from arterial.network.box import SIGN, Stream
from arterial.network.schema import Type
from arterial.network.train import BEGIN, END

_OUTPUT = "@output"
"""The first column where there are several outputs; no column of a stream has that name."""
MARK_SECONDS = 1.0
"""A mark without rows is printed so often at most."""


def printer_for(attachment: Attachment, out: Path | None, *, as_json: bool) -> Printer:
    """What prints the answer."""
    return (_Json if as_json else _Lines)(attachment, out)


class Printer(ABC):
    """Prints the pieces of an answer, and writes their rows to a file if there is one."""

    def __init__(self, attachment: Attachment, out: Path | None) -> None:
        self.attachment, self.out = attachment, out
        self.streams = attachment.outputs
        self.rows = 0
        self._file: BinaryIO | None = None
        self._marked = 0.0
        self._started = time.monotonic()

    def __enter__(self) -> Printer:
        if self.out is not None:
            self._open(self.out, self.attachment.token.written)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def written(self) -> int:
        """How many bytes are in the file, for good."""
        if self._file is None:
            return 0
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def begin(self) -> None:
        """Say what comes, and after which mark."""
        through = self.attachment.token.through
        since = self.attachment.since
        for name, point in self.attachment.points.items():
            first = since if since is not None else point.up_to
            if first is not None and point.look().lost >= first and through == BEGIN:
                sys.stderr.write(f"{name}: what is before {self._time(point.look().lost + 1)} is no longer kept\n")
        if through != BEGIN:
            self.resumes(self._time(through))
        if self._file is not None and self._file.tell() == 0:
            self._file.write("".join(f"{self._header(name)}\n" for name in self.streams).encode())

    def show(self, answer: Answer) -> None:
        """Print a piece."""
        for after, through in answer.lost:
            self.lost(self._time(after), self._time(through))
        texts = {name: as_texts(rows, self.streams[name]) for name, rows in answer.rows.items() if rows.height}
        self.rows += sum(rows.height for rows in texts.values())
        if self._file is not None:
            for name, rows in texts.items():
                self._file.write(self._lines(name, rows).encode())
        else:
            self.print_rows(texts)
        now = time.monotonic()
        if texts or answer.through == END or now - self._marked >= MARK_SECONDS:
            self._marked = now
            self.mark(None if answer.through == END else self._time(answer.through), answer.token)
        sys.stdout.flush()

    def end(self, figures: bool, *, resumes: bool) -> None:
        """Say how it ended, and how to go on; a run that stopped `resumes` if it is not local."""
        attachment, reading = self.attachment, self.attachment.reading
        seconds = time.monotonic() - self._started
        why = {
            FINISHED: "complete: the run has finished",
            REACHED: "complete up to the time that was asked for",
            STOPPED: "the run has stopped; go on with this token when it runs again"
            if resumes
            else "the run has stopped, and a run with --local does not go on; this is all of its answer",
            None: "detached",
        }[attachment.ended]
        where = f"; the rows are in {self.out}" if self.out else ""
        over = attachment.ended in (FINISHED, REACHED) or (attachment.ended == STOPPED and not resumes)
        token = "" if over else f"\ntoken {attachment.token}"
        sys.stderr.write(
            f"{why}: {self.rows:,} row(s), {reading.tuples:,} tuples and {reading.bytes:,} bytes read, "
            f"{seconds:.1f} s{where}{token}\n"
        )
        if figures:
            said = {"rows": self.rows, "tuples_read": reading.tuples, "bytes_read": reading.bytes,
                    "seconds": round(seconds, 3), "ended": attachment.ended or "detached"}  # fmt: skip
            sys.stdout.write(json.dumps({"figures": said}) + "\n")
        sys.stdout.flush()

    @abstractmethod
    def print_rows(self, texts: Mapping[str, pl.DataFrame]) -> None:
        """Print rows, by output."""

    @abstractmethod
    def mark(self, through: object, token: str) -> None:
        """Say that all rows up to a time were printed; None: all there will ever be."""

    @abstractmethod
    def resumes(self, through: object) -> None:
        """Say after which mark the answer goes on."""

    @abstractmethod
    def lost(self, after: object, through: object) -> None:
        """Say which times are missing."""

    def _header(self, name: str) -> str:
        prefix = ["output"] if len(self.streams) > 1 else []
        return ",".join([*prefix, *columns_of(self.streams[name])])

    def _lines(self, name: str, rows: pl.DataFrame) -> str:
        if len(self.streams) > 1:
            rows = rows.select(pl.lit(name).alias(_OUTPUT), pl.all())
        return rows.write_csv(include_header=False)

    def _time(self, value: int) -> int | str:
        """A time as rows have it."""
        stream = next(iter(self.streams.values()))
        if stream.schema[stream.time] is not Type.TIMESTAMP:
            return value
        try:
            at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
        except OverflowError:
            return value
        return at.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")

    def _open(self, out: Path, written: int) -> None:
        """Open the file, cut back to what the token counts on."""
        try:
            if written:
                self._file = out.open("r+b")
                self._file.truncate(written)
                self._file.seek(written)
            else:
                self._file = out.open("wb")
        except OSError as fault:
            raise MachineError(f"--out {out}: cannot be written: {fault.strerror or fault}") from None


class _Lines(Printer):
    """Lines of CSV, marks as comments."""

    def begin(self) -> None:
        """The names of the columns first."""
        if self.out is None:
            for name in self.streams:
                label = f"{name}: " if len(self.streams) > 1 else ""
                sys.stdout.write(f"# {label}{self._header(name)}\n")
        super().begin()

    def print_rows(self, texts: Mapping[str, pl.DataFrame]) -> None:
        for name, rows in texts.items():
            sys.stdout.write(self._lines(name, rows))

    def mark(self, through: object, token: str) -> None:
        sys.stdout.write("# complete\n" if through is None else f"# complete through {through} token {token}\n")

    def resumes(self, through: object) -> None:
        sys.stdout.write(f"# resumes after {through}\n")

    def lost(self, after: object, through: object) -> None:
        sys.stdout.write(f"# lost after {after} through {through}\n")


class _Json(Printer):
    """Lines of JSON."""

    def print_rows(self, texts: Mapping[str, pl.DataFrame]) -> None:
        for name, rows in texts.items():
            stream = self.streams[name]
            for row in as_json(rows).iter_rows(named=True):
                said: dict[str, Any] = {"output": name} if len(self.streams) > 1 else {}
                said["t"] = row.pop(stream.time)
                if stream.signed:
                    said["sign"] = row.pop(SIGN)
                sys.stdout.write(json.dumps({**said, "row": row}, default=str) + "\n")

    def mark(self, through: object, token: str) -> None:
        said = {"complete": True} if through is None else {"through": through, "token": token}
        sys.stdout.write(json.dumps(said) + "\n")

    def resumes(self, through: object) -> None:
        sys.stdout.write(json.dumps({"resumes": through}) + "\n")

    def lost(self, after: object, through: object) -> None:
        sys.stdout.write(json.dumps({"lost": [after, through]}) + "\n")


def as_json(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows without the numbers that JSON does not have: NaN and infinities are null."""
    numbers = cs.float()
    return rows.with_columns(pl.when(numbers.is_finite()).then(numbers))


def columns_of(stream: Stream) -> list[str]:
    """The columns as they are printed: the time, + or -, and the others."""
    first = [stream.time, SIGN] if stream.signed else [stream.time]
    return [*first, *(name for name in stream.schema.names if name not in first)]


def as_texts(rows: pl.DataFrame, stream: Stream) -> pl.DataFrame:
    """Rows as people read them."""
    times = [name for name in stream.schema.names if stream.schema[name] is Type.TIMESTAMP]
    rows = rows.with_columns(pl.col(name).dt.to_string("iso") for name in times)
    if stream.signed:
        plus = pl.when(pl.col(SIGN) > 0).then(pl.lit("+")).otherwise(pl.lit("-"))
        rows = rows.with_columns(plus.alias(SIGN))
    return rows.select(columns_of(stream))
