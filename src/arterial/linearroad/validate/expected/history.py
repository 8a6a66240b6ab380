"""The validator's own reading of TollHistory and SegmentHistory (§3.1.3), from CSV or Parquet, a file or a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
# Usual names of columns, in lower case; "toll" is that of a TollHistory, of a SegmentHistory nothing needs it.
_OTHER_NAMES = {
    "carid": "vid",
    "vehicle": "vid",
    "expressway": "xway",
    "toll": "tolls",
    "min": "minute",
    "tod": "minute",
    "direction": "dir",
    "segment": "seg",
    "count": "cnt",
}
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_NEEDED_OF_SEGMENTS = SEGMENTS[:-1]


class _MisfitError(Exception):
    """Columns that are not those of the table."""


def history_files(path: Path, name: str) -> list[Path]:
    """The files of a table: `path` itself, its files, or `tolls.*` or `segments.*` in a history folder."""
    if not path.exists():
        raise DataError(f"{path}: no such history. Give the file of the {name}, or the folder of a history.")
    if path.is_file():
        return [path]
    for inside in (path / f"{name}.parquet", path / f"{name}.csv"):
        if inside.exists():
            return history_files(inside, name)
    found = sorted(f for f in path.iterdir() if f.is_file() and f.name[0] not in "._" and f.suffix != ".json")
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
    keys = ["vid", "day", "xway"]
    try:
        pieces = [
            rows.with_row_index("order", offset=offset)
            .join(requests.lazy(), on=keys)
            .with_columns(pl.col("order").cast(pl.Int64))
            .collect(engine="streaming")
            for offset, rows in _toll_rows(file)
        ]
        return pl.concat(pieces)
    except (_MisfitError, pl.exceptions.PolarsError, pa.ArrowInvalid, OSError) as fault:
        raise DataError(f"{file}: not a TollHistory ({', '.join(TOLLS)}): {_first_line(fault)}") from fault


def _toll_rows(file: Path) -> Iterator[tuple[int, pl.LazyFrame]]:
    """The rows of a TollHistory, with how many stand before: in one piece, or as they are unpacked."""
    if is_parquet(file):
        rows = pl.scan_parquet(file)
        there = _columns(rows.collect_schema().names(), TOLLS)
        yield 0, rows.select(pl.col(there[name]).cast(pl.Int64).alias(name) for name in TOLLS)
    elif file.suffix in _COMPRESSED:
        before = 0
        yield before, pl.LazyFrame(schema=dict.fromkeys(TOLLS, pl.Int64))
        for piece in _csv_rows(file, TOLLS, TOLLS):
            yield before, pl.DataFrame(piece).lazy()
            before += piece.num_rows
    else:
        names, has_header = _csv_columns(file, TOLLS, TOLLS)
        yield (
            0,
            pl.scan_csv(
                file, has_header=has_header, new_columns=names, schema_overrides=dict.fromkeys(TOLLS, pl.Int64)
            ).select(TOLLS),
        )


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
            for rows in (
                _parquet_rows(file, xways) if is_parquet(file) else _csv_rows(file, SEGMENTS, _NEEDED_OF_SEGMENTS)
            ):
                here = rows["xway"].unique().to_pylist()
                for xway in xways.intersection(here):
                    chosen = rows if len(here) == 1 else rows.filter(pa.compute.equal(rows["xway"], xway))
                    means.setdefault(xway, Means()).add(chosen)
        except (_MisfitError, pa.ArrowInvalid, pa.ArrowKeyError, KeyError, OSError) as fault:
            raise DataError(f"{file}: not a SegmentHistory ({', '.join(SEGMENTS)}): {_first_line(fault)}") from fault
    return means


def _parquet_rows(file: Path, xways: set[int]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(file, memory_map=True) as opened:
        there = _columns(opened.schema_arrow.names, _NEEDED_OF_SEGMENTS)
        place = opened.schema_arrow.get_field_index(there["xway"])
        groups = [
            group
            for group in range(opened.num_row_groups)
            if _may_hold(opened.metadata.row_group(group).column(place).statistics, xways)
        ]
        if groups:
            for rows in opened.iter_batches(1 << 20, row_groups=groups, columns=list(there.values())):
                yield pa.RecordBatch.from_arrays([rows[there[name]] for name in there], names=list(there))


def _may_hold(statistics: Any, xways: set[int]) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    return any(statistics.min <= xway <= statistics.max for xway in xways)


def _csv_rows(file: Path, order: Sequence[str], needed: Sequence[str]) -> Iterator[pa.RecordBatch]:
    names, has_header = _csv_columns(file, order, needed)
    yield from pa_csv.open_csv(
        file,
        read_options=pa_csv.ReadOptions(column_names=names, skip_rows=int(has_header), block_size=16 << 20),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(needed, pa.int64()), include_columns=list(needed)
        ),
    )


def _csv_columns(file: Path, order: Sequence[str], needed: Sequence[str]) -> tuple[list[str], bool]:
    """Our names of a file's columns, and whether it has a header; without one they stand in `order`."""
    with pa.input_stream(file, compression="detect") as opened:
        first = opened.read(4096).decode("utf-8-sig", "replace").partition("\n")[0]
    if not first.strip():
        raise _MisfitError("expected rows, found an empty file or line")
    fields = [field.strip().strip('"') for field in first.split(",")]
    if any(field.lstrip("-").isdigit() for field in fields):
        if len(fields) != len(order):
            raise _MisfitError(f"expected {len(order)} fields a line or a header, found {len(fields)}")
        return list(order), False
    ours = {there: name for name, there in _columns(fields, needed).items()}
    return [ours.get(field, f"column {place}") for place, field in enumerate(fields)], True


def _columns(found: Sequence[str], needed: Sequence[str]) -> dict[str, str]:
    """What each needed column is called among the names that were found."""
    known = {_OTHER_NAMES.get(name.lower(), name.lower()): name for name in found}
    if missing := [name for name in needed if name not in known]:
        raise _MisfitError(f"{', '.join(missing)} not found. There are: {', '.join(found)}"[:500])
    return {name: known[name] for name in needed}


def _first_line(fault: BaseException) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]
