"""CSV files with a header: read as texts, then as the types of a schema; lines that do not fit are set aside."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from arterial.connectors.rejects import Reject, Rejects
from arterial.errors import DataError
from arterial.network.schema import Schema, Type
from arterial.storage.place import put_in_place

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


def clean_csv(file: Path, ready: Path, schema: Schema) -> Rejects:
    """Write a CSV file as Parquet of the given schema; the lines that do not fit go to a file beside it."""
    aside = Rejects(ready.with_suffix(".rejects.jsonl"))
    found = read_texts(file)
    if missing := [name for name in schema.names if name not in found.rows.columns]:
        raise DataError(
            f"{file}: line 1: the column {', '.join(map(repr, missing))} is missing; "
            f"it has: {', '.join(found.rows.columns)}"
        )
    good = found.rows.select(_typed(column.name, column.type) for column in schema)
    wrong = good.select((found.rows[name].is_not_null() & good[name].is_null()).alias(name) for name in schema.names)
    fits, unfit = judged(found, wrong, lambda name, value: str(schema[name]))
    aside.add(sorted([*found.rejects, *unfit]))
    put_in_place(ready, good.filter(fits).write_parquet)
    return aside


@dataclass(frozen=True)
class Texts:
    """The rows of a file with the number of each one's line, and the lines that cannot be rows."""

    rows: pl.DataFrame
    lines: Sequence[int]
    rejects: Sequence[Reject] = ()


def read_texts(path: Path, *, lossy: bool = False) -> Texts:
    """Read all columns as texts; a line with more fields than the header is no row.

    Bytes that are not UTF-8 are an error or, if `lossy`, become U+FFFD.
    """
    try:
        rows = pl.read_csv(path, infer_schema=False, encoding="utf8-lossy" if lossy else "utf8")
        rows = rows.rename({name: name.strip(" \ufeff") for name in rows.columns})
        return Texts(rows, range(2, rows.height + 2))
    except pl.exceptions.NoDataError:
        raise DataError(f"{path}: is empty; expected a line with the names of the columns, then rows") from None
    except pl.exceptions.PolarsError:
        # Polars does not say which lines have too many fields.
        return _read_line_by_line(path, lossy)
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}") from None


def judged(found: Texts, wrong: pl.DataFrame, expected: Callable[[str, object], str]) -> tuple[pl.Series, list[Reject]]:
    """Which rows fit, and the others with the reasons.

    `wrong` says of some columns which values do not fit; `expected` says what should stand in a column instead.
    """
    bad = wrong.select(pl.any_horizontal(pl.all())).to_series()
    rejects = []
    places = bad.arg_true().to_list()
    for place, values, flags in zip(
        places, found.rows[places].iter_rows(named=True), wrong[places].iter_rows(), strict=True
    ):
        reasons = []
        for name, is_wrong in zip(wrong.columns, flags, strict=True):
            if is_wrong:
                value = values[name]
                reasons.append(
                    f"{name} is {'empty' if value is None else repr(value)}, expected {expected(name, value)}"
                )
        text = ",".join("" if value is None else str(value) for value in values.values())
        rejects.append(Reject(found.lines[place], "; ".join(reasons), text))
    return ~bad, rejects


def _typed(name: str, kind: Type) -> pl.Expr:
    """A column of texts as values of a type; null where a text is not one."""
    bare = pl.col(name).str.strip_chars()
    if kind is Type.BOOL:
        lower = bare.str.to_lowercase()
        return pl.when(lower.is_in(_TRUE)).then(True).when(lower.is_in(_FALSE)).then(False).otherwise(None).alias(name)
    if kind is Type.TIMESTAMP:
        return bare.str.to_datetime(time_unit="us", strict=False)
    if kind is Type.STRING:
        return pl.col(name)
    return bare.cast(kind.polars, strict=False)


def _read_line_by_line(path: Path, lossy: bool) -> Texts:
    good: list[list[str | None]] = []
    numbers, rejects = [], []
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="replace" if lossy else "strict") as file:
            lines = csv.reader(file)
            names = [name.strip() for name in next(lines, [])]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise DataError(f"{path}: line 1: two columns are named {twice!r}")
            for fields in lines:
                if len(fields) > len(names):
                    reason = f"{len(fields)} fields, expected {len(names)}"
                    rejects.append(Reject(lines.line_num, reason, ",".join(fields)))
                elif fields:
                    numbers.append(lines.line_num)
                    good.append([field or None for field in fields] + [None] * (len(names) - len(fields)))
    except (UnicodeDecodeError, csv.Error) as fault:
        raise DataError(f"{path}: cannot be read as CSV: {fault}") from None
    return Texts(pl.DataFrame(good, schema=dict.fromkeys(names, pl.String), orient="row"), numbers, rejects)
