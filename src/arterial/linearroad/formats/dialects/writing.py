"""Answers to lines: vectorised, tens of millions of lines a file."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import polars as pl
import pyarrow as pa

from arterial.errors import DataError
from arterial.linearroad.formats.answers import Answers
from arterial.linearroad.formats.dialects.dialect import Dialect


def encode(answer_type: int, table: pa.Table, into: Dialect) -> bytes:
    """The lines of one type's answers; nothing if the dialect has no such type.

    Emission is rounded up to the dialect's unit, so that a line never claims to be earlier than it was; a limit in
    whole seconds then decides the same before and after.
    """
    columns = into.columns.get(answer_type)
    if columns is None or table.num_rows == 0:
        return b""
    frame = pl.DataFrame(pl.from_arrow(table))
    if into.emit == "seconds":
        emit = _ceil(pl.col("emit") * 1000) / 1000
    elif into.emit == "whole_seconds":
        emit = _ceil(pl.col("emit")).cast(pl.Int64)
    else:
        emit = _ceil((pl.col("emit") - pl.col("time")) * 1000).cast(pl.Int64)
    lines = frame.select(
        pl.lit(answer_type).alias("type"), *(emit.alias("emit") if name == "emit" else pl.col(name) for name in columns)
    )
    text = BytesIO()
    lines.write_csv(text, include_header=False, float_precision=3)
    return text.getvalue()


def write_output(answers: Answers, folder: Path, into: Dialect) -> list[Path]:
    """Write answers to `folder` in the dialect's files, replacing them; returns the files."""
    files = into.file_names()
    paths = [folder / name for name in dict.fromkeys(files.values())]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            with path.open("wb") as out:
                for answer_type, name in files.items():
                    if name == path.name:
                        out.write(encode(answer_type, answers.of_type(answer_type), into))
    except OSError as fault:
        raise DataError(f"{folder}: cannot write the output ({fault.strerror}). Choose another folder.") from fault
    return paths


def _ceil(value: pl.Expr) -> pl.Expr:
    # 12.345 s may be 12345.000000000002 ms: that is not a millisecond more.
    return (value - 1e-6).ceil()
