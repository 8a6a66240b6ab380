"""Makes a file of events ready for a run on Spark: checked once, then read by row as often as a step is run again.

The reports and the queries' events become Arrow files that tasks map into memory, and an index says where each instant
begins. Times become whole numbers, of which `ticks` make a unit of `t`; ids become whole numbers where all are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from arterial.arrays import Array
from arterial.connectors.rejects import Rejects
from arterial.errors import DataError, MachineError
from arterial.moving.files.event_file import Block, read_events
from arterial.moving.queries.events import Drop, Register
from arterial.moving.queries.ids import Id, SlotTable
from arterial.moving.queries.query_columns import QUERY_SCHEMA, row_of
from arterial.moving.queries.space import Space
from arterial.moving.shared.state import slots_of
from arterial.network.schema import Schema, Type
from arterial.storage.damage import read_json
from arterial.storage.place import draft_folder, remove_drafts, rename

OBJECTS, QUERIES = "objects", "queries"
TICKS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
LARGEST_TICK = 1 << 62
ABOUT, INDEX = "about.json", "index.npy"


@dataclass(frozen=True)
class Prepared:
    """Events that are ready, in a folder."""

    folder: Path
    ticks: int
    numbers: bool
    """Whether the ids of all objects are whole numbers."""
    lines: int
    reports: int
    queries: int
    rejects: int
    time_units: int
    objects_at_end: int
    queries_at_end: int

    def schema(self, which: str) -> Schema:
        """The columns of the reports, or of the queries' events."""
        ids = Type.INT64 if self.numbers else Type.STRING
        if which == OBJECTS:
            return Schema.of({"t": Type.INT64, "object": ids, "x": Type.FLOAT64, "y": Type.FLOAT64})
        return Schema.of({"t": Type.INT64} | QUERY_SCHEMA | {"focal": ids})

    def rows(self, which: str, begin: int, end: int) -> pl.DataFrame:
        """Some rows of the reports, or of the queries' events."""
        if begin >= end:
            return self.schema(which).empty()
        return _rows(str(self.folder / f"{which}.arrow"), begin, end)

    def index(self) -> tuple[Array, Array, Array]:
        """The instants, and for each and the end of all, where its reports and its queries' events begin."""
        return _index(str(self.folder / INDEX))


def prepare(
    events: Path,
    folder: Path,
    *,
    rejects: Path,
    space: Space,
    timeout: float | None,
    progress: Callable[[int], None] = lambda done: None,
) -> Prepared:
    """Read a file of events into a folder, unless that was done before; what is no event goes to `rejects`."""
    if not (folder / ABOUT).exists():
        try:
            remove_drafts(folder.parent, folder.name)
            with draft_folder(folder) as draft:
                reading = _Reading(draft, Rejects(rejects), timeout)
                for block in read_events(events, space=space):
                    reading.take(block)
                    progress(block.bytes)
                reading.finish(events)
                rename(draft, folder)
        except OSError as fault:
            raise MachineError(f"{fault.filename or folder}: cannot be written: {fault.strerror or fault}.") from fault
    return opened(folder)


def opened(folder: Path) -> Prepared:
    """The events that were made ready in a folder."""
    return Prepared(folder, **read_json(folder / ABOUT))


class _Reading:
    """Takes in a file block by block, and then knows which types its columns can have."""

    def __init__(self, folder: Path, rejects: Rejects, timeout: float | None) -> None:
        self.folder, self.rejects, self.timeout = folder, rejects, timeout
        self.drafts: list[Path] = []
        self.counts = dict.fromkeys(("lines", "reports", "queries"), 0)
        self.ticks = list(TICKS)
        self.units: list[Array] = []
        self.sizes: dict[str, list[Array]] = {OBJECTS: [], QUERIES: []}
        self.queries: list[dict[str, Any]] = []
        self.running: set[Id] = set()
        self.focals_are_numbers = True
        self.table, self.last = SlotTable(), np.full(16, -np.inf)

    def take(self, block: Block) -> None:
        self.rejects.add(block.rejects)
        self.counts["lines"] += block.lines
        self.counts["reports"] += len(block.times)
        self.counts["queries"] += len(block.queries)
        units = block.units()
        self._narrow_ticks(units)
        self.units.append(units)
        asked = np.array([event.t for _, event in block.queries])
        for which, times in ((OBJECTS, block.times), (QUERIES, asked)):
            self.sizes[which].append(np.diff(np.searchsorted(times, units, "left"), append=len(times)))
        self._take_reports(block)
        for _, event in block.queries:
            self._take_query(event)

    def finish(self, events: Path) -> None:
        units = np.concatenate(self.units) if self.units else np.empty(0)
        if not self.ticks:
            culprit = next(t for t in units.tolist() if not _ticks_of(t))
            raise DataError(
                f"{events}: t = {culprit!r} has more than nine decimals, or is too large to count them. Round the "
                "times, or run the file without --checkpoint."
            )
        prepared = Prepared(
            self.folder,
            ticks=self.ticks[0],
            numbers=not self.table.text_of and self.focals_are_numbers,
            **self.counts,
            rejects=len(self.rejects),
            time_units=len(units),
            objects_at_end=self._live_at(float(units[-1])) if len(units) else 0,
            queries_at_end=len(self.running),
        )
        self._write_objects(prepared)
        self._write_queries(prepared)
        begins = [np.concatenate([[0], *sizes]).cumsum() for sizes in self.sizes.values()]
        instants = np.append(np.rint(units * prepared.ticks).astype(np.int64), 0)
        np.save(self.folder / INDEX, np.stack([instants, *(begin.astype(np.int64) for begin in begins)]))
        about = {name: value for name, value in asdict(prepared).items() if name != "folder"}
        (self.folder / ABOUT).write_text(json.dumps(about, indent=2))

    def _narrow_ticks(self, units: Array) -> None:
        for t in units.tolist():
            if self.ticks and not _is_whole(t, self.ticks[0]):
                self.ticks = [ticks for ticks in self.ticks if _is_whole(t, ticks)]

    def _take_reports(self, block: Block) -> None:
        if not len(block.times):
            return
        slots = slots_of(self.table, block.ids)
        if len(self.last) < len(self.table.rank):
            self.last = np.concatenate([self.last, np.full(len(self.table.rank) - len(self.last), -np.inf)])
        self.last[slots] = block.times
        self.drafts.append(self.folder / f"draft-{len(self.drafts):06d}.arrow")
        columns = {"t": block.times, "object": block.ids, "x": block.x, "y": block.y}
        pl.DataFrame(columns).write_ipc(self.drafts[-1], compat_level=pl.CompatLevel.oldest())

    def _take_query(self, event: Register | Drop) -> None:
        row: dict[str, Any] = {"t": event.t, "query": str(event.name), "kind": "drop"}
        if isinstance(event, Register):
            row |= row_of(event.query)
            self.running.add(event.name)
            self.focals_are_numbers &= isinstance(getattr(event.query, "focal", 0), int)
        else:
            self.running.discard(event.name)
        self.queries.append(row)

    def _live_at(self, t: float) -> int:
        last = self.last[: self.table.used]
        return int(np.count_nonzero(last > (-np.inf if self.timeout is None else t - self.timeout)))

    def _write_objects(self, prepared: Prepared) -> None:
        schema = prepared.schema(OBJECTS)
        wanted = _arrow(schema)
        with ExitStack() as stack:
            file = stack.enter_context((self.folder / f"{OBJECTS}.arrow").open("wb"))
            writer = stack.enter_context(pa.ipc.new_file(file, wanted))
            for draft in self.drafts:
                reports = pl.read_ipc(draft).with_columns(_whole_times(prepared.ticks))
                writer.write_table(_cast(reports, schema).cast(wanted))
                draft.unlink()

    def _write_queries(self, prepared: Prepared) -> None:
        schema = prepared.schema(QUERIES)
        drafted = pl.DataFrame(self.queries, schema={"t": pl.Float64, **_texts(schema)})
        wanted = _arrow(schema)
        with (
            (self.folder / f"{QUERIES}.arrow").open("wb") as file,
            pa.ipc.new_file(file, wanted) as writer,
        ):
            writer.write_table(_cast(drafted.with_columns(_whole_times(prepared.ticks)), schema).cast(wanted))


def _whole_times(ticks: int) -> pl.Expr:
    return (pl.col("t") * ticks).round().cast(pl.Int64)


def _texts(schema: Schema) -> dict[str, pl.DataType]:
    """The columns but the time, the focal objects as texts."""
    return {name: kind for name, kind in schema.polars().items() if name != "t"} | {"focal": pl.String()}


def _cast(tuples: pl.DataFrame, schema: Schema) -> pa.Table:
    return tuples.select(schema.names).cast(pl.Schema(schema.polars())).to_arrow(compat_level=pl.CompatLevel.oldest())


def _arrow(schema: Schema) -> pa.Schema:
    return schema.empty().to_arrow(compat_level=pl.CompatLevel.oldest()).schema


def _is_whole(t: float, ticks: int) -> bool:
    tick = round(t * ticks) if abs(t) < LARGEST_TICK else LARGEST_TICK
    return abs(tick) < LARGEST_TICK and tick / ticks == t


def _ticks_of(t: float) -> list[int]:
    return [ticks for ticks in TICKS if _is_whole(t, ticks)]


def _rows(path: str, begin: int, end: int) -> pl.DataFrame:
    reader, begins = _reader(path)
    parts = []
    for number in range(int(np.searchsorted(begins, begin, "right")) - 1, int(np.searchsorted(begins, end, "left"))):
        offset = int(begins[number])
        rows = reader.get_batch(number)
        first, last = max(begin - offset, 0), min(end - offset, rows.num_rows)
        parts.append(rows.slice(first, last - first))
    frame = pl.from_arrow(pa.Table.from_batches(parts))
    assert isinstance(frame, pl.DataFrame)
    return frame


@lru_cache(maxsize=4)
def _reader(path: str) -> tuple[pa.RecordBatchFileReader, Array]:
    """An open file, and the row at which each of its pieces begins."""
    reader = pa.ipc.open_file(pa.memory_map(path))
    sizes = [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]
    return reader, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@lru_cache(maxsize=2)
def _index(path: str) -> tuple[Array, Array, Array]:
    index = np.load(path, mmap_mode="r")
    return index[0][:-1], index[1], index[2]
