"""The two tables of Linear Road's history (VLDB 2004, §3.1.3): their columns, and reading them from any files.

CSV and Parquet, a file or a folder of files. A CSV file may have a header, then its columns may stand in any order and
under other usual names; without one they stand in the paper's order. A row that does not fit is an error with its file
and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from arterial.errors import DataError
from arterial.linearroad.history.columns import machine_fault
from arterial.linearroad.semantics.city import HISTORY_DAYS, MINUTES_A_DAY, SEGMENTS

Columns = dict[str, NDArray[np.int64]]

_INT32 = 2**31 - 1


@dataclass(frozen=True)
class HistoryTable:
    """A table of the history: `bounds` are the least and largest value of a column, `names` other names of columns."""

    title: str
    schema: pa.Schema
    bounds: Mapping[str, tuple[int, int]]
    needed: tuple[str, ...]
    names: Mapping[str, str]

    @property
    def columns(self) -> list[str]:
        """The columns in the order of the paper."""
        return list(self.schema.names)


TOLL_HISTORY = HistoryTable(
    title="TollHistory",
    schema=pa.schema(
        [
            pa.field("vid", pa.int64(), nullable=False),
            pa.field("day", pa.int16(), nullable=False),
            pa.field("xway", pa.int32(), nullable=False),
            pa.field("tolls", pa.int32(), nullable=False),
        ]
    ),
    bounds={"vid": (0, 2**62), "day": (0, 2**15 - 1), "xway": (0, _INT32), "tolls": (-_INT32, _INT32)},
    needed=("vid", "day", "xway", "tolls"),
    names={"carid": "vid", "vehicle": "vid", "expressway": "xway", "toll": "tolls"},
)

SEGMENT_HISTORY = HistoryTable(
    title="SegmentHistory",
    schema=pa.schema(
        [
            pa.field("day", pa.int16(), nullable=False),
            pa.field("minute", pa.int16(), nullable=False),
            pa.field("xway", pa.int32(), nullable=False),
            pa.field("dir", pa.int8(), nullable=False),
            pa.field("seg", pa.int16(), nullable=False),
            pa.field("lav", pa.int16(), nullable=False),
            pa.field("cnt", pa.int32(), nullable=False),
            pa.field("toll", pa.int32(), nullable=False),
        ]
    ),
    bounds={
        "day": (1, HISTORY_DAYS),
        "minute": (1, MINUTES_A_DAY),
        "xway": (0, _INT32),
        "dir": (0, 1),
        "seg": (0, SEGMENTS - 1),
        "lav": (-(2**15), 2**15 - 1),
        "cnt": (0, 100_000),
    },
    needed=("day", "minute", "xway", "dir", "seg", "lav", "cnt"),
    names={
        "min": "minute",
        "tod": "minute",
        "expressway": "xway",
        "direction": "dir",
        "segment": "seg",
        "count": "cnt",
    },
)

_BLOCK_BYTES = 16 << 20
_PARQUET_MAGIC = b"PAR1"


def read_rows(path: Path, table: HistoryTable) -> Iterator[Columns]:
    """The rows of a file or folder, piece by piece in order: the needed columns, checked, as 64-bit integers."""
    for file in history_files(path, table):
        try:
            rows = 0
            pieces = _parquet_pieces(file, table) if _is_parquet(file) else _csv_pieces(file, table)
            for piece in pieces:
                rows += len(piece)
                yield piece_columns(piece)
        except OSError as fault:
            raise machine_fault(fault, file, "read") from fault
        if rows == 0:
            raise DataError(
                f"{file}: expected rows of {table.title} ({_order(table)}), found none. Is this the right file?"
            )


def piece_columns(piece: pa.RecordBatch) -> Columns:
    """The columns of a record batch as numpy arrays."""
    return {name: piece.column(name).to_numpy(zero_copy_only=False) for name in piece.schema.names}


def table_in(folder: Path, name: str) -> Path | None:
    """The table of that name, `tolls` or `segments`, in the folder of a history, if it is there."""
    found = (folder / f"{name}.parquet", folder / f"{name}.csv")
    return next((path for path in found if path.exists()), None)


def history_files(path: Path, table: HistoryTable) -> list[Path]:
    """The file itself, or the files of a folder by name; hidden ones and Spark's markers left out."""
    if not path.exists():
        raise DataError(f"{path}: no such file or folder; expected a {table.title} as CSV or Parquet.")
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")
    if not files:
        raise DataError(f"{path}: the folder holds no file; expected a {table.title} as CSV or Parquet.")
    return files


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def _parquet_pieces(file: Path, table: HistoryTable) -> Iterator[pa.RecordBatch]:
    try:
        with pa.parquet.ParquetFile(file, memory_map=True) as opened:
            places = _find_columns(list(opened.schema_arrow.names), table, str(file))
            for place in places.values():
                field = opened.schema_arrow.field(place)
                if not pa.types.is_integer(field.type):
                    raise DataError(
                        f"{file}: column {field.name} of {table.title} must hold integers, it is {field.type}. Cast it."
                    )
            row = 0
            wanted = [opened.schema_arrow.names[place] for place in places.values()]
            for piece in opened.iter_batches(batch_size=1 << 20, columns=wanted):
                columns = [piece.column(name).cast(pa.int64()) for name in wanted]
                piece = pa.RecordBatch.from_arrays(columns, names=list(places))
                fault = _first_fault(piece, table)
                if fault:
                    raise DataError(f"{file}: row {row + fault[0] + 1} of {table.title}: {fault[1]}")
                row += len(piece)
                yield piece
    except pa.ArrowInvalid as fault:
        raise DataError(
            f"{file}: not a readable Parquet file: {_first_line(fault)}. Was it written to its end?"
        ) from fault


def _csv_pieces(file: Path, table: HistoryTable) -> Iterator[pa.RecordBatch]:
    with pa.input_stream(file, compression="detect") as opened:
        first = opened.read(4096).decode("utf-8-sig", "replace").partition("\n")[0]
    fields = [field.strip().strip('"') for field in first.split(",")]
    has_header = any(field and not _is_integer(field) for field in fields) and not any(map(_is_integer, fields))
    if has_header:
        places = _find_columns(fields, table, f"{file}:1")
    else:
        places = {name: place for place, name in enumerate(table.columns) if name in table.needed}
    width = len(fields) if has_header else len(table.columns)
    positions = [str(place) for place in range(width)]
    wanted = [str(place) for place in places.values()]
    try:
        reader = pa.csv.open_csv(
            file,
            read_options=pa.csv.ReadOptions(
                block_size=_BLOCK_BYTES, column_names=positions, skip_rows=int(has_header), use_threads=True
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(positions, pa.int64()), include_columns=wanted, null_values=[]
            ),
        )
        for piece in reader:
            piece = pa.RecordBatch.from_arrays(piece.columns, names=list(places))
            if _first_fault(piece, table):
                break
            yield piece
        else:
            return
    except pa.ArrowInvalid as fault:
        if "Empty CSV" in str(fault):
            return
        _explain(file, table, places, width, has_header)
        raise DataError(f"{file}: not a readable CSV file: {_first_line(fault)}") from fault
    _explain(file, table, places, width, has_header)


def _explain(file: Path, table: HistoryTable, places: Mapping[str, int], width: int, has_header: bool) -> None:
    """Read a CSV file again, line by line, and raise the first fault with its line number."""
    with pa.input_stream(file, compression="detect") as stream:
        for number, raw in enumerate(_lines(stream), start=1):
            line = raw.decode("utf-8-sig", "replace").rstrip("\r\n")
            if not line or (number == 1 and has_header):
                continue
            where, shown = f"{file}:{number}", line if len(line) <= 80 else line[:77] + "..."
            fields = [field.strip().strip('"') for field in line.split(",")]
            if len(fields) != width:
                expected = (
                    f"expected {width} fields ({_order(table)})" if not has_header else f"expected {width} fields"
                )
                raise DataError(f"{where}: {expected}, found {len(fields)}: {shown!r}")
            for name, place in places.items():
                low, high = table.bounds[name]
                if not _is_integer(fields[place]) or not low <= int(fields[place]) <= high:
                    raise DataError(
                        f"{where}: {name} of {table.title} must be an integer from {low} to {high}, "
                        f"found {fields[place][:40]!r}. Fix or remove the line."
                    )


def _lines(stream: pa.NativeFile) -> Iterator[bytes]:
    rest = b""
    while block := stream.read(1 << 20):
        *whole, rest = (rest + block).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _first_fault(piece: pa.RecordBatch, table: HistoryTable) -> tuple[int, str] | None:
    """The first row with a value out of bounds, and what is wrong with it."""
    found: tuple[int, str] | None = None
    for name in piece.schema.names:
        low, high = table.bounds[name]
        column = piece.column(name)
        if column.null_count:
            bad = np.asarray(column.is_null())
        else:
            values = column.to_numpy()
            if len(values) == 0 or (values.min() >= low and values.max() <= high):
                continue
            bad = (values < low) | (values > high)
        row = int(np.flatnonzero(bad)[0])
        if found is None or row < found[0]:
            found = row, f"{name} must be an integer from {low} to {high}, found {column[row].as_py()}"
    return found


def _find_columns(found: list[str], table: HistoryTable, where: str) -> dict[str, int]:
    """Where each needed column stands among the names that were found."""
    known = {table.names.get(name.lower(), name.lower()): place for place, name in enumerate(found)}
    missing = [name for name in table.needed if name not in known]
    if missing:
        raise DataError(
            f"{where}: {table.title} needs the columns {', '.join(table.needed)}; {', '.join(missing)} not found. "
            f"There are: {', '.join(found)}"[:500]
        )
    return {name: known[name] for name in table.needed}


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isascii() and text.removeprefix("-").isdigit()


def _order(table: HistoryTable) -> str:
    return ",".join(table.columns)


def _first_line(fault: Exception) -> str:
    return (str(fault).splitlines() or [""])[0]
