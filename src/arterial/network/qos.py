"""Quality of service: what an answer is worth to the application, by its delay (Aurora §4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from arterial.errors import NetworkError
from arterial.network.drawn_at import drawn_at

Graph = tuple[tuple[float, float], ...]
"""A piecewise-linear graph: points (x, utility) in the order of x."""


@dataclass(frozen=True)
class Delay:
    """An answer is worth 1 up to a delay of `good` seconds, 0 from `zero` seconds on, and on the line between."""

    good: float
    zero: float

    def __post_init__(self) -> None:
        if not 0 <= self.good < self.zero:
            order = f"; did you mean Delay({self.zero!r}, {self.good!r})?" if 0 <= self.zero < self.good else ""
            raise NetworkError(
                f"Delay: expected 0 ≤ good < zero, got good={self.good!r}, zero={self.zero!r}{order}{drawn_at()}"
            )

    @property
    def graph(self) -> Graph:
        """The two points where it bends."""
        return ((float(self.good), 1.0), (float(self.zero), 0.0))
