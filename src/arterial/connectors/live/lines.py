"""Lines of one connection as rows: CSV with a header or given columns, or JSON lines, whatever the pieces they come in.

A line is read as the lines of files are (`files.blocks`), but for one rule: a record is a line, so a quoted field holds
no line end. Otherwise one stray quote would hold back all that follows.
"""

from __future__ import annotations

import codecs
import io
from dataclasses import dataclass, field

import numpy as np

from arterial.connectors.csv import Header, read_header
from arterial.connectors.files.blocks import Block, Place, Reading, check_names, read_csv_lines, read_json_lines
from arterial.connectors.files.json_lines import is_blank
from arterial.connectors.rejects import Reject
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError
from arterial.network.schema import Schema

CSV, JSON = "csv", "jsonl"
FORMATS = (CSV, JSON)
LONGEST_LINE = 1 << 20
"""A longer line is set aside; no more of it is kept in memory."""
_SHOWN = 1000


@dataclass(frozen=True)
class LineFormat:
    """What lines look like; what is None is recognised: the format by the first sign, columns by a header."""

    schema: Schema
    format: str | None = None
    columns: str | None = None
    times: TimeOptions = field(default_factory=TimeOptions)


class LineReader:
    """Reads the lines of one connection.

    `skip` is how many lines the sender sends again; they are passed over. A header that does not fit is a `DataError`.
    """

    def __init__(self, name: str, form: LineFormat, *, skip: int = 0) -> None:
        self.name, self.form = name, form
        self.place = Place()
        self.lines = 0
        """How many lines were judged; blank ones, the header and those sent again do not count."""
        self.skip = skip
        self._rest = b""
        self._is_header_next = False
        self._header: Header | None = None
        self._format = form.format or (CSV if form.columns else None)
        if form.columns and self._format == CSV:
            self._header = self._checked(form.columns.encode())

    @property
    def fits(self) -> bool:
        """Whether it is known how to read the lines: the first one was there, and fits."""
        return self._format == JSON or self._header is not None

    def feed(self, data: bytes, most: int | None = None) -> tuple[Block, bool]:
        """Read the lines that a piece completes, at most so many; and whether there were more."""
        whole = self._whole_lines(data)
        self._begin(whole)
        if not self.fits:
            self.place.lines += whole.count(b"\n")
            return Block(self.form.schema.empty(), []), False
        if self._is_header_next:
            whole = self._pass_header(whole)
        if self.skip:
            known, whole = self._first_lines(whole, self.skip)
            self.skip -= self._count(known)
            self.place.lines += known.count(b"\n")
        left = b""
        if most is not None and whole.count(b"\n") > most:
            whole, left = self._first_lines(whole, most)
        whole, rejects = self._without_long(whole)
        block = self._read(whole) if whole else Block(self.form.schema.empty(), [])
        block = Block(block.rows, self._named(sorted([*rejects, *block.rejects])))
        self.lines += block.rows.height + len(block.rejects)
        return block, self._count(left) > 0

    def finish(self) -> list[Reject]:
        """The last line, if it was cut short; such a line is never accepted, and does not count as sent."""
        if not self._rest.strip():
            return []
        text = self._rest[:_SHOWN].decode("utf-8", errors="replace")
        self._rest = b""
        return self._named([Reject(self.place.lines + 1, "has no end: it may be cut short", text)])

    def _whole_lines(self, data: bytes) -> bytes:
        end = data.rfind(b"\n") + 1
        if not end:
            # Past the longest permitted line nothing more of it needs to be kept.
            self._rest += data[: max(0, LONGEST_LINE + 1 - len(self._rest))]
            return b""
        whole = self._rest + data[:end]
        self._rest = data[end : end + LONGEST_LINE + 1]
        return whole

    def _without_long(self, whole: bytes) -> tuple[bytes, list[Reject]]:
        """Put blank lines in the place of those that are too long."""
        if len(whole) <= LONGEST_LINE:
            return whole, []
        ends = np.flatnonzero(np.frombuffer(whole, np.uint8) == 10)
        begins = np.concatenate([[0], ends[:-1] + 1])
        rejects, pieces, at = [], [], 0
        for place in np.flatnonzero(ends - begins > LONGEST_LINE).tolist():
            text = whole[begins[place] : begins[place] + _SHOWN].decode("utf-8", errors="replace")
            reason = f"is longer than {LONGEST_LINE:,} bytes"
            rejects.append(Reject(self.place.lines + place + 1, reason, text))
            pieces.append(whole[at : begins[place]])
            at = int(ends[place])
        return b"".join([*pieces, whole[at:]]), rejects

    def _begin(self, whole: bytes) -> None:
        """Recognise the format, and read the header."""
        if self.fits or not whole.strip():
            return
        first = whole[_blank_bytes(whole) :]
        if self._format is None:
            self._format = JSON if first[:1] == b"{" else CSV
        if self._format == CSV:
            try:
                self._header = self._checked(first[: first.find(b"\n") + 1])
            except DataError as fault:
                raise DataError(f"{fault}. Lines without a header need columns=…") from None
            self._is_header_next = True

    def _checked(self, line: bytes) -> Header:
        """The columns that a line names."""
        header = read_header(io.BytesIO(line), self.name)
        assert header is not None, "the line is all there"
        check_names(self.name, header.names, self.form.schema)
        return header

    def _pass_header(self, whole: bytes) -> bytes:
        end = whole.find(b"\n", _blank_bytes(whole)) + 1
        self.place.lines += whole[:end].count(b"\n")
        self._is_header_next = False
        return whole[end:]

    def _read(self, whole: bytes) -> Block:
        reading = Reading(self.form.schema, self.form.times)
        if self._format == JSON:
            return read_json_lines(whole, reading, self.place)
        assert self._header is not None
        return read_csv_lines(whole, self._header, reading, self.place)

    def _first_lines(self, whole: bytes, count: int) -> tuple[bytes, bytes]:
        """So many lines that are not blank, and the rest."""
        at = 0
        while count and at < len(whole):
            end = whole.find(b"\n", at) + 1
            count -= not self._is_blank(whole[at:end])
            at = end
        return whole[:at], whole[at:]

    def _count(self, whole: bytes) -> int:
        return sum(not self._is_blank(line) for line in whole.split(b"\n"))

    def _is_blank(self, line: bytes) -> bool:
        return is_blank(line) if self._format == JSON else line.removesuffix(b"\n") in (b"", b"\r")

    def _named(self, rejects: list[Reject]) -> list[Reject]:
        return [reject._replace(file=self.name) for reject in rejects]


def _blank_bytes(whole: bytes) -> int:
    """How many bytes at the beginning say nothing: a mark of UTF-8, blank lines."""
    return len(whole) - len(whole.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n \t"))
