"""The state of an engine between time units as named tables, and an engine made from them again.

Objects and queries are the state; answers, grid and index follow from them. With a cache below 100 per cent, what each
query knows and its answer are state too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from arterial.moving.grid import NONE
from arterial.moving.ids import Id, SlotTable
from arterial.moving.query_index import FREE
from arterial.moving.remembering import RememberingExecution, _Memory
from arterial.moving.shared import SharedExecution
from arterial.moving.space import unit_vector

Array = np.ndarray[Any, Any]
Tables = dict[str, pa.Table]


def save(engine: SharedExecution) -> Tables:
    """The tables `objects`, `queries` and, for a remembering engine, `known`."""
    objects, queries = engine._objects, engine._queries
    slots = np.flatnonzero(objects.live[: engine.object_table.used])
    rows = np.flatnonzero(queries.kind[: engine.query_table.used] != FREE)
    focal = queries.focal[rows]
    tables = {
        "objects": pa.table(
            {
                **_id_columns("id", engine.object_table, slots),
                "x": objects.x[slots],
                "y": objects.y[slots],
                "last": objects.last[slots],
            }
        ),
        "queries": pa.table(
            {
                **_id_columns("name", engine.query_table, rows),
                "kind": queries.kind[rows],
                "k": queries.k[rows],
                **_id_columns("focal", engine.object_table, focal),
                **{f"shape_{i}": queries.shape[rows, i] for i in range(4)},
            }
        ),
    }
    if isinstance(engine, RememberingExecution):
        tables["known"] = _known(engine)
    return tables


def load(engine: SharedExecution, tables: Tables) -> None:
    """Give a new engine, made with the same settings, the state of the saved one."""
    columns = {name: tables["objects"].column(name).to_numpy() for name in ("x", "y", "last")}
    slots = _slots(engine.object_table, "id", tables["objects"])
    names = _slots(engine.query_table, "name", tables["queries"])
    focals = _slots(engine.object_table, "focal", tables["queries"])
    engine._make_room_for_objects()
    engine._make_room_for_queries()
    objects, queries = engine._objects, engine._queries
    objects.x[slots], objects.y[slots], objects.last[slots] = columns["x"], columns["y"], columns["last"]
    objects.live[slots] = 1
    for slot in slots.tolist():
        objects.ux[slot], objects.uy[slot], objects.uz[slot] = unit_vector(objects.x[slot], objects.y[slot])
    engine.live_count = len(slots)
    for i, row in enumerate(names.tolist()):
        queries.kind[row] = tables["queries"]["kind"][i].as_py()
        queries.k[row] = tables["queries"]["k"][i].as_py()
        queries.shape[row] = [tables["queries"][f"shape_{j}"][i].as_py() for j in range(4)]
        if focals[i] != NONE:
            queries.focal[row] = focals[i]
            queries.sibling[row] = objects.first_query[focals[i]]
            objects.first_query[focals[i]] = row
    engine._fit_grid()
    engine._answer(names[np.argsort(engine.query_table.rank[names])])
    if isinstance(engine, RememberingExecution):
        _load_known(engine, tables["known"], names)


def _id_columns(prefix: str, table: SlotTable, slots: Array) -> dict[str, pa.Array]:
    """Ids as two columns, numbers and texts; one of them is null, both for no id."""
    ids: list[Id | None] = [None if slot == NONE else table.id_of(slot) for slot in slots.tolist()]
    return {
        f"{prefix}_number": pa.array([one if isinstance(one, int) else None for one in ids], pa.int64()),
        f"{prefix}_text": pa.array([one if isinstance(one, str) else None for one in ids], pa.string()),
    }


def _slots(table: SlotTable, prefix: str, rows: pa.Table) -> Array:
    numbers, texts = rows[f"{prefix}_number"], rows[f"{prefix}_text"]
    slots = np.full(len(rows), NONE, np.int32)
    has_number, has_text = numbers.is_valid().to_numpy(), texts.is_valid().to_numpy()
    slots[has_number] = table.slots_of_numbers(numbers.drop_null().to_numpy().astype(np.int64))
    slots[has_text] = table.slots_of_texts(texts.drop_null().to_pylist())
    return slots


def _known(engine: RememberingExecution) -> pa.Table:
    """A row for each query and object that it knows, and whether that is in its answer."""
    memories = engine._memories
    rows = np.repeat(list(memories), [len(memory.known) for memory in memories.values()]).astype(np.int64)
    known = np.concatenate([memory.known for memory in memories.values()] or [np.empty(0, np.int32)])
    answered = [np.isin(memory.known, memory.answer) for memory in memories.values()]
    return pa.table(
        {
            **_id_columns("name", engine.query_table, rows),
            **_id_columns("id", engine.object_table, known),
            "answered": np.concatenate(answered or [np.empty(0, np.bool_)]),
        }
    )


def _load_known(engine: RememberingExecution, table: pa.Table, names: Array) -> None:
    rows, known = _slots(engine.query_table, "name", table), _slots(engine.object_table, "id", table)
    answered = table["answered"].to_numpy()
    for row in names.tolist():
        mine = rows == row
        engine._memories[row] = _Memory(known[mine], known[mine & answered])
