"""What a level leaves beside its trains: a report to the driver, and tuples set aside, shown by taps, or overflowed.

Every file is named by step, level and slot, so a step that is run again writes the same files again.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import polars as pl

from arterial.connectors.sinks.files.parts import put_tuples
from arterial.engine.host.arc_steering import StepSteering
from arterial.engine.host.failures import write_rejects
from arterial.engine.host.level import Outcome
from arterial.engine.plan.plan import Plan
from arterial.engine.steering.taps import write_tapped
from arterial.service.utility import outputs_of
from arterial.service.values import histogram
from arterial.storage.place import make_folder

REJECTS, OVERFLOW = "rejects", "overflow"


def write_outcome(folder: Path, version: int, step: int, level: int, slot: int, outcome: Outcome) -> None:
    """Write what came of a level in one step and slot; `folder` is the run's own."""
    if outcome.rejects:
        write_rejects(folder / REJECTS, step, level, slot, outcome.rejects)
    if outcome.passed.tapped:
        write_tapped(folder, step, level, slot, outcome.passed.tapped)
    for arc, frames in outcome.passed.overflow.items():
        own = overflow_folder(folder, version, arc)
        make_folder(own)
        put_tuples(own / f"part-{step:09d}-{level + 1:03d}-{slot:03d}.parquet", pl.concat(frames), "parquet")


def overflow_folder(folder: Path, version: int, arc: str) -> Path:
    """Where the tuples that overflowed on an arc are kept: by the version of the network, which settles them, and the
    port at its end, which it alone leads to."""
    return folder / OVERFLOW / f"{version:04d}" / arc.partition(" → ")[2]


def report(level: int, slot: int, steered: StepSteering, outcome: Outcome, seconds: float) -> dict[str, Any]:
    """What the driver makes figures of: what JSON can hold, without what says nothing."""
    passed = outcome.passed
    said: dict[str, Any] = {
        "step": steered.step,
        "version": steered.steering.version,
        "born": steered.born,
        "level": level,
        "slot": slot,
        "seconds": seconds,
        "at": time.time(),
        "boxes": {name: [c.tuples_in, c.tuples_out, c.seconds] for name, c in outcome.counts.items()},
        "rejects": len(outcome.rejects),
    }
    for name, value in (
        ("shed", passed.shed),
        ("held", passed.held),
        ("oldest", passed.oldest),
        ("unread", passed.unread),
    ):
        if value:
            said[name] = value
    return said


def report_of_values(plan: Plan, outcome: Outcome) -> dict[str, Any]:
    """What a report also says where outputs have a value graph: how their values are distributed."""
    found = {}
    for output in outputs_of(plan.network):
        train = outcome.deliveries.get(output.name)
        if output.value_of is not None and train is not None and len(train):
            found[output.name] = histogram(train.tuples[output.value_of], output.value)
    return {"values": found} if found else {}
