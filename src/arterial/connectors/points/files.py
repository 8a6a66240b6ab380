"""The Parquet files of a connection point's table: written whole, read in part.

A file has two columns beside those of the stream, which keep the order of tuples with equal time wherever a merge puts
them: `@step`, and `@row`, the place within the step. Its footer has what the contents and a reader must know.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from arterial.connectors.points.conditions import Condition, matching, may_match
from arterial.connectors.points.contents import Range, TableFile
from arterial.storage.place import put_in_place
from arterial.storage.remote import readable

STEP, ROW = "@step", "@row"
SLOT_ROWS = 1 << 40
"""The rows of slot k of a step are numbered from k times this."""

GROUP_ROWS = 1 << 14
"""So many rows make a row group, the least that is read."""

_KEY = b"arterial"


@dataclass(frozen=True)
class TableReading:
    """Some tuples of a table, in order, and what it took to read them."""

    tuples: pl.DataFrame
    bytes: int


def part_name(step: int, slot: int) -> str:
    """The name of the part of a step and slot."""
    return f"part-{step:09d}-{slot:03d}.parquet"


def merged_name(first: int, last: int, tier: int) -> str:
    """The name of the file that parts of some steps were merged into."""
    return f"merged-{first:09d}-{last:09d}-{tier:02d}.parquet"


def numbered(tuples: pl.DataFrame, step: int, slot: int) -> pl.DataFrame:
    """Tuples with their step and place."""
    begin = slot * SLOT_ROWS
    rows = pl.int_range(begin, begin + tuples.height, eager=True)
    return tuples.with_columns(pl.lit(step, pl.Int64).alias(STEP), rows.alias(ROW))


def write_table_file(
    path: Path, tuples: pl.DataFrame, time: str, storage_key: Sequence[str], through: int | None = None
) -> None:
    """Put a file in place, its tuples sorted by the storage key, then as they came."""
    import pyarrow.parquet as pq

    tuples = tuples.sort(*dict.fromkeys((*storage_key, time, STEP, ROW)))
    instants = tuples[time].to_physical()
    said = {
        "through": through,
        "times": None if tuples.is_empty() else [int(instants.min()), int(instants.max())],  # type: ignore[arg-type]
        "ranges": _ranges(tuples, storage_key),
        "groups": [
            _ranges(tuples.slice(begin, GROUP_ROWS), (*storage_key, time))
            for begin in range(0, tuples.height, GROUP_ROWS)
        ],
    }
    table = tuples.to_arrow(compat_level=pl.CompatLevel.oldest())
    table = table.replace_schema_metadata({_KEY: json.dumps(said).encode()})
    put_in_place(path, lambda file: pq.write_table(table, file, row_group_size=GROUP_ROWS, compression="lz4"))


def describe_file(path: Path, first: int, last: int, tier: int) -> tuple[TableFile, int | None]:
    """What the contents say of a file, and through which time its slot was complete with it."""
    import pyarrow.parquet as pq

    footer = pq.read_metadata(readable(path))
    said = json.loads(footer.metadata[_KEY])
    earliest, latest = said["times"] or (0, 0)
    ranges = {name: (least, greatest) for name, (least, greatest) in said["ranges"].items()}
    size = path.stat().st_size
    file = TableFile(path.name, first, last, tier, footer.num_rows, size, earliest, latest, ranges)
    return file, said["through"]


def read_files(
    folder: Path,
    files: Iterable[TableFile],
    time: str,
    after: int,
    through: int,
    columns: Sequence[str],
    conditions: Sequence[Condition] = (),
) -> TableReading:
    """The tuples of some files after a time, through another, in their order; but for what conditions leave out."""
    frames, size = [], 0
    for file in files:
        if may_match(conditions, file.ranges):
            read = _read_file(folder / file.name, time, after, through, columns, conditions)
            frames.append(read.tuples)
            size += read.bytes
    if not frames:
        return TableReading(pl.DataFrame(), 0)
    tuples = pl.concat(frames).sort(time, STEP, ROW)
    return TableReading(tuples.select(columns), size)


def _read_file(
    path: Path, time: str, after: int, through: int, columns: Sequence[str], conditions: Sequence[Condition]
) -> TableReading:
    import pyarrow.parquet as pq

    wanted = list(dict.fromkeys((*columns, time, STEP, ROW)))
    with pq.ParquetFile(readable(path)) as file:
        footer = file.metadata
        groups = json.loads(footer.metadata[_KEY])["groups"]
        chosen = [n for n, ranges in enumerate(groups) if _wanted(ranges, time, after, through, conditions)]
        tuples = pl.from_arrow(file.read_row_groups(chosen, columns=wanted))
        assert isinstance(tuples, pl.DataFrame)
        size = footer.serialized_size + sum(_bytes(footer.row_group(number), wanted) for number in chosen)
    instants = pl.col(time).to_physical()
    wanted_rows = (instants > after) & (instants <= through) & matching(conditions, wanted)
    return TableReading(tuples.filter(wanted_rows), size)


def _wanted(ranges: Mapping[str, Range], time: str, after: int, through: int, conditions: Sequence[Condition]) -> bool:
    earliest, latest = ranges[time]
    return bool(latest > after and earliest <= through) and may_match(conditions, ranges)


def _bytes(group: Any, columns: Sequence[str]) -> int:
    chunks = [group.column(number) for number in range(group.num_columns)]
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in columns)


def _ranges(tuples: pl.DataFrame, columns: Sequence[str]) -> dict[str, list[Any]]:
    """The least and greatest value of each column; not of one with a value that has no place in an order."""
    found = {}
    for name in dict.fromkeys(columns):
        values = tuples[name].to_physical()
        if values.is_empty() or values.has_nulls() or (values.dtype.is_float() and values.is_nan().any()):
            continue
        found[name] = [values.min(), values.max()]
    return found
