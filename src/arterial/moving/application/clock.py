"""When an instant of a file is due: at a pace that is kept, or at once.

The clock is a small file beside the checkpoint. It is started once and survives a restart: an outage makes updates
late, it does not stop the time.
"""

from __future__ import annotations

import json
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

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
        return self._started() + (instant - self.first) / self.ticks / self.speed

    def last_due(self, now: float) -> int:
        """The last instant that is due by now; the first call starts the clock."""
        return self.first + math.floor((now - self._started()) * self.speed * self.ticks + 1e-6)

    def _started(self) -> float:
        if not self.path.exists():
            draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            draft.write_text(json.dumps({"started": time.time()}))
            try:
                os.link(draft, self.path)  # fails if another process was first
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        return float(json.loads(self.path.read_text())["started"])
