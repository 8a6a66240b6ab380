"""Commands from the page to a run: those of `arterial control`, checked by the same code."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, Field

from arterial.engine.run.states import FINISHED
from arterial.engine.steering import control
from arterial.engine.steering.arcs import check_drop, check_hold, find_arc, read_arcs
from arterial.errors import RunError
from arterial.figures.steering import Drop
from arterial.studio.subject import Run


class Command(BaseModel):
    """What the run is to do."""

    command: Literal["pause", "resume", "step", "stop", "shed", "hold"]
    arc: str | None = Field(None, max_length=1000, description="For shed and hold: box, box.port or 'a → b'.")
    trains: int = Field(1, ge=1, le=1_000_000, description="For step: how many trains.")
    share: float = Field(0.0, ge=0, le=1, description="For shed: the share of the tuples to leave out.")
    keep: str | None = Field(None, max_length=10_000, description="For shed: leave out what this is not true of.")
    overflow: bool = Field(False, description="For shed: keep what is left out, in the checkpoint.")
    take: int = Field(0, ge=0, le=10**12, description="For hold: so many of the waiting tuples go on in each step.")
    off: bool = Field(False, description="For shed and hold: no longer.")


def give(run: Run, asked: Command) -> dict[str, Any]:
    """Give a command; the commands then in force."""
    own = run.folder
    if run.status().state == FINISHED:
        raise RunError(f"{asked.command}: the run is finished; nothing is left to control")
    if asked.command in ("shed", "hold"):
        if asked.arc is None:
            raise RunError(f"{asked.command}: which arc? Expected a box, a box.port or 'a → b'")
        arc = find_arc(asked.arc, read_arcs(own))
        if asked.command == "hold":
            if not asked.off:
                check_hold(arc, asked.take)
            return asdict(control.hold(own, arc.name, None if asked.off else asked.take))
        if not asked.off and not asked.share and asked.keep is None:
            raise RunError(f"shed: how much of {arc.name}? Give a share, or what to keep")
        drop = Drop(asked.share, keep=asked.keep, overflow=asked.overflow)
        if not asked.off:
            check_drop(arc, drop)
        return asdict(control.shed(own, arc.name, None if asked.off else drop))
    if asked.command == "step":
        return asdict(control.step(own, asked.trains))
    return asdict({"pause": control.pause, "resume": control.resume, "stop": control.stop}[asked.command](own))
