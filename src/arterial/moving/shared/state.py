"""The state of an engine between time units as tables, and an engine made from them again.

Live objects and queries are the state; answers, grid and index follow from them. Both are logs of changes: a train adds
a chunk of the objects and the queries that it touched, as they are after it, and the chunk swallows those before it
that are no more than twice its size. So there are few chunks, the latest row of an object or query counts, and where
all objects report in every train there is one chunk. With a cache below 100 per cent, what each query knows and its
answer are state too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl
from numba import njit

from arterial.arrays import Array
from arterial.moving.queries.events import Register
from arterial.moving.queries.ids import Id, SlotTable, id_order, parsed_id
from arterial.moving.queries.query_columns import QUERY_SCHEMA, event_of, row_of
from arterial.moving.shared.remembering import Memory, RememberingExecution
from arterial.moving.shared.shared import SharedExecution
from arterial.network.state import State

OBJECTS, QUERIES = "objects", "queries"
GONE = -np.inf
"""In the place of the time of the last report: the object is disconnected."""

_QUERIES = {name: kind.polars for name, kind in QUERY_SCHEMA.items()}


def log_objects(state: State, engine: SharedExecution, touched: Sequence[Array]) -> None:
    """Add the objects of these slots, as they are, in the order of their ids: id, x, y, last report.

    Slots are not part of the state: which ones an engine gives out depends on what it has seen. The objects that left
    must not be forgotten by the engine before.
    """
    size = sum(len(slots) for slots in touched)
    if not size:
        return
    key, swallowed, is_first = _swallow(state, OBJECTS, size)
    table, objects = engine.object_table, engine.objects
    marked = np.zeros(table.used, np.bool_)
    for slots in touched:
        _mark(marked, slots)
    forgotten = []
    for chunk in swallowed:
        slots = _find_slots(table, chunk["id"])
        _mark(marked, slots)
        if not is_first and (slots < 0).any():
            forgotten.append(chunk["id"].filter(pl.Series(slots < 0)).cast(pl.String))
    slots, x, y, last = _gather(marked, is_first, objects.live, objects.x, objects.y, objects.last)
    rows = pl.DataFrame({"id": ids_column(table, slots), "x": x, "y": y, "last": last})
    if forgotten:
        gone = pl.concat(forgotten).unique().alias("id").to_frame().with_columns(x=0.0, y=0.0, last=GONE)
        rows = pl.concat([rows.cast({"id": pl.String}), gone])
    if rows.height:
        state.put(OBJECTS, key, _in_order(rows))


Log = dict[str, list[pl.DataFrame]]
"""The chunks of objects and of queries that an engine was made from."""


def log_of(state: State) -> Log:
    """The chunks that are there now."""
    return {table: _chunks(state, table) for table in (OBJECTS, QUERIES)}


def bring_up_to_date(engine: SharedExecution, log: Log, known: Log | None = None) -> None:
    """Give an engine what a log has: a new one, or one that has what is in another log.

    Workers take turns at a shard, so most of them begin theirs with an engine of some steps before.
    """
    before = known or {OBJECTS: [], QUERIES: []}
    _place_objects(engine, log[OBJECTS], before[OBJECTS])
    if not _same(log[QUERIES], before[QUERIES]):
        _register_queries(engine, log[QUERIES])
    engine.settle()


def _place_objects(engine: SharedExecution, chunks: list[pl.DataFrame], known: list[pl.DataFrame]) -> None:
    """Chunks after the first name those that are gone; one in the place of the first has those that are left."""
    if _same(chunks, known):
        return
    whole = not known or not chunks or chunks[0] is not known[0]
    placed = []
    for chunk in chunks:
        if whole or not any(chunk is one for one in known):
            here = chunk.filter(pl.col("last") != GONE)
            gone = _find_slots(engine.object_table, chunk["id"].filter(chunk["last"] == GONE))
            x, y, last = (here[name].to_numpy() for name in ("x", "y", "last"))
            placed.append((gone[gone >= 0], slots_of(engine.object_table, here["id"]), x, y, last))
    engine.place(placed, whole=whole)


def _same(some: list[pl.DataFrame], others: list[pl.DataFrame]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def log_queries(state: State, engine: SharedExecution, touched: Iterable[Id]) -> None:
    """Add the queries of these names as they are; one that was dropped has that as its kind."""
    names = set(touched)
    if not names:
        return
    key, swallowed, is_first = _swallow(state, QUERIES, len(names))
    names.update(parsed_id(name) for chunk in swallowed for name in chunk["query"].to_list())
    running = engine.registered
    rows = [
        {"query": str(name), **(row_of(running[name]) if name in running else {"kind": "drop"})}
        for name in sorted(names, key=id_order)
        if name in running or not is_first
    ]
    if rows:
        state.put(QUERIES, key, pl.DataFrame(rows, schema=_QUERIES))


def _register_queries(engine: SharedExecution, chunks: list[pl.DataFrame]) -> None:
    latest = {row["query"]: row for chunk in chunks for row in chunk.iter_rows(named=True)}
    events = [event_of(0.0, row, lonlat=False) for row in latest.values()]
    running = {event.name: event.query for event in events if isinstance(event, Register)}
    for name in [name for name in engine.registered if name not in running]:
        engine.drop(name)
    engine.expect(running)
    for name, query in running.items():
        if engine.registered.get(name) != query:
            engine.register(name, query)


def save_known(engine: RememberingExecution) -> pl.DataFrame:
    """A row for each query and object that it knows, in their order, and whether that is in its answer."""
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
    ).sort("query", "id")


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
    is_number = ids.str.contains(NUMBER).to_numpy()
    slots = np.empty(len(ids), np.int32)
    slots[is_number] = table.slots_of_numbers(ids.filter(is_number).cast(pl.Int64).to_numpy())
    if not is_number.all():
        slots[~is_number] = table.slots_of_texts(ids.filter(~is_number).to_list())
    return slots


def _find_slots(table: SlotTable, ids: pl.Series) -> Array:
    """The slots of a column of ids, numbers or texts, -1 where the table knows none."""
    if ids.dtype.is_integer():
        return table.find_numbers(ids.to_numpy())
    is_number = ids.str.contains(NUMBER).to_numpy()
    slots = np.empty(len(ids), np.int32)
    slots[is_number] = table.find_numbers(ids.filter(is_number).cast(pl.Int64).to_numpy())
    slots[~is_number] = table.find_texts(ids.filter(~is_number).to_list())
    return slots


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order of their ids, which are integers if all of them can be."""
    ids = rows["id"]
    if ids.dtype == pl.String and ids.str.contains(NUMBER).all():
        rows = rows.cast({"id": pl.Int64})
    return rows if rows["id"].is_sorted() else rows.sort("id")


def ids_column(table: SlotTable, slots: Array) -> pl.Series:
    """The ids of slots: numbers if the table knows no others, else texts."""
    if not table.text_of:
        return pl.Series(table.rank[slots])
    place = np.zeros(table.used, np.int64)
    place[slots] = 1
    known = np.flatnonzero(place)  # as np.unique, without sorting: slots are small
    place[known] = np.arange(len(known))
    return pl.Series([str(identity) for identity in table.ids_of(known)], dtype=pl.String).gather(place[slots])


NUMBER = r"^(0|-?[1-9][0-9]{0,17})$"


@njit(cache=True)
def _mark(marked: Array, slots: Array) -> None:
    for i in range(len(slots)):
        if slots[i] >= 0:
            marked[slots[i]] = True


@njit(cache=True)
def _gather(
    marked: Array, only_live: bool, lives: Array, xs: Array, ys: Array, lasts: Array
) -> tuple[Array, Array, Array, Array]:
    """The slots that are marked, and what is known of their objects; where one was that is gone does not matter."""
    most = len(marked)
    slots, x, y, last = np.empty(most, np.int32), np.zeros(most), np.zeros(most), np.full(most, GONE)
    count = 0
    for slot in range(most):
        if marked[slot] and (lives[slot] or not only_live):
            slots[count] = slot
            if lives[slot]:
                x[count], y[count], last[count] = xs[slot], ys[slot], lasts[slot]
            count += 1
    return slots[:count], x[:count], y[:count], last[:count]


def _chunks(state: State, table: str) -> list[pl.DataFrame]:
    chunks = [state.get(table, key) for key in state.keys(table)]
    return [chunk for chunk in chunks if isinstance(chunk, pl.DataFrame)]


def _swallow(state: State, table: str, size: int) -> tuple[str, list[pl.DataFrame], bool]:
    """Take from the end of a log what a new chunk of this size is to hold too.

    Returns the new chunk's key, the chunks taken, and whether none is left before it.
    """
    keys = state.keys(table)
    swallowed = []
    while keys:
        last = state.get(table, keys[-1])
        assert isinstance(last, pl.DataFrame)
        if last.height > 2 * size:
            break
        swallowed.append(last)
        size += last.height
        state.drop(table, keys.pop())
    return f"{int(keys[-1]) + 1 if keys else 0:012d}", swallowed, not keys
