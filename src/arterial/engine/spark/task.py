"""What a Spark task does for one slot in one step: run a level, deliver to sinks, pack what goes on, report."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from arterial.connectors.points.contents import POINTS
from arterial.connectors.sink import Delivery
from arterial.connectors.source import Span
from arterial.engine.host.arc_steering import StepSteering, reading
from arterial.engine.host.level import Outcome, run_level
from arterial.engine.host.outcome_files import report, report_of_values, write_outcome
from arterial.engine.plan.plan import HEAD
from arterial.engine.spark.packed_work import PackedWork
from arterial.engine.spark.work import Work
from arterial.engine.state.slot_state import SlotState, Store
from arterial.engine.transport.parcels import Parcel
from arterial.engine.transport.rows import FRAME, REPORT, address_of, from_rows, pack_report, to_rows
from arterial.engine.transport.shipments import Shipment
from arterial.engine.transport.tuples import pack_tuples
from arterial.figures.steering import Steering
from arterial.network.state import MemoryState, State
from arterial.network.train import Train
from arterial.storage.disk import be_durable
from arterial.storage.epoch import check_epoch
from arterial.storage.fail_point import fail_point
from arterial.storage.remote import path_of

Row = tuple[int, bytes]
"""The integer that stands for a slot, and what goes there."""

_swept: dict[tuple[int, int], tuple[str, int]] = {}
"""The run and version for which this worker has removed what no box owns, by level and slot."""

CHUNKS = "chunks"
"""The folder of a run for large chunks of state."""

_ROWS = pa.schema([("slot", pa.int32()), ("packed", pa.binary())])


@dataclass(frozen=True)
class Step:
    """Which step, in which slot, when it was planned, and how it is steered."""

    number: int
    slot: int
    born: float
    steering: Steering

    def steered(self, work: Work) -> StepSteering:
        """What a level must know of it."""
        return StepSteering(self.number, self.steering, self.born, path_of(work.folder).parent / POINTS)


def run_head(work: Work, step: Step, spans: Mapping[str, Span], reached: Mapping[str, Any]) -> list[Row]:
    """Read the sources and run what belongs to their own tasks, which keeps no state.

    The sources that deliver by slot are left to the slots of level 0: what only one slot wants need not be sent there.
    """
    began = time.perf_counter()
    _begin(work)
    later = {name: span for name, span in spans.items() if name in work.plan.split_sources}
    sources = _read(work, {name: span for name, span in spans.items() if name not in later}, step)
    outcome = run_level(
        work.plan, HEAD, step.slot, [], _no_state, sources=sources, policy=work.policy, steered=step.steered(work)
    )
    return _hand_on(work, HEAD, step, outcome, began, reached, later)


def run_slot(packed_work: PackedWork, level: int, key: int, arrived: list[bytes], store: Store) -> list[Row]:
    """Run a level in the slot that a key of Spark stands for; what is for other levels passes."""
    addresses = [address_of(packed) for packed in arrived]
    sent = [(key, packed) for packed, (to, _) in zip(arrived, addresses, strict=True) if to != level]
    versions = [version for to, version in addresses if to == level]
    if not versions:
        return sent
    work = packed_work.load(versions[0])
    _begin(work)
    slot = work.keys.index(key)
    to_here = [packed for packed, (to, _) in zip(arrived, addresses, strict=True) if to == level]
    mine = from_rows(to_here, work.channels, work.memory)
    state = SlotState((work.run, level, slot), store, path_of(work.folder) / CHUNKS / f"{level:03d}-{slot:03d}")
    step = Step(mine[0].step, slot, min(shipment.born for shipment in mine), mine[0].steering)
    began = time.perf_counter()
    if _swept.get((level, slot)) != (work.run, work.version):
        # The first step of a version, or of a worker: what the network had no longer belongs to anyone.
        state.keep_only(set(work.owners.values()))
        _swept[level, slot] = (work.run, work.version)
    parcels = [parcel for shipment in mine for parcel in shipment.parcels]
    sources = _read(work, {name: span for shipment in mine for name, span in shipment.spans.items()}, step)

    def states(owner: str) -> State:
        return state.of(work.owners[owner])

    outcome = run_level(
        work.plan, level, slot, parcels, states, sources=sources, policy=work.policy, steered=step.steered(work)
    )
    return sent + _hand_on(work, level, step, outcome, began, state.save())


def record_batch(rows: list[Row]) -> pa.RecordBatch:
    """Rows as Spark takes them from a source."""
    slots = pa.array([to for to, _ in rows], pa.int32())
    return pa.RecordBatch.from_arrays([slots, pa.array([packed for _, packed in rows], pa.binary())], schema=_ROWS)


def _begin(work: Work) -> None:
    """Raise if another run has taken over the checkpoint; from here on, write as this run wants it."""
    check_epoch(path_of(work.folder), work.run)
    be_durable(work.durable)


def _read(work: Work, spans: Mapping[str, Span], step: Step) -> dict[str, Iterable[Train]]:
    """What a slot gets of the sources, read when it is asked for."""
    return {
        name: reading(work.plan, step.steering, name, work.sources[name], span, step.slot)
        for name, span in spans.items()
    }


def _hand_on(
    work: Work,
    level: int,
    step: Step,
    outcome: Outcome,
    began: float,
    said: Mapping[str, object],
    spans: Mapping[str, Span] | None = None,
) -> list[Row]:
    """What a slot has to send: to the driver, to later levels, and what it has to say (`said`) of itself."""
    # Once more: who was cut off in the middle of a task may find that a new run has begun with other data.
    check_epoch(path_of(work.folder), work.run)
    rows: list[Row] = []
    receipts: dict[str, str] = {}
    for output, train in outcome.deliveries.items():
        sink = work.sinks.get(output)
        if sink is None:
            continue
        delivery = Delivery(output, step.number, step.slot, train, step.born)
        if sink.to_driver or sink.to_frame:
            label = {
                "frame" if sink.to_frame else "deliver": output,
                "step": step.number,
                "slot": step.slot,
                "through": train.through,
                "version": work.version,
            }
            schema = work.plan.network.streams[work.plan.network.arrival(output)].schema
            payload = pack_tuples(train.tuples, schema) if len(train) else b""
            rows.append((work.keys[step.slot], pack_report(label, payload, FRAME if sink.to_frame else REPORT)))
        else:
            writing = time.perf_counter()
            if (receipt := sink.write(delivery)) is not None:
                receipts[output] = receipt
            outcome.spend(output, writing)
            fail_point("task.delivered")
    write_outcome(path_of(work.folder), work.version, step.number, level, step.slot, outcome)
    if outcome.rejects:
        fail_point("task.rejects-written")
    rows += _shipments(work, level, step, outcome.parcels, spans or {})
    said = {**said, **report_of_values(work.plan, outcome)}
    if receipts:
        said["wrote"] = receipts
    rows.append((work.keys[step.slot], pack_report(_report(level, step, outcome, began, said))))
    return rows


def _shipments(work: Work, from_level: int, step: Step, parcels: list[Parcel], spans: Mapping[str, Span]) -> list[Row]:
    """All that goes to the same slot of the same level, in one shipment; spans are for this slot of level 0."""
    together: dict[tuple[int, int], list[Parcel]] = {(0, step.slot): []} if spans else {}
    for parcel in parcels:
        together.setdefault((work.channels[parcel.channel].to_level, parcel.receiver), []).append(parcel)
    sender = (from_level - HEAD) * work.plan.shards + step.slot
    rows: list[Row] = []
    for (level, receiver), some in together.items():
        reads = spans if (level, receiver) == (0, step.slot) else {}
        shipment = Shipment(step.number, level, step.born, tuple(some), step.steering, reads)
        rows += [(work.keys[receiver], row) for row in to_rows(shipment, sender, work.channels, work.memory)]
    return rows


def _report(level: int, step: Step, outcome: Outcome, began: float, said: Mapping[str, object]) -> dict[str, object]:
    seconds = time.perf_counter() - began
    steered = StepSteering(step.number, step.steering, step.born)
    return {**report(level, step.slot, steered, outcome, seconds), "worker": os.getpid(), **said}


def _no_state(box: str) -> State:
    return MemoryState()
