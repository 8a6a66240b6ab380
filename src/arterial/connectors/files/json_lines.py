"""JSON lines: an object a line. A line that is no object, or has a value of another type, is set aside."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final

import polars as pl

from arterial.connectors import csv
from arterial.connectors.csv import Texts, whole_lines
from arterial.connectors.rejects import Reject

_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""Half of a character in JSON's escapes; Polars makes a zero byte of one that stands alone."""


_OF_AN_ARRAY = ", as jq -c '.[]' makes of an array"
_BRACKETS = (b"[", b"]", b"{", b"}", b"},")
_WORDS: dict[type, str] = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}


def line_blocks(
    file: BinaryIO, *, ends: bool = True, size: int = 0
) -> Iterator[tuple[bytes, Sequence[Reject], int, int]]:
    """Whole lines, or one that is set aside since it is too long, and how many bytes and lines they are."""
    for lines in whole_lines(file, ends=ends, size=size):
        if lines.too_long:
            yield b"", [lines.reject()], lines.too_long, 1
            continue
        used = len(lines.data) if lines.final else lines.data.rfind(b"\n") + 1
        lines.use(used)
        if used:
            data = lines.data[:used]
            yield data, (), used, line_count(data)


def line_count(data: bytes) -> int:
    """How many lines there are; the last one may lack its end."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def text_blocks(file: BinaryIO, names: tuple[str, ...]) -> Iterator[tuple[Texts, int]]:
    """The values of these names as texts, and how many lines they are."""
    for data, too_long, _, passed in line_blocks(file):
        texts, _ = read_objects(data, names)
        yield Texts(texts.rows, texts.lines, [*too_long, *texts.rejects]), passed


def read_all(file: BinaryIO, names: tuple[str, ...]) -> Texts:
    """The values of these names as texts, of all lines, with the number of each line."""
    parts, before = [pl.DataFrame(schema=dict.fromkeys(names, pl.String))], 1
    lines: list[int] = []
    rejects: list[Reject] = []
    for texts, passed in text_blocks(file, names):
        parts.append(texts.rows)
        lines += [int(number) + before for number in texts.lines]
        rejects += [reject._replace(line=reject.line + before) for reject in texts.rejects]
        before += passed
    return Texts(pl.concat(parts), lines, rejects)


def read_objects(data: bytes, names: tuple[str, ...]) -> tuple[Texts, list[bytes]]:
    """The values of these names as texts, of whole lines, and the lines as they stand there."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    filled = [number for number, line in enumerate(lines) if not is_blank(line)]
    kept = [lines[number] for number in filled]
    schema = dict.fromkeys(names, pl.String)
    if not kept:
        return Texts(pl.DataFrame(schema=schema), []), []
    is_plain = not _SURROGATE.search(data) and max(map(len, kept)) <= csv.LONGEST_LINE
    rows = _read(kept, schema) if is_plain else None
    if rows is not None:
        return Texts(rows, filled), kept
    good, rejects = [], []
    for place, line in enumerate(kept):
        if len(line) > csv.LONGEST_LINE:
            rejects.append(csv.too_long(filled[place], len(line) + 1, line))
            continue
        try:
            good.append((place, _judged(line, names)))
        except ValueError as fault:
            text = line.decode("utf-8", errors="replace").strip()
            rejects.append(Reject(filled[place], f"is not a JSON object: {str(fault).splitlines()[0]}", text))
    rows = _read_each([line for _, line in good], names)
    return Texts(rows, [filled[n] for n, _ in good], rejects), [kept[n] for n, _ in good]


def _read(lines: list[bytes], schema: dict[str, type[pl.String]]) -> pl.DataFrame | None:
    """All lines at once; None if one of them is not read as one row."""
    if not lines:
        return pl.DataFrame(schema=schema)
    if not lines[0].lstrip().startswith(b"{"):  # Polars would unpack lines that begin as a compressed file does
        return None
    try:
        rows = pl.read_ndjson(io.BytesIO(b"\n".join(lines)), schema=schema)
    except pl.exceptions.PolarsError:
        return None
    return rows if rows.height == len(lines) else None


def _read_each(lines: list[bytes], names: tuple[str, ...]) -> pl.DataFrame:
    """The same rows as of each line alone: halves are read until those are found that must be rewritten.

    What becomes of a line must not depend on its neighbours, since a run that goes on cuts other blocks.
    """
    schema = dict.fromkeys(names, pl.String)
    rows = _read(lines, schema)
    if rows is not None:
        return rows
    if len(lines) == 1:
        return pl.DataFrame([_values(lines[0], names)], schema=schema, orient="row")
    middle = len(lines) // 2
    return pl.concat([_read_each(lines[:middle], names), _read_each(lines[middle:], names)])


def _judged(line: bytes, names: tuple[str, ...]) -> bytes:
    """The line if it is an object; rewritten as texts if it has what JSON does not (NaN, a mark of UTF-8)."""
    constants: list[float] = []

    def constant(name: str) -> float:
        constants.append(float(name))
        return constants[-1]

    try:
        value = json.loads(line.decode("utf-8-sig"), parse_constant=constant, object_pairs_hook=_first)
    except RecursionError:
        if _read([line], dict.fromkeys(names, pl.String)) is None:
            raise ValueError("nested too deeply") from None
        return line
    except ValueError as fault:
        if str(fault).startswith("Exceeds the limit"):
            raise ValueError("a number of more than 4,300 digits") from None
        if line.strip() in _BRACKETS:
            hint = _OF_AN_ARRAY if line.strip() in (b"[", b"]") else ", as jq -c . makes"
            raise ValueError(f"{line.strip().decode()} alone; expected one object a line{hint}") from None
        raise
    if not isinstance(value, dict):
        hint = _OF_AN_ARRAY if isinstance(value, list) else ""
        raise ValueError(f"{_WORDS.get(type(value), 'null')}; expected one object a line{hint}")
    if constants or line.startswith(codecs.BOM_UTF8):
        return json.dumps({name: _text(value.get(name)) for name in names}).encode()
    if _SURROGATE.search(line):
        for name in names:
            _text(value.get(name))
    return line


def _values(line: bytes, names: tuple[str, ...]) -> list[str | None]:
    """The texts of an object with a number that Polars does not read, such as 1e400."""
    value = json.loads(line, object_pairs_hook=_first)
    return [_text(value.get(name)) for name in names]


def _first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name that is there twice, the first value counts, as to Polars."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def is_blank(line: bytes) -> bool:
    """Whether a line says nothing; a mark of UTF-8 at its beginning says nothing either."""
    return not line.removeprefix(codecs.BOM_UTF8).strip(b" \t\r\n")


def _text(value: object) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    if not is_text(text):
        raise ValueError("half of a surrogate pair, which is no character")
    return text


def is_text(text: str) -> bool:
    """Whether it can be written as UTF-8: JSON's escapes can name what is no character."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)
