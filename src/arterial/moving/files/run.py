"""Running a file of events through the engine, and writing the changes of the answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from arterial.connectors.rejects import Rejects
from arterial.errors import MachineError
from arterial.moving.files.event_file import Block, read_events
from arterial.moving.files.update_file import time_text, write_updates
from arterial.moving.queries.events import Register
from arterial.moving.queries.space import Space
from arterial.moving.shared.remembering import RememberingExecution, make_engine
from arterial.moving.shared.shared import Changes, SharedExecution
from arterial.moving.shared.state import ids_column, slots_of


@dataclass(frozen=True)
class Summary:
    """What a run did."""

    lines: int
    reports: int
    queries: int
    rejects: int
    time_units: int
    updates: int
    objects_at_end: int
    queries_at_end: int
    seconds: float
    accuracy: float
    """1 with the conservative cache; else as measured against exact answers."""


def run_file(
    events: Path,
    out: Path,
    *,
    rejects: Path,
    space: Space = Space.PLANE,
    timeout: float | None = None,
    cache: float = 100.0,
    longest_step: float | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Summary:
    """Run the events and write a line `t,qid,+|-,object` for every change; what is no event goes to `rejects`.

    A `cache` below 100 per cent limits what queries know (see `remembering.py`). `progress` gets how many bytes are
    read.
    """
    engine = make_engine(space=space, timeout=timeout, cache=cache, longest_step=longest_step)
    started = time.perf_counter()
    totals = dict.fromkeys(("lines", "reports", "queries", "units", "updates"), 0)
    aside = Rejects(rejects)
    try:
        with out.open("wb") as file:
            for block in read_events(events, space=space):
                totals["updates"] += write_changes(file, engine, run_block(engine, block))
                engine.forget()
                aside.add(block.rejects)
                totals["lines"] += block.lines
                totals["reports"] += len(block.times)
                totals["queries"] += len(block.queries)
                totals["units"] += len(block.units())
                progress(block.bytes)
    except OSError as fault:
        raise MachineError(f"{fault.filename or out}: cannot be written: {fault.strerror or fault}.") from fault
    return Summary(
        lines=totals["lines"],
        reports=totals["reports"],
        queries=totals["queries"],
        rejects=len(aside),
        time_units=totals["units"],
        updates=totals["updates"],
        objects_at_end=engine.live_count,
        queries_at_end=engine.query_count,
        seconds=time.perf_counter() - started,
        accuracy=engine.uncertainty.accuracy if isinstance(engine, RememberingExecution) else 1.0,
    )


def run_block(engine: SharedExecution, block: Block) -> list[Changes]:
    """Run whole time units; returns the changes of each."""
    slots = slots_of(engine.object_table, block.ids)
    units = block.units()
    begins, ends = np.searchsorted(block.times, units, "left"), np.searchsorted(block.times, units, "right")
    changes, query = [], 0
    for t, begin, end in zip(units.tolist(), begins.tolist(), ends.tolist(), strict=True):
        while query < len(block.queries) and block.queries[query][1].t == t:
            _, event = block.queries[query]
            if isinstance(event, Register):
                engine.register(event.name, event.query)
            else:
                engine.drop(event.name)
            query += 1
        changed = engine.step(t, slots[begin:end], block.x[begin:end], block.y[begin:end])
        if len(changed):
            changes.append(changed)
    return changes


def write_changes(file: IO[bytes], engine: SharedExecution, changes: list[Changes]) -> int:
    """Write a line for every change; returns how many."""
    if not changes:
        return 0
    which = np.repeat(np.arange(len(changes)), [len(changed) for changed in changes])
    write_updates(
        file,
        pl.Series([time_text(changed.t) for changed in changes]).gather(which),
        ids_column(engine.query_table, np.concatenate([changed.query for changed in changes])),
        np.concatenate([changed.sign for changed in changes]),
        ids_column(engine.object_table, np.concatenate([changed.slot for changed in changes])),
    )
    return len(which)
