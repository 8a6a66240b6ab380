"""The state of an engine between time units as tables, and an engine made from them again.

Live objects and queries are the state; answers, grid and index follow from them. With a cache below 100 per cent, what
each query knows and its answer are state too. Objects keep their slots, so that a range of slots is a chunk of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from arterial.moving.events import Register
from arterial.moving.ids import SlotTable, id_order, parsed_id
from arterial.moving.query_columns import QUERY_SCHEMA, event_of, row_of
from arterial.moving.remembering import Memory, RememberingExecution
from arterial.moving.shared import SharedExecution
from arterial.moving.space import Space, unit_vector

Array = np.ndarray[Any, Any]

_QUERIES = {name: kind.polars for name, kind in QUERY_SCHEMA.items()}


def save_objects(engine: SharedExecution, begin: int, end: int) -> pl.DataFrame:
    """The live objects with slots from `begin` to before `end`: slot, id, x, y, last report."""
    objects = engine.objects
    end = min(end, engine.object_table.used)
    slots = begin + np.flatnonzero(objects.live[begin:end])
    return pl.DataFrame(
        {
            "slot": slots.astype(np.int32),
            "id": ids_column(engine.object_table, slots),
            "x": objects.x[slots],
            "y": objects.y[slots],
            "last": objects.last[slots],
        }
    )


def load_objects(engine: SharedExecution, parts: Sequence[pl.DataFrame]) -> None:
    """Give a new engine the objects that were saved."""
    if not parts:
        return
    saved = pl.concat(parts, how="vertical_relaxed").with_columns(pl.col("id").cast(pl.String))
    slots = saved["slot"].to_numpy()
    engine.object_table.restore(slots, [parsed_id(identity) for identity in saved["id"].to_list()])
    engine.make_room()
    objects = engine.objects
    objects.x[slots], objects.y[slots], objects.last[slots] = (saved[name].to_numpy() for name in ("x", "y", "last"))
    objects.live[slots] = 1
    if engine.space is Space.LONLAT:
        for slot in slots.tolist():
            objects.ux[slot], objects.uy[slot], objects.uz[slot] = unit_vector(objects.x[slot], objects.y[slot])
    engine.live_count = len(slots)


def save_queries(engine: SharedExecution) -> pl.DataFrame:
    """The queries that run."""
    rows = [
        row_of(query) | {"query": str(name)}
        for name, query in sorted(engine.registered.items(), key=lambda item: id_order(item[0]))
    ]
    return pl.DataFrame(rows, schema=_QUERIES)


def load_queries(engine: SharedExecution, saved: pl.DataFrame) -> None:
    """Register the queries that were saved."""
    for row in saved.iter_rows(named=True):
        event = event_of(0.0, row, lonlat=False)
        assert isinstance(event, Register)
        engine.register(event.name, event.query)


def save_known(engine: RememberingExecution) -> pl.DataFrame:
    """A row for each query and object that it knows, and whether that is in its answer."""
    memories = engine.memories
    rows = np.repeat(np.array(list(memories), np.int64), [len(memory.known) for memory in memories.values()])
    known = np.concatenate([np.empty(0, np.int64), *(memory.known for memory in memories.values())]).astype(np.int64)
    answered = [np.isin(memory.known, memory.answer) for memory in memories.values()]
    return pl.DataFrame(
        {
            "query": ids_column(engine.query_table, rows).cast(pl.String),
            "id": ids_column(engine.object_table, known).cast(pl.String),
            "answered": np.concatenate([np.empty(0, np.bool_), *answered]),
        }
    )


def load_known(engine: RememberingExecution, saved: pl.DataFrame) -> None:
    """Let the queries know what they knew."""
    for (name,), part in saved.group_by("query"):
        known = slots_of(engine.object_table, part["id"])
        row = engine.query_table.slot(parsed_id(str(name)))
        engine.memories[row] = Memory(known, known[part["answered"].to_numpy()])


def slots_of(table: SlotTable, ids: pl.Series) -> Array:
    """The slots of a column of ids, numbers or texts; new ids get new slots."""
    if ids.dtype.is_integer():
        return table.slots_of_numbers(ids.cast(pl.Int64).to_numpy())
    is_number = ids.str.contains(_NUMBER).to_numpy()
    slots = np.empty(len(ids), np.int32)
    slots[is_number] = table.slots_of_numbers(ids.filter(is_number).cast(pl.Int64).to_numpy())
    if not is_number.all():
        slots[~is_number] = table.slots_of_texts(ids.filter(~is_number).to_list())
    return slots


def ids_column(table: SlotTable, slots: Array) -> pl.Series:
    """The ids of slots: numbers if the table knows no others, else texts."""
    if not table.text_of:
        return pl.Series(table.rank[slots])
    known, places = np.unique(slots, return_inverse=True)
    return pl.Series([str(identity) for identity in table.ids_of(known)], dtype=pl.String).gather(places)


_NUMBER = r"^(0|-?[1-9][0-9]{0,17})$"
