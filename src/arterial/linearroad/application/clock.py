"""The clock of a run: when each second of data is due, and so how late an answer is.

It is started once, by whoever needs it first, and survives a restart: an outage makes answers late.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from arterial.connectors.started import started
from arterial.linearroad.drive.pace import MAX, Pace


@dataclass(frozen=True)
class RunClock:
    """Second `begin` is due when the clock is started, the others as `speed` says."""

    path: Path
    begin: int
    speed: float

    @property
    def runs_freely(self) -> bool:
        """Whether data is delivered as fast as possible; it is due when it is delivered."""
        return self.speed == MAX

    def start(self, at: float | None = None) -> Pace:
        """The pace of the run; the first call starts it, now or at a given time."""
        if "pace" not in self.__dict__:
            started(self.path, at)
        return self.pace

    @cached_property
    def pace(self) -> Pace:
        """The pace of a run whose clock was started."""
        return Pace(started(self.path), self.begin, self.speed)

    def last_due(self, now: float) -> int:
        """The last second that is due by now."""
        pace = self.start()
        return pace.begin + math.floor((now - pace.started) * pace.speed + 1e-9)
