"""JSON lines: an object a line. A line that is no object, or has a value of another type, is set aside."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator
from typing import BinaryIO

import polars as pl

from arterial.connectors.csv import Texts, whole_lines
from arterial.connectors.rejects import Reject


def text_blocks(
    file: BinaryIO, names: tuple[str, ...], *, ends: bool = True, size: int = 0
) -> Iterator[tuple[Texts, list[bytes], int, int]]:
    """The values of these names as texts, the lines as they stand there, and how many bytes and lines they are."""
    for lines in whole_lines(file, ends=ends, size=size):
        if lines.too_long:
            empty = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
            yield Texts(empty, [], [lines.reject()]), [], lines.too_long, 1
            continue
        used = len(lines.data) if lines.final else lines.data.rfind(b"\n") + 1
        lines.use(used)
        if used:
            yield read_objects(lines.data[:used], names)


def read_all(file: BinaryIO, names: tuple[str, ...]) -> Texts:
    """The values of these names as texts, of all lines, with the number of each line."""
    parts, before = [pl.DataFrame(schema=dict.fromkeys(names, pl.String))], 1
    lines: list[int] = []
    rejects: list[Reject] = []
    for texts, _, _, passed in text_blocks(file, names):
        parts.append(texts.rows)
        lines += [int(number) + before for number in texts.lines]
        rejects += [reject._replace(line=reject.line + before) for reject in texts.rejects]
        before += passed
    return Texts(pl.concat(parts), lines, rejects)


def read_objects(data: bytes, names: tuple[str, ...]) -> tuple[Texts, list[bytes], int, int]:
    """The same of whole lines."""
    used = len(data)
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    filled = [number for number, line in enumerate(lines) if not is_blank(line)]
    kept = [lines[number] for number in filled]
    schema = dict.fromkeys(names, pl.String)
    if not kept:
        return Texts(pl.DataFrame(schema=schema), []), [], used, len(lines)
    try:
        rows = pl.read_ndjson(io.BytesIO(b"\n".join(kept)), schema=schema)
        if rows.height == len(kept):
            return Texts(rows, filled), kept, used, len(lines)
    except pl.exceptions.PolarsError:
        pass
    good, numbers, rejects, texts = [], [], [], []
    for number, line in zip(filled, kept, strict=True):
        try:
            value = json.loads(line.decode("utf-8-sig"))
            if not isinstance(value, dict):
                hint = ", as jq -c '.[]' makes of an array" if isinstance(value, list) else ""
                raise ValueError(f"a {type(value).__name__}; expected one object a line{hint}")
            row = [_text(value.get(name)) for name in names]
        except (ValueError, RecursionError) as fault:
            reason = f"is not a JSON object: {str(fault).splitlines()[0]}"
            rejects.append(Reject(number, reason, line.decode("utf-8", errors="replace").strip()))
            continue
        good.append(row)
        numbers.append(number)
        texts.append(line)
    return Texts(pl.DataFrame(good, schema=schema, orient="row"), numbers, rejects), texts, used, len(lines)


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
