"""The validator's own reading of TollHistory and SegmentHistory (§3.1.3), from CSV or Parquet, a file or a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from arterial.errors import DataError
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.journeys import Means

TOLLS = ("vid", "day", "xway", "tolls")
SEGMENTS = ("day", "minute", "xway", "dir", "seg", "lav", "cnt", "toll")
_OTHER_NAMES = {"min": "minute", "tod": "minute", "toll": "tolls", "count": "cnt", "carid": "vid"}
_NEEDED_OF_SEGMENTS = SEGMENTS[:-1]


def history_files(path: Path, name: str) -> list[Path]:
    """The files of a table: `path` itself, its files, or `tolls.*` or `segments.*` in a history folder."""
    if not path.exists():
        raise DataError(f"{path}: no such history. Give the file of the {name}, or the folder of a history.")
    if path.is_file():
        return [path]
    for inside in (path / f"{name}.parquet", path / f"{name}.csv"):
        if inside.exists():
            return history_files(inside, name)
    found = sorted(f for f in path.iterdir() if f.is_file() and f.suffix in (".parquet", ".csv", ".dat", ".txt"))
    if not found:
        raise DataError(
            f"{path}: no {name} in it: expected {name}.parquet, {name}.csv or files of rows. A folder with a look-up "
            f"only does not do: give the file from which it was made."
        )
    return found


def is_parquet(file: Path) -> bool:
    """Whether a file is Parquet, by its first bytes."""
    try:
        with file.open("rb") as opened:
            return opened.read(4) == b"PAR1"
    except OSError as fault:
        raise DataError(f"{file}: cannot be read ({fault.strerror}).") from fault


def matching_tolls(file: Path, requests: pl.DataFrame) -> pl.DataFrame:
    """The rows of TollHistory that are asked for, beside the requests' columns, with their `order` in the file."""
    if is_parquet(file):
        rows = pl.scan_parquet(file)
        rows = rows.select(pl.col(TOLLS).cast(pl.Int64))
    else:
        header = _header(file)
        names = header or list(TOLLS)
        rows = pl.scan_csv(
            file, has_header=header is not None, new_columns=names, schema_overrides=dict.fromkeys(names, pl.Int64)
        ).select(TOLLS)
    try:
        return (
            rows.with_row_index("order")
            .join(requests.lazy(), on=["vid", "day", "xway"])
            .collect(engine="streaming")
            .with_columns(pl.col("order").cast(pl.Int64))
        )
    except (pl.exceptions.PolarsError, OSError) as fault:
        raise DataError(f"{file}: not a TollHistory ({', '.join(TOLLS)}): {_first_line(fault)}") from fault


def with_tolls(requests: pl.DataFrame, rows: pl.DataFrame, profile: Profile) -> pl.DataFrame:
    """Rule 18: the requests with their `balance`; of several rows of one key the last counts."""
    keys = ["vid", "day", "xway"]
    last = rows.sort("order").unique(keys, keep="last").select(*keys, pl.col("tolls").alias("balance"))
    found = requests.join(last, on=keys, how="left")
    unknown = profile.unknown_expenditure
    return found.drop_nulls("balance") if unknown is None else found.with_columns(pl.col("balance").fill_null(unknown))


def means_by_xway(files: list[Path], xways: set[int]) -> dict[int, Means]:
    """The means of some expressways, in one pass over SegmentHistory."""
    means: dict[int, Means] = {}
    for file in files:
        try:
            for rows in _parquet_rows(file, xways) if is_parquet(file) else _csv_rows(file):
                here = rows["xway"].unique().to_pylist()
                for xway in xways.intersection(here):
                    chosen = rows if len(here) == 1 else rows.filter(pa.compute.equal(rows["xway"], xway))
                    means.setdefault(xway, Means()).add(chosen)
        except (pa.ArrowInvalid, pa.ArrowKeyError, KeyError, OSError) as fault:
            raise DataError(f"{file}: not a SegmentHistory ({', '.join(SEGMENTS)}): {_first_line(fault)}") from fault
    return means


def _parquet_rows(file: Path, xways: set[int]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(file, memory_map=True) as opened:
        place = opened.schema_arrow.get_field_index("xway")
        groups = [
            group
            for group in range(opened.num_row_groups)
            if _may_hold(opened.metadata.row_group(group).column(place).statistics, xways)
        ]
        if groups:
            yield from opened.iter_batches(1 << 20, row_groups=groups, columns=list(_NEEDED_OF_SEGMENTS))


def _may_hold(statistics: Any, xways: set[int]) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    return any(statistics.min <= xway <= statistics.max for xway in xways)


def _csv_rows(file: Path) -> Iterator[pa.RecordBatch]:
    header = _header(file)
    names = header or list(SEGMENTS)
    yield from pa_csv.open_csv(
        file,
        read_options=pa_csv.ReadOptions(column_names=names, skip_rows=0 if header is None else 1, block_size=16 << 20),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.int64()), include_columns=list(_NEEDED_OF_SEGMENTS)
        ),
    )


def _header(file: Path) -> list[str] | None:
    """The names in the first line, if they are names."""
    with file.open(encoding="utf-8", errors="replace") as opened:
        fields = [field.strip().lower() for field in opened.readline(4096).split(",")]
    if any(field.lstrip("-").isdigit() for field in fields):
        return None
    return [_OTHER_NAMES.get(field, field) for field in fields]


def _first_line(fault: BaseException) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]
