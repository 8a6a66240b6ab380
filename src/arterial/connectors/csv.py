"""CSV with a header, block by block: whole records as texts or types; each record is judged by itself.

A quote opens a field only where the field begins, and a quoted field may hold line ends. A record with too many or too
few fields is set aside, never cut or filled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import polars as pl
from numba import njit

from arterial.arrays import Array
from arterial.connectors.rejects import Reject
from arterial.errors import DataError
from arterial.network.schema import can_be_named

BLOCK_BYTES = 4 * 1024 * 1024
LONGEST_QUOTED = 1024 * 1024
"""A quote that is not closed for so many bytes was none."""
LONGEST_LINE = 32 * 1024 * 1024
"""A longer line is set aside; only its beginning is kept."""
_KEPT = 200

_UNCLOSED = -1
_NONE = np.empty(0, np.int64)
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Texts:
    """The rows of a file with the number of each one's line, and the lines that cannot be rows."""

    rows: pl.DataFrame
    lines: Sequence[int] | Array
    rejects: Sequence[Reject] = ()


@dataclass(frozen=True)
class Header:
    """The first line of a CSV file: the names of its columns and what stands between them; and its length."""

    names: tuple[str, ...]
    delimiter: str
    size: int


@dataclass(frozen=True)
class Records:
    """Whole records of a file: their bytes, where each begins and ends, and its line counted from the block's first."""

    data: bytes
    starts: Array
    ends: Array
    lines: Array
    has_odd_quotes: bool

    def text(self, place: int) -> str:
        """A record as it stands in the file."""
        return self.data[self.starts[place] : self.ends[place]].decode("utf-8", errors="replace").rstrip("\r")

    def only(self, places: Sequence[int] | Array) -> Records:
        """Some of the records."""
        starts, ends = self.starts[places], self.ends[places]
        kept = b"".join(self.data[start:end] + b"\n" for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
        sizes = ends - starts
        begins = np.cumsum(sizes + 1) - sizes - 1
        return Records(kept, begins, begins + sizes, self.lines[places], self.has_odd_quotes)


def read_header(file: BinaryIO, where: str, *, ends: bool = True) -> Header | None:
    """Read the first line; None if it is not all there yet, of a file that grows."""
    line = file.readline(LONGEST_QUOTED)
    if not ends and not line.endswith(b"\n"):
        return None
    if line.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in line:
        raise DataError(f"{where}: is UTF-16, or no text; expected UTF-8, as iconv -f UTF-16 -t UTF-8 makes it")
    text = line.decode("utf-8-sig", errors="replace").strip("\r\n")
    if "\r" in text:
        raise DataError(
            f"{where}: its lines end with a carriage return alone; expected LF or CRLF, as tr '\\r' '\\n' makes"
        )
    if not text.strip():
        raise DataError(f"{where}: is empty; expected a line with the names of the columns, then rows")
    delimiter = max(_DELIMITERS, key=text.count)
    # The index that many programs write beside the columns has no name.
    names = tuple((name or "").strip() or f"column_{place}" for place, name in enumerate(_fields(text, delimiter), 1))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{where}: line 1: two columns are named {twice!r}")
    return Header(names, delimiter, len(line))


def split_records(
    data: bytes, header: Header, *, final: bool, by_line: bool = False
) -> tuple[Records, list[Reject], int, int]:
    """The records of a block, those with a wrong number of fields, how many bytes they are, and how many lines.

    `by_line`: every line is a record, so no quoted field holds a line end.
    """
    block, delimiter = np.frombuffer(data, np.uint8), ord(header.delimiter)
    if b'"' in data:
        starts, ends, lines, fields, odd, used, passed = _scan(block, delimiter, final, LONGEST_QUOTED, by_line)
    else:
        starts, ends, lines, fields, used = _scan_lines(block, delimiter, final, data.count(b"\n") + 1)
        odd, passed = np.zeros(len(starts), np.bool_), len(starts)
    blank = (fields == 1) & (
        (ends == starts) | ((ends == starts + 1) & (block[np.minimum(starts, len(data) - 1)] == 13))
    )
    sizes = ends - starts
    good = (fields == len(header.names)) & ~blank & (sizes <= LONGEST_LINE)
    bad = np.flatnonzero(~good & ~blank)
    found = Records(data[:used], starts, ends, lines, bool(odd[good].any()))
    rejects = []
    for place in bad.tolist():
        if sizes[place] > LONGEST_LINE:
            rejects.append(too_long(int(lines[place]), int(sizes[place]) + 1, data[starts[place] :][:_KEPT]))
            continue
        is_open, expected = fields[place] == _UNCLOSED, len(header.names)
        reason = "a quoted field is not closed" if is_open else f"{fields[place]} field(s), expected {expected}"
        rejects.append(Reject(int(lines[place]), reason, found.text(place)))
    if not good.all():
        found = found.only(np.flatnonzero(good))
    return found, rejects, used, passed


_COMPRESSED: Final = (b"\x1f\x8b", b"x\x01", b"x\x9c", b"x\xda", b"(\xb5/\xfd")
"""How data begins that Polars would unpack before it reads it; here these are signs like all others."""


def read_records(
    records: Records, header: Header, types: dict[str, pl.DataType], *, lossy: bool = False
) -> pl.DataFrame | None:
    """These columns of records as types; None if a text does not fit its type, or is not UTF-8."""
    schema = {name: types.get(name, pl.String()) for name in header.names}
    if not len(records.starts):
        return pl.DataFrame(schema={name: schema[name] for name in types})
    try:
        if not records.has_odd_quotes and not records.data.startswith(_COMPRESSED):
            rows = pl.read_csv(
                records.data,
                has_header=False,
                separator=header.delimiter,
                schema=schema,
                columns=sorted(header.names.index(name) for name in types),
                encoding="utf8-lossy" if lossy else "utf8",
            ).select(list(types))
            if rows.height == len(records.starts):
                return rows
        return _read_one_by_one(records, header, types, lossy)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None


def read_texts(path: Path, *, aside: bool = False, opened: BinaryIO | None = None) -> Texts:
    """Read all columns of a file that a network can name, as texts.

    A record that is not UTF-8 is an error or, with `aside`, a reject.

    `opened` are its bytes, if they were compressed.
    """
    parts, numbers, rejects = [], [], []
    try:
        with opened or path.open("rb") as file:
            header = read_header(file, str(path))
            assert header is not None
            types: dict[str, pl.DataType] = {name: pl.String() for name in header.names if can_be_named(name)}
            line = 2
            for records, bad, _, passed in record_blocks(file, header):
                rows = read_records(records, header, types)
                if rows is None and aside:
                    records, no_text = only_utf8(records)
                    bad = sorted([*bad, *no_text])
                    rows = read_records(records, header, types)
                if rows is None:
                    raise DataError(f"{path}: cannot be read as CSV: bytes that are not UTF-8")
                parts.append(rows)
                numbers.append(records.lines + line)
                rejects += [reject._replace(line=reject.line + line) for reject in bad]
                line += passed
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}") from None
    if not parts:
        return Texts(pl.DataFrame(schema=types), [])
    return Texts(pl.concat(parts), np.concatenate(numbers), rejects)


def only_utf8(records: Records) -> tuple[Records, list[Reject]]:
    """The records without those that are not UTF-8, and these as rejects."""
    try:
        records.data.decode("utf-8")
        return records, []
    except UnicodeDecodeError:
        pass
    good, rejects = [], []
    for place in range(len(records.starts)):
        try:
            records.data[records.starts[place] : records.ends[place]].decode("utf-8")
            good.append(place)
        except UnicodeDecodeError:
            rejects.append(Reject(int(records.lines[place]), "is not UTF-8", records.text(place)))
    return records.only(good), rejects


def record_blocks(
    file: BinaryIO, header: Header, *, ends: bool = True, size: int = 0
) -> Iterator[tuple[Records, list[Reject], int, int]]:
    """Records of a stream behind its header, those with a wrong number of fields, and how many bytes and lines."""
    for lines in whole_lines(file, ends=ends, size=size):
        if lines.too_long:
            yield Records(b"", _NONE, _NONE, _NONE, False), [lines.reject()], lines.too_long, 1
            continue
        records, bad, used, passed = split_records(lines.data, header, final=lines.final)
        lines.use(used)
        if used:
            yield records, bad, used, passed


def judged(
    found: Texts,
    wrong: pl.DataFrame,
    expected: Callable[[str, object], str],
    text_of: Callable[[int], str] | None = None,
) -> tuple[pl.Series, list[Reject]]:
    """Which rows fit, and the others with the reasons.

    `wrong` says of some columns which values do not fit; `expected` says what should stand in a column instead, and
    `text_of` gives a row as it stands in the file, if that is known.
    """
    bad = wrong.select(pl.any_horizontal(pl.all())).to_series()
    rejects = []
    places = bad.arg_true().to_list()
    rows = printable(found.rows[places])
    for place, values, flags in zip(places, rows.iter_rows(named=True), wrong[places].iter_rows(), strict=True):
        reasons = []
        for name, is_wrong in zip(wrong.columns, flags, strict=True):
            if is_wrong:
                value = values[name]
                reasons.append(
                    f"{name} is {'empty' if value is None else repr(value)}, expected {expected(name, value)}"
                )
        text = text_of(place) if text_of else ",".join("" if v is None else str(v) for v in values.values())
        rejects.append(Reject(int(found.lines[place]), "; ".join(reasons), text))
    return ~bad, rejects


def printable(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with dates and times as texts, or as numbers if they are of no year that a text can have."""
    return rows.with_columns(_time_texts(rows[name]) for name, kind in rows.schema.items() if kind.is_temporal())


def _time_texts(times: pl.Series) -> pl.Series:
    numbers = times.to_physical().cast(pl.Int64)
    if times.dtype in (pl.Time, pl.Duration):
        return numbers.cast(pl.String)
    days = 1 if times.dtype == pl.Date else 86_400 * _A_SECOND.get(getattr(times.dtype, "time_unit", "ns"), 1)
    known = numbers.abs() < 2_000_000 * days
    texts = times.set(~known, None).cast(pl.String)
    return texts.zip_with(known.fill_null(True), numbers.cast(pl.String))


_A_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class Lines:
    """The next bytes of a stream. Who takes whole lines of them says with `use` how many; the rest comes again."""

    data: bytes
    final: bool
    use: Callable[[int], None]
    too_long: int = 0
    """If more than 0, the data is only the beginning of one line of so many bytes."""

    def reject(self) -> Reject:
        """The line that is too long."""
        return too_long(0, self.too_long, self.data)


def too_long(line: int, size: int, data: bytes) -> Reject:
    """A line that is set aside for its length alone, with its end as one of its bytes."""
    reason = f"has {size:,} bytes, expected at most {LONGEST_LINE:,}"
    return Reject(line, reason, data[:_KEPT].decode("utf-8", errors="replace"))


def whole_lines(file: BinaryIO, *, ends: bool = True, size: int = 0) -> Iterator[Lines]:
    """A stream in blocks of about `size` bytes. Without `ends` a last line without its end is left."""
    rest, last = b"", False
    while not last:
        more = file.read(size or BLOCK_BYTES)
        data, last = rest + more, not more
        if not data or (last and not ends):
            return
        used: list[int] = []
        yield Lines(data, last, used.append)
        rest = data[used[0] :]
        if len(rest) > LONGEST_LINE:
            start, length, rest = rest[:_KEPT], *_pass_line(file, rest)
            if length or ends:
                yield Lines(start, False, used.append, length or LONGEST_LINE)


def _pass_line(file: BinaryIO, rest: bytes) -> tuple[int, bytes]:
    """Read on to the end of a line: its length, 0 if the stream ends before; and what was read of the next."""
    length = 0
    while (end := rest.find(b"\n")) < 0:
        length += len(rest)
        rest = file.read(BLOCK_BYTES)
        if not rest:
            return 0, b""
    return length + end + 1, rest[end + 1 :]


def _read_one_by_one(
    records: Records, header: Header, types: dict[str, pl.DataType], lossy: bool
) -> pl.DataFrame | None:
    """For quotes in the middle of a field, and line ends of old Macs, which stay as they are; texts only."""
    if any(kind != pl.String for kind in types.values()):
        return None
    rows: list[list[str | None]] = []
    for start, end in zip(records.starts, records.ends, strict=True):
        text = records.data[start:end].decode("utf-8", errors="replace" if lossy else "strict").rstrip("\r")
        rows.append(_fields(text, header.delimiter))
    return pl.DataFrame(rows, schema=dict.fromkeys(header.names, pl.String), orient="row").select(list(types))


def _fields(text: str, delimiter: str) -> list[str | None]:
    """The fields of a record, by the rules of `_scan`; as Polars has it, one without a sign in it is null, and a
    carriage return behind one is no part of it.

    >>> _fields('1;"a; b";c"d;;""', ";")
    ['1', 'a; b', 'c"d', None, '']
    """
    fields: list[str | None] = []
    at = 0
    while True:
        value, is_quoted = "", text.startswith('"', at)
        if is_quoted:
            at += 1
            while (close := text.find('"', at)) >= 0 and text.startswith('"', close + 1):
                value, at = value + text[at : close + 1], close + 2
            close = len(text) if close < 0 else close
            value, at = value + text[at:close], close + 1
        end = text.find(delimiter, at)
        value += (text[at:] if end < 0 else text[at:end]).removesuffix("\r")
        fields.append(value if value or is_quoted else None)
        if end < 0:
            return fields
        at = end + 1


@njit(cache=True, nogil=True)  # files are read ahead in threads
def _scan_lines(data: Array, delimiter: int, final: bool, most: int) -> Any:
    """The same as `_scan` where no quote is: every line is a record."""
    starts, ends, fields = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int32)
    count, start, number = 0, 0, 1
    for at in range(len(data)):
        sign = data[at]
        if sign == delimiter:
            number += 1
        elif sign == 10:
            starts[count], ends[count], fields[count] = start, at, number
            count += 1
            start, number = at + 1, 1
    if final and start < len(data):
        starts[count], ends[count], fields[count] = start, len(data), number
        count += 1
        start = len(data)
    return starts[:count], ends[:count], np.arange(count), fields[:count], start


@njit(cache=True, nogil=True)  # files are read ahead in threads
def _scan(data: Array, delimiter: int, final: bool, longest: int, by_line: bool) -> Any:
    """Where records begin and end, their lines and numbers of fields, and which have quotes where none should be."""
    size = len(data)
    most = 1
    for sign in data:
        if sign == 10:
            most += 1
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    lines, fields = np.empty(most, np.int64), np.empty(most, np.int32)
    odd = np.zeros(most, np.bool_)
    count = at = line = 0
    while at < size:
        start, number, first_end, inner = at, 1, -1, 0
        begins, is_odd, is_open, is_whole = True, False, False, False
        while at < size:
            sign = data[at]
            if begins and sign == 34:
                is_open = True
                at += 1
                while at < size:
                    if data[at] == 34:
                        if at + 1 < size and data[at + 1] == 34:
                            at += 2
                            continue
                        is_open = False
                        at += 1
                        break
                    if data[at] == 10:
                        if by_line:
                            break
                        inner += 1
                        if first_end < 0:
                            first_end = at
                    at += 1
                begins = False
                if at < size and data[at] != delimiter and data[at] != 10 and data[at] != 13:
                    is_odd = True
                continue
            begins = sign == delimiter
            if begins:
                number += 1
            elif sign == 10:
                is_whole = True
                break
            elif sign == 34:
                is_odd = True
            at += 1
        if not is_whole:
            if is_open and first_end >= 0 and (final or size - start > longest):
                at, number, inner = first_end, _UNCLOSED, 0
            elif not final:
                return starts[:count], ends[:count], lines[:count], fields[:count], odd[:count], start, line
            elif is_open:
                number = _UNCLOSED
        elif is_open:
            number = _UNCLOSED
        starts[count], ends[count], lines[count], fields[count], odd[count] = start, at, line, number, is_odd
        count += 1
        line += 1 + inner
        at += 1
    return starts[:count], ends[:count], lines[:count], fields[:count], odd[:count], min(at, size), line
