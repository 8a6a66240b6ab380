"""The steering record: everything that is decided about how a step runs. The offset has it, and Spark logs it first.

So a step that is run again after a crash does the same: it admits, holds back, leaves out and shows the same tuples.
Boxes know nothing of it: the level around them applies it, arc by arc. Arcs are named by `str(Arc)`. Controllers, which
decide by figures, give one back; `arterial.engine.steering` brings it to the next step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Drop:
    """Which tuples of an arc are left out."""

    share: float = 0.0
    """This share of them, chosen by a hash of step, slot, place in the train and seed."""
    seed: int = 0
    keep: str | None = None
    """An expression over the arc's columns: tuples for which it is not true are left out, before the share is."""
    overflow: bool = False
    """Whether what is left out is kept, to be settled later."""
    by: tuple[str, ...] = ()
    """Columns: tuples that agree in them are left out together, and the same ones in every step; a hash of their values
    and the seed decides. A greater share leaves out the same groups, and more."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", tuple(self.by))  # JSON has lists


@dataclass(frozen=True)
class Tap:
    """Which tuples of an arc are shown to somebody who looks on."""

    arc: str
    where: str | None = None
    """An expression over the arc's columns; None: all of them."""
    limit: int = 100
    """At most so many a step and slot: the first ones."""


@dataclass(frozen=True)
class Steering:
    """How the next step runs."""

    version: int = 1
    """The version of the network."""
    admit: Mapping[str, int] = field(default_factory=dict)
    """About so many tuples of a source at most; a source that is not named is given the run's setting."""
    hold: Mapping[str, int] = field(default_factory=dict)
    """The arcs whose tuples wait in a queue, each with how many of the queue are let through (the oldest first)."""
    shed: Mapping[str, Drop] = field(default_factory=dict)
    tap: Mapping[str, Tap] = field(default_factory=dict)
    """The taps, by a name that nobody else uses."""
    history: Mapping[str, str] = field(default_factory=dict)
    """The arcs that begin with what a connection point kept before this step, by its name: those of a query that was
    adopted, in the first step of its version."""

    def as_json(self) -> dict[str, Any]:
        """What JSON can hold, without what says nothing."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Steering:
        """Back from JSON."""
        return cls(
            said.get("version", 1),
            dict(said.get("admit", {})),
            dict(said.get("hold", {})),
            {arc: Drop(**drop) for arc, drop in said.get("shed", {}).items()},
            {name: Tap(**tap) for name, tap in said.get("tap", {}).items()},
            dict(said.get("history", {})),
        )
