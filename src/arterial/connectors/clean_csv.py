"""CSV files made ready to be read by rows: checked line by line, the bad lines set aside, the good ones as Parquet."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from arterial.errors import DataError
from arterial.network.schema import Schema, Type
from arterial.storage.place import put_in_place

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


def clean_csv(file: Path, ready: Path, schema: Schema) -> int:
    """Write a CSV file with a header as Parquet of the given schema; how many lines did not fit.

    They go to a file beside it, `rejects_of(ready)`, each with its number, the reason and the text.
    """
    try:
        texts = pl.read_csv(file, infer_schema=False, truncate_ragged_lines=True, raise_if_empty=False)
    except (pl.exceptions.PolarsError, OSError) as trouble:
        raise DataError(f"{file}: cannot be read as CSV: {str(trouble).splitlines()[0]}") from None
    missing = [name for name in schema.names if name not in texts.columns]
    if missing:
        raise DataError(
            f"{file}: line 1: the column {', '.join(map(repr, missing))} is missing; it has: {', '.join(texts.columns)}"
        )
    texts = texts.select(schema.names)
    good = texts.select(_read(column.name, column.type) for column in schema)
    wrong = [(texts[name].is_not_null() & good[name].is_null()).alias(name) for name in schema.names]
    bad = pl.DataFrame(wrong).select(pl.any_horizontal(pl.all())).to_series()
    if bad.any():
        _write_rejects(rejects_of(ready), texts, pl.DataFrame(wrong), bad, schema)
    put_in_place(ready, good.filter(~bad).write_parquet)
    return int(bad.sum())


def rejects_of(ready: Path) -> Path:
    """The file of the lines that did not fit."""
    return ready.with_suffix(".rejects.jsonl")


def _read(name: str, kind: Type) -> pl.Expr:
    text = pl.col(name).str.strip_chars()
    if kind is Type.BOOL:
        lower = text.str.to_lowercase()
        return pl.when(lower.is_in(_TRUE)).then(True).when(lower.is_in(_FALSE)).then(False).otherwise(None).alias(name)
    if kind is Type.TIMESTAMP:
        return text.str.to_datetime(time_unit="us", strict=False).alias(name)
    if kind is Type.STRING:
        return pl.col(name)
    return text.cast(kind.polars, strict=False).alias(name)


def _write_rejects(path: Path, texts: pl.DataFrame, wrong: pl.DataFrame, bad: pl.Series, schema: Schema) -> None:
    lines = (bad.arg_true() + 2).to_list()
    with path.open("w") as out:
        for line, text, flags in zip(lines, texts.filter(bad).rows(), wrong.filter(bad).rows(), strict=True):
            reasons = [
                f"{column.name} is {value!r}, expected {column.type}"
                for column, value, is_wrong in zip(schema, text, flags, strict=True)
                if is_wrong
            ]
            out.write(json.dumps({"line": line, "reason": "; ".join(reasons), "text": ",".join(map(str, text))}) + "\n")
