"""What a Spark task does for one slot in one step: run a level, deliver to sinks, pack what goes on, report."""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from arterial.engine.arrivals import Parcel
from arterial.engine.failures import Reject
from arterial.engine.packing import FRAME, NOTE, Consignment, pack, pack_note, pack_tuples
from arterial.engine.plan import HEAD
from arterial.engine.sinks.sink import Delivery
from arterial.engine.superbox import Outcome, run_level
from arterial.engine.work import Work
from arterial.errors import ArterialError, RunError
from arterial.network.network import Port
from arterial.network.state import MemoryState, State
from arterial.network.train import Train

Row = tuple[int, bytes]
"""The integer that stands for a slot, and what goes there."""

_ERROR = re.compile(r"arterial-error<([A-Za-z0-9+/=]+)>")


@dataclass(frozen=True)
class Step:
    """Which step, in which slot, and when the oldest of its tuples was read."""

    number: int
    slot: int
    born: float


def run_head(
    work: Work, step: Step, sources: Mapping[str, Train], waiting: Mapping[str, int | None] | None = None
) -> list[Row]:
    """Run what belongs to the sources' own tasks. It keeps no state."""
    began = time.perf_counter()
    outcome = run_level(work.plan, HEAD, step.slot, [], _no_state, sources=sources, policy=work.policy)
    return _hand_on(work, HEAD, step, outcome, began, {"waiting": waiting or {}})


def run_step(
    work: Work,
    level: int,
    step: Step,
    parcels: Iterable[Parcel],
    states: Callable[[str], State],
    save: Callable[[], Mapping[str, float]],
) -> list[Row]:
    """Run a level in a slot; `save` writes its state and says what that took."""
    began = time.perf_counter()
    outcome = run_level(work.plan, level, step.slot, parcels, states, policy=work.policy)
    return _hand_on(work, level, step, outcome, began, save())


def _hand_on(
    work: Work, level: int, step: Step, outcome: Outcome, began: float, saved: Mapping[str, object] | None = None
) -> list[Row]:
    rows: list[Row] = []
    for output, train in outcome.deliveries.items():
        sink = work.sinks.get(output)
        if sink is None:
            continue
        delivery = Delivery(output, step.number, step.slot, train, step.born)
        if sink.to_driver or sink.to_frame:
            said = {
                "frame" if sink.to_frame else "deliver": output,
                "step": step.number,
                "slot": step.slot,
                "through": train.through,
                "version": work.version,
            }
            schema = work.plan.network.streams[fed_by(work, output)].schema
            payload = pack_tuples(train.tuples, schema) if len(train) else b""
            rows.append((work.keys[step.slot], pack_note(said, payload, FRAME if sink.to_frame else NOTE)))
        else:
            sink.write(delivery)
    if outcome.rejects:
        _write_rejects(work, level, step, outcome.rejects)
    rows += _consignments(work, step, outcome.parcels)
    rows.append((work.keys[step.slot], pack_note(_receipt(level, step, outcome, began, saved or {}))))
    return rows


def fed_by(work: Work, box: str) -> Port:
    """The port whose stream an output or a connection point gets."""
    return next(iter(work.plan.network.arrivals(work.plan.network.box(box)).values()))


def _consignments(work: Work, step: Step, parcels: list[Parcel]) -> list[Row]:
    """All that goes to the same slot of the same level, in one row."""
    together: dict[tuple[int, int], list[Parcel]] = {}
    for parcel in parcels:
        together.setdefault((work.channels[parcel.channel].to_level, parcel.receiver), []).append(parcel)
    return [
        (
            work.keys[receiver],
            pack(Consignment(step.number, level, step.born, tuple(some), work.version), work.channels),
        )
        for (level, receiver), some in together.items()
    ]


def _receipt(level: int, step: Step, outcome: Outcome, began: float, saved: Mapping[str, object]) -> dict[str, object]:
    return {
        "step": step.number,
        "level": level,
        "slot": step.slot,
        "seconds": time.perf_counter() - began,
        "delay": time.time() - step.born,
        "boxes": {name: [c.tuples_in, c.tuples_out, c.seconds] for name, c in outcome.counts.items()},
        "rejects": len(outcome.rejects),
        "worker": os.getpid(),
        **saved,
    }


def _write_rejects(work: Work, level: int, step: Step, rejects: list[Reject]) -> None:
    path = Path(work.rejects) / f"part-{step.number:09d}-{level + 1:03d}-{step.slot:03d}.jsonl"
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text("".join(reject.json() + "\n" for reject in rejects))
        draft.replace(path)
    except OSError as trouble:
        raise RunError(f"cannot write the tuples set aside to {path}: {trouble.strerror}") from None


def _no_state(box: str) -> State:
    return MemoryState()


@contextmanager
def errors_for_the_driver() -> Iterator[None]:
    """Turn an error that is the user's to mend into one whose message survives the way through Spark."""
    try:
        yield
    except ArterialError as mistake:
        message = base64.b64encode(str(mistake).encode()).decode()
        raise RuntimeError(f"arterial-error<{message}>") from None


def error_from_task(text: str) -> str | None:
    """The message of an error that a task turned, out of all that Spark wrapped around it."""
    found = _ERROR.search(text)
    return base64.b64decode(found.group(1)).decode() if found else None
