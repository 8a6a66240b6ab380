"""The figures of one step: what every box, slot, source and output did in it. One line of `steps.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Counts = Mapping[str, int]
"""Numbers of tuples, by port."""


@dataclass(frozen=True)
class BoxFigures:
    """What one box did, in all slots together."""

    tuples_in: Counts = field(default_factory=dict)
    tuples_out: Counts = field(default_factory=dict)
    seconds: float = 0.0
    """Seconds of a core."""

    @property
    def tuples(self) -> int:
        """How many entered it, or left it, for a source."""
        return sum(self.tuples_in.values()) or sum(self.tuples_out.values())


@dataclass(frozen=True)
class SlotFigures:
    """What one slot did in one level: where the time of a step goes, and how evenly it is shared."""

    level: int
    slot: int
    seconds: float
    """From the beginning of its task's work to its end."""
    boxes: Mapping[str, float] = field(default_factory=dict)
    """Seconds by box."""
    state_read: int = 0
    state_written: int = 0
    state_bytes: int = 0
    """Bytes of state: read in this step, written in it, and held by now."""
    state: Mapping[str, int] = field(default_factory=dict)
    """Bytes held by box; the rest of `state_bytes` are tuples that wait. Of a local run, what is in its memory."""


@dataclass(frozen=True)
class SourceFigures:
    """How far a source has come."""

    tuples: int = 0
    """Read in this step, or left out unread."""
    waiting: int | None = None
    """Tuples that wait to be read, if the source knows."""
    waited: float = 0.0
    """How long the oldest tuple of the step had waited before the step was planned, in seconds, if the source knows."""
    through: int | None = None
    """Every tuple up to this time is read; None before the first and after the last."""
    share: float | None = None
    """How much of it is read, from 0 to 1, if it knows how much there is."""
    unread: int | None = None
    """For a source that can leave out whole groups without reading them: how many tuples it did not read."""


@dataclass(frozen=True)
class OutputFigures:
    """What was delivered to an output (or would have been, where it has no sink)."""

    tuples: int = 0
    delay: float = 0.0
    """Seconds from the arrival of the step's oldest tuple to the delivery: the worst delay of its tuples."""
    values: Mapping[str, int] = field(default_factory=dict)
    """Where the output has a value graph: tuples by interval of the value; see `arterial.service.values`."""


@dataclass(frozen=True)
class StepFigures:
    """All of a step. Arcs are named by `str(Arc)`: "begin.port → end.port"."""

    step: int
    version: int
    """The version of the network that ran."""
    born: float
    """When it was planned, in seconds since 1970."""
    seconds: float
    """From the commit of the step before (or its own beginning, if it had to wait for tuples) to its own."""
    boxes: Mapping[str, BoxFigures] = field(default_factory=dict)
    slots: tuple[SlotFigures, ...] = ()
    sources: Mapping[str, SourceFigures] = field(default_factory=dict)
    outputs: Mapping[str, OutputFigures] = field(default_factory=dict)
    shed: Mapping[str, int] = field(default_factory=dict)
    """Tuples that were left out, by arc."""
    held: Mapping[str, int] = field(default_factory=dict)
    """Tuples that wait in the queue of a branch, by the arc that it begins with."""
    rejects: int = 0
    in_turn: bool = False
    """Its slots ran one after the other, not side by side: a run with `--local` has one thread."""


def as_json(step: StepFigures) -> dict[str, Any]:
    """What JSON can hold, without what says nothing: a line of `steps.jsonl`."""
    said: dict[str, Any] = {
        "step": step.step,
        "version": step.version,
        "born": round(step.born, 4),
        "seconds": round(step.seconds, 6),
        "boxes": {name: [dict(b.tuples_in), dict(b.tuples_out), round(b.seconds, 6)] for name, b in step.boxes.items()},
        "slots": [
            [
                slot.level,
                slot.slot,
                round(slot.seconds, 6),
                {name: round(seconds, 6) for name, seconds in slot.boxes.items()},
                slot.state_read,
                slot.state_written,
                slot.state_bytes,
                *((dict(slot.state),) if slot.state else ()),
            ]
            for slot in step.slots
        ],
        "sources": {
            name: [
                *(source.tuples, source.waiting, round(source.waited, 4), source.through, source.share),
                *(() if source.unread is None else (source.unread,)),
            ]
            for name, source in step.sources.items()
        },
        "outputs": {
            name: [output.tuples, round(output.delay, 4), dict(output.values)] for name, output in step.outputs.items()
        },
    }
    for name, value in (("shed", step.shed), ("held", step.held), ("rejects", step.rejects), ("in_turn", step.in_turn)):
        if value:
            said[name] = dict(value) if isinstance(value, Mapping) else value
    return said


def from_json(said: Mapping[str, Any]) -> StepFigures:
    """The figures that a line of `steps.jsonl` holds."""
    return StepFigures(
        said["step"],
        said["version"],
        said["born"],
        said["seconds"],
        {name: BoxFigures(*box) for name, box in said["boxes"].items()},
        tuple(SlotFigures(*slot) for slot in said["slots"]),
        {name: SourceFigures(*source) for name, source in said["sources"].items()},
        {name: OutputFigures(*output) for name, output in said["outputs"].items()},
        said.get("shed", {}),
        said.get("held", {}),
        said.get("rejects", 0),
        said.get("in_turn", False),
    )
