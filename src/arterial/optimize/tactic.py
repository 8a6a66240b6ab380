"""What every tactic is: a pure function from a network, and what was measured of its boxes, to a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from arterial.network.box import OUT
from arterial.network.network import NetworkValue


@dataclass(frozen=True)
class Measured:
    """What a box did in a window of steps: tuples in and out by port, and seconds of a core."""

    tuples_in: Mapping[str, int] = field(default_factory=dict)
    tuples_out: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def came(self) -> int:
        """The tuples that came in."""
        return sum(self.tuples_in.values())

    @property
    def selectivity(self) -> float | None:
        """Tuples out for each tuple in; None if none came."""
        return sum(self.tuples_out.values()) / self.came if self.came else None

    @property
    def cost(self) -> float | None:
        """Seconds for each tuple that came in; None if none came."""
        return self.seconds / self.came if self.came else None

    def share(self, port: str) -> float | None:
        """Tuples that left by a port for each that came in; None if none came."""
        return self.tuples_out.get(port, 0) / self.came if self.came else None

    def plus(self, other: Measured) -> Measured:
        """Both together."""
        return Measured(
            _sum(self.tuples_in, other.tuples_in), _sum(self.tuples_out, other.tuples_out), self.seconds + other.seconds
        )


Figures = Mapping[str, Measured]
"""What was measured, by the name of the box; a box that is not in it is not known."""

Tactic = Callable[[NetworkValue, Figures], NetworkValue]
"""Changes the network, not what its outputs stand for at any instant. Arcs that are inseparable stay as they are."""


def measured(selectivity: float, cost: float = 1e-6, tuples: int = 1_000_000) -> Measured:
    """The figures of a box with that selectivity, and that cost of a tuple in seconds.

    >>> measured(0.25).selectivity
    0.25
    """
    return Measured({"in": tuples}, {OUT: round(selectivity * tuples)}, cost * tuples)


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {port: one.get(port, 0) + other.get(port, 0) for port in {**one, **other}}
