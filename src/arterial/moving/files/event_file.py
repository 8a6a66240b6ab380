"""Reading a file of events, a block of lines at a time; lines that are not events are set aside with their number and
reason.

A line is `t,object,id,x,y` · `t,range,qid,x1,y1,x2,y2` · `t,movingrange,qid,focal,xdist,ydist` · `t,knn,qid,k,x,y` ·
`t,movingknn,qid,k,focal` · `t,drop,qid`. Empty lines are passed over. A Parquet file has the columns of `EVENT_SCHEMA`
and is read as if it were lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from arterial.arrays import Array
from arterial.connectors.csv import LONGEST_LINE
from arterial.connectors.rejects import Reject
from arterial.errors import DataError
from arterial.moving.files.event_table import EVENT_SCHEMA, csv_lines
from arterial.moving.queries.events import Drop, MovingNearest, MovingRange, Nearest, Query, Range, Register
from arterial.moving.queries.ids import parsed_id
from arterial.moving.queries.space import Space

BLOCK_BYTES = 8 << 20
PARQUET_ROWS = 1 << 18
_KEPT = 200
"""So many bytes are kept of a line that is too long."""
FIELDS = {"object": 5, "range": 7, "movingrange": 6, "knn": 6, "movingknn": 5, "drop": 3}
_PARTS = [f"field_{i}" for i in range(8)]
_NUMBERS = {
    "object": (3, 4),
    "range": (3, 4, 5, 6),
    "movingrange": (4, 5),
    "knn": (3, 4, 5),
    "movingknn": (3,),
    "drop": (),
}


@dataclass(frozen=True)
class Block:
    """Whole time units of events: the reports as columns, in time order, and the queries' events as values."""

    times: Array
    ids: pl.Series
    x: Array
    y: Array
    queries: list[tuple[int, Register | Drop]]
    """With the number of the line."""
    rejects: list[Reject]
    """In the order of their lines, over all blocks."""
    lines: int
    bytes: int
    """Of the file; of Parquet's by the share of its rows."""

    def units(self) -> Array:
        """The distinct times, in order."""
        return np.unique(np.concatenate([self.times, np.array([event.t for _, event in self.queries])]))


def read_events(path: Path, *, space: Space = Space.PLANE, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """The events of a file, in blocks that never split a time unit; a block is all that is held in memory."""
    try:
        if path.suffix == ".parquet":
            yield from _blocks(_lines_of_parquet(path), space)
        else:
            with path.open("rb") as file:
                yield from _blocks(((lines, len(lines)) for lines in _whole_lines(file, block_bytes)), space)
    except OSError as fault:
        raise DataError(f"{path}: cannot be read: {fault.strerror or fault}. Name a file of events.") from fault


def _blocks(pieces: Iterator[tuple[bytes, int]], space: Space) -> Iterator[Block]:
    """The blocks of lines that come in pieces, each with how many bytes of the file it was."""
    first_line, latest, waiting, running = 1, -np.inf, _parse([], 1, space), set[str]()
    for raw, size in pieces:
        text = raw.decode("utf-8", errors="replace")
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        rows = _in_order(_parse(lines, first_line, space), latest)
        first_line += len(lines)
        rejected = rows.filter(pl.col("reason").is_not_null())
        good = pl.concat([waiting, rows.filter(pl.col("reason").is_null())])
        if good.height:
            latest = float(good["t"][-1])
        in_vain = _drops_in_vain(rows, running)
        rejected = pl.concat([rejected, in_vain]).sort("line") if in_vain.height else rejected
        waiting = good.filter(pl.col("t") == latest)
        yield _block(good.filter(pl.col("t") < latest), rejected, len(lines), size)
    yield _block(waiting, waiting.clear(), 0, 0)


def _whole_lines(file: BinaryIO, block_bytes: int) -> Iterator[bytes]:
    rest, size = b"", 0
    while piece := file.read(block_bytes):
        end = piece.rfind(b"\n") + 1
        if end:
            yield _start_of(rest, size) + piece[:end]
            rest, size = piece[end:], len(piece) - end
        else:
            size += len(piece)
            rest += piece if size <= LONGEST_LINE else b""
    if rest:
        yield _start_of(rest, size)


def _start_of(line: bytes, size: int) -> bytes:
    """What was read of a line so far; of one that is too long a beginning that cannot be taken for an event."""
    return line if size <= LONGEST_LINE else line[:_KEPT] + f",,,,,,, … a line of {size:,} bytes and more ".encode()


def _lines_of_parquet(path: Path) -> Iterator[tuple[bytes, int]]:
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as fault:
        raise DataError(f"{path}: is not a Parquet file: {fault}.") from fault
    if missing := set(EVENT_SCHEMA.names) - set(file.schema_arrow.names):
        expected = ", ".join(EVENT_SCHEMA.names)
        raise DataError(f"{path}: has no column {', '.join(sorted(missing))}; expected {expected}.")
    bytes_a_row = path.stat().st_size / max(file.metadata.num_rows, 1)
    for rows in file.iter_batches(PARQUET_ROWS, columns=EVENT_SCHEMA.names):
        table = pl.DataFrame(pa.Table.from_batches([rows])).with_columns(pl.col("kind").cast(pl.String))
        yield csv_lines(table), round(len(table) * bytes_a_row)


def _parse(lines: list[str], first_line: int, space: Space) -> pl.DataFrame:
    """A row a line that is not empty: its fields, the numbers among them, and the reason why it is no event, if any."""
    table = pl.DataFrame({"text": pl.Series(lines, dtype=pl.String)}).with_row_index("line", first_line)
    table = table.with_columns(pl.col("line").cast(pl.Int64), pl.col("text").str.strip_chars(" \t\r\ufeff"))
    table = table.filter(pl.col("text") != "")
    parts = table["text"].str.splitn(",", 8).struct.unnest()
    parts.columns = _PARTS
    table = table.hstack(parts.select(pl.all().str.strip_chars()))
    table = table.rename({"field_1": "kind", "field_2": "name"})
    table = table.with_columns(
        pl.col("field_0").cast(pl.Float64, strict=False).alias("t"),
        *(pl.col(f"field_{i}").cast(pl.Float64, strict=False).alias(f"n{i}") for i in (3, 4, 5, 6)),
        pl.sum_horizontal(pl.col(["field_0", "kind", "name", *_PARTS[3:]]).is_not_null()).alias("fields"),
    )
    return table.with_columns(_reason(space)).select(
        "line", "text", "t", "kind", "name", "field_3", "field_4", "n3", "n4", "n5", "n6", "reason"
    )


def _reason(space: Space) -> pl.Expr:
    kind, name = pl.col("kind"), pl.col("name")
    wanted = kind.replace_strict(FIELDS, default=None, return_dtype=pl.UInt32)
    chain = (
        pl.when(pl.col("text").str.contains("\ufffd", literal=True))
        .then(pl.lit("not UTF-8"))
        .when(~pl.col("t").is_finite().fill_null(False))
        .then(pl.format("t must be a number, not '{}'", pl.col("field_0")))
        .when(wanted.is_null())
        .then(pl.format("the kind must be one of {}, not '{}'", pl.lit(", ".join(FIELDS)), kind.fill_null("")))
        .when(pl.col("fields") != wanted)
        .then(pl.format("{} has {} fields, not {}", kind, wanted, pl.col("fields")))
        .when(name == "")
        .then(pl.lit("the id is empty"))
        .when((kind == "movingrange") & (pl.col("field_3") == "") | (kind == "movingknn") & (pl.col("field_4") == ""))
        .then(pl.lit("the focal object is empty"))
    )
    for column in (3, 4, 5, 6):
        kinds = [one for one, columns in _NUMBERS.items() if column in columns]
        bad = kind.is_in(kinds) & ~pl.col(f"n{column}").is_finite().fill_null(False)
        chain = chain.when(bad).then(
            pl.format("field {} of {} must be a number, not '{}'", pl.lit(column + 1), kind, pl.col(f"field_{column}"))
        )
    k = pl.col("n3")
    chain = chain.when(kind.is_in(["knn", "movingknn"]) & ((k < 1) | (k != k.floor()) | (k > 1e9))).then(
        pl.format("k must be a whole number from 1, not '{}'", pl.col("field_3"))
    )
    chain = chain.when((kind == "movingrange") & ((pl.col("n4") < 0) | (pl.col("n5") < 0))).then(
        pl.lit("xdist and ydist must not be negative")
    )
    if space is Space.LONLAT:
        for of, x, y in (("object", "n3", "n4"), ("knn", "n4", "n5"), ("range", "n3", "n4"), ("range", "n5", "n6")):
            beyond = ~pl.col(x).is_between(-180, 360) | ~pl.col(y).is_between(-90, 90)
            chain = chain.when((kind == of) & beyond).then(
                pl.lit("longitude must be in -180 … 360 and latitude in -90 … 90")
            )
    return chain.otherwise(None).alias("reason")


def _in_order(rows: pl.DataFrame, latest: float) -> pl.DataFrame:
    """Set aside what is earlier than an event before it."""
    good = pl.col("reason").is_null()
    highest = pl.when(good).then(pl.col("t")).otherwise(None).cum_max().forward_fill()
    so_far = pl.max_horizontal(highest, pl.lit(latest))
    return rows.with_columns(
        pl.when(good & (pl.col("t") < so_far))
        .then(pl.format("t goes back from {} to {}", so_far, pl.col("t")))
        .otherwise(pl.col("reason"))
        .alias("reason")
    )


def _drops_in_vain(rows: pl.DataFrame, running: set[str]) -> pl.DataFrame:
    """The drops of queries that are not running, with that as the reason; `running` is kept up to date.

    They are set aside, but time passes with them as with every event.
    """
    of_queries = rows.filter(pl.col("reason").is_null() & (pl.col("kind") != "object"))
    in_vain = []
    for place, (kind, name) in enumerate(of_queries.select("kind", "name").iter_rows()):
        if kind != "drop":
            running.add(name)
        elif name in running:
            running.remove(name)
        else:
            in_vain.append(place)
    reason = pl.format("no query {} is running", pl.col("name"))
    return of_queries[in_vain].with_columns(reason.alias("reason"))


def _block(rows: pl.DataFrame, rejected: pl.DataFrame, lines: int, size: int) -> Block:
    reports = rows.filter(pl.col("kind") == "object")
    others = rows.filter(pl.col("kind") != "object")
    return Block(
        times=reports["t"].to_numpy(),
        ids=reports["name"],
        x=reports["n3"].to_numpy(),
        y=reports["n4"].to_numpy(),
        queries=[(row["line"], _event(row)) for row in others.iter_rows(named=True)],
        rejects=[Reject(*row) for row in rejected.select("line", "reason", "text").iter_rows()],
        lines=lines,
        bytes=size,
    )


def _event(row: dict[str, Any]) -> Register | Drop:
    name = parsed_id(row["name"])
    query: Query
    match row["kind"]:
        case "drop":
            return Drop(row["t"], name)
        case "range":
            query = Range(row["n3"], row["n4"], row["n5"], row["n6"])
        case "movingrange":
            query = MovingRange(parsed_id(row["field_3"]), row["n4"], row["n5"])
        case "knn":
            query = Nearest(int(row["n3"]), row["n4"], row["n5"])
        case _:
            query = MovingNearest(int(row["n3"]), parsed_id(row["field_4"]))
    return Register(row["t"], name, query)
