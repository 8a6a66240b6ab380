"""When an instant of a file is due: at a pace that is kept, or at once.

It is started once and survives a restart: an outage makes updates late.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from arterial.connectors.started import started

AT_ONCE = math.inf


@dataclass(frozen=True)
class EventClock:
    """The instant `first` is due when the clock is started, the others as `speed` says; `ticks` make a second."""

    path: Path
    first: int
    ticks: int
    speed: float

    @property
    def runs_freely(self) -> bool:
        """Whether events are due when they are read."""
        return self.speed == AT_ONCE

    def due(self, instant: int) -> float:
        """When an instant is due, in seconds since 1970; the clock was started."""
        return started(self.path) + (instant - self.first) / self.ticks / self.speed

    def last_due(self, now: float) -> int:
        """The last instant that is due by now; the first call starts the clock."""
        return self.first + math.floor((now - started(self.path)) * self.speed * self.ticks + 1e-6)
