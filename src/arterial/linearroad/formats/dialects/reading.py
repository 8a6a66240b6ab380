"""Lines to answers, from the output of any system.

A line that is no answer is counted and kept with its number and the reason, and never stops the reading. Reading is
vectorised, like writing.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from arterial.linearroad.formats.answers import ANSWER_SCHEMA, ANSWER_TYPES, Answers
from arterial.linearroad.formats.dialects.dialect import Dialect
from arterial.linearroad.formats.dialects.files import chunks_of, output_files, read_chunk

KEPT_FAULTS = 100
_SMALL = 64 << 10
_INT64 = 2**63


@dataclass(frozen=True)
class Fault:
    """A line that is no answer: where it stands, why it is refused, and its beginning."""

    file: str
    line: int
    reason: str
    text: str


@dataclass(frozen=True)
class Output:
    """What an output, or a piece of one, holds; `faults` are the first of those that `fault_counts` counts."""

    answers: Answers
    lines: int
    faults: tuple[Fault, ...]
    fault_counts: Mapping[str, int]


def read_output(path: Path, of: Dialect) -> Output:
    """Read an output file, or every output file of a folder."""
    return _joined(
        [
            (str(file), _joined([("", parse(read_chunk(file, *span), of)) for span in chunks_of(file)]))
            for file in output_files(path)
        ],
        same_text=False,
    )


def parse(text: bytes, of: Dialect) -> Output:
    """Read whole lines, the first of which is number 1.

    Clean text goes through one vectorised pass; only text with faults is looked at line by line.
    """
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if text and not text.endswith(b"\n"):
        text += b"\n"
    clean = _parse_clean(text, of)
    if clean is not None:
        return clean
    if len(text) <= _SMALL:
        return _parse_lines(text, of)
    # A few faults must not slow down the many clean lines around them.
    pieces = []
    cut = 0
    while cut < len(text):
        after = text.find(b"\n", min(cut + len(text) // 8, len(text) - 1)) + 1
        pieces.append(parse(text[cut:after], of))
        cut = after
    return _joined([("", piece) for piece in pieces])


def _joined(pieces: list[tuple[str, Output]], *, same_text: bool = True) -> Output:
    """The pieces, each with its file, as one; pieces of the same text go on counting its lines."""
    faults: list[Fault] = []
    counts: Counter[str] = Counter()
    lines = 0
    for file, piece in pieces:
        before = lines if same_text else 0
        faults += [Fault(file or f.file, before + f.line, f.reason, f.text) for f in piece.faults]
        counts.update(piece.fault_counts)
        lines += piece.lines
    return Output(
        Answers.concat(piece.answers for _, piece in pieces), lines, tuple(faults[:KEPT_FAULTS]), dict(counts)
    )


def _parse_clean(text: bytes, of: Dialect) -> Output | None:
    """The answers if every line is clean, else None.

    Every line has at least the fields of its type if those are all there; it has no more if the commas of the whole
    text are as many as the types need.
    """
    width = 1 + max(len(columns) for columns in of.columns.values())
    sentinel = b"0" + b",0" * (width - 1) + b"\n"
    decimals = {1 + columns.index("emit") for columns in of.columns.values()}
    schema = {f"f{i}": pl.Float64 if i in decimals else pl.Int64 for i in range(width)}
    try:
        frame = pl.read_csv(
            sentinel + text,
            has_header=False,
            schema=schema,
            truncate_ragged_lines=True,
            ignore_errors=True,
            quote_char=None,
        )[1:]
    except pl.exceptions.PolarsError:
        return None
    lines = text.count(b"\n")
    if frame.height != lines or frame["f0"].null_count():
        return None
    commas = 0
    tables = {}
    seen = 0
    for answer_type, columns in of.columns.items():
        rows = frame.filter(pl.col("f0") == answer_type)
        if rows.height == 0:
            continue
        named = rows.select(pl.col(f"f{i}").alias(name) for i, name in enumerate(columns, start=1))
        for name in named.columns:
            values = named[name]
            if values.null_count() or (values.dtype == pl.Float64 and not _acceptable(values.to_numpy(), name)):
                return None
        seen += rows.height
        commas += rows.height * len(columns)
        tables[answer_type] = _table(answer_type, named, of)
    if seen != lines or commas != text.count(b","):
        return None
    return Output(Answers.of(tables), lines, (), {})


def _acceptable(values: np.ndarray, name: str) -> bool:
    if not np.isfinite(values).all():
        return False
    return name == "emit" or bool((np.abs(values) < 2**53).all() and (values == np.floor(values)).all())


def _parse_lines(text: bytes, of: Dialect) -> Output:
    kept: dict[int, list[list[int | float]]] = {t: [] for t in of.columns}
    faults: list[Fault] = []
    counts: Counter[str] = Counter()
    rows = text.decode("utf-8", "replace").split("\n")[:-1]
    for number, row in enumerate(rows, start=1):
        if not row.strip():
            continue
        read = _read_line(row, of)
        if isinstance(read, str):
            counts[read] += 1
            if len(faults) < KEPT_FAULTS:
                faults.append(Fault("", number, read, row[:200]))
        else:
            kept[read[0]].append(read[1])
    tables = {}
    for answer_type, values in kept.items():
        if values:
            names = of.columns[answer_type]
            frame = pl.DataFrame(
                values,
                schema={name: pl.Float64 if name == "emit" else pl.Int64 for name in names},
                orient="row",
            )
            tables[answer_type] = _table(answer_type, frame, of)
    return Output(Answers.of(tables), len(rows), tuple(faults), dict(counts))


_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")


def _read_line(row: str, of: Dialect) -> tuple[int, list[int | float]] | str:
    """The type and fields of a line, or why it is refused."""
    fields = [one.strip() for one in row.split(",")]
    if not _WHOLE.fullmatch(fields[0]):
        return "the type is no integer"
    answer_type = int(float(fields[0]))
    if answer_type not in ANSWER_TYPES:
        return "unknown type"
    columns = of.columns.get(answer_type)
    if columns is None:
        return f"dialect {of.name} has no type {answer_type}"
    if len(fields) != 1 + len(columns):
        return f"type {answer_type} has {1 + len(columns)} fields in dialect {of.name}"
    values: list[int | float] = []
    for name, one in zip(columns, fields[1:], strict=True):
        if name == "emit":
            try:
                emit = float(one)
            except ValueError:
                return "emit is no number"
            if not math.isfinite(emit):
                return "emit is no number"
            values.append(emit)
        else:
            if not _WHOLE.fullmatch(one):
                return f"{name} is no integer"
            whole = int(one.partition(".")[0])
            if not -_INT64 <= whole < _INT64:
                return f"{name} is too large"
            values.append(whole)
    return answer_type, values


def _table(answer_type: int, frame: pl.DataFrame, of: Dialect) -> pa.Table:
    """The table of a type from the dialect's fields; a field that the dialect leaves out is -1."""
    emit = pl.col("emit")
    if of.emit == "elapsed_milliseconds":
        emit = pl.col("time") + emit / 1000
    schema = ANSWER_SCHEMA[answer_type]
    whole = frame.select(
        emit.cast(pl.Float64).alias("emit")
        if name == "emit"
        else (pl.col(name) if name in frame.columns else pl.lit(-1)).cast(pl.Int64).alias(name)
        for name in schema.names
    )
    return whole.to_arrow().cast(schema)
