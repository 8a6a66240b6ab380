"""When a second of data is due: in real time, faster by a factor, or at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from arterial.errors import ArterialError

MAX = math.inf


def parse_speed(text: str) -> float:
    """A speed as users write it: `1` is real time, `max` as fast as possible, anything else a factor.

    >>> parse_speed("max"), parse_speed("2.5")
    (inf, 2.5)
    """
    if text == "max":
        return MAX
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0 < speed < MAX:
        raise ArterialError(f"--speed must be a number above 0 or 'max', got {text!r}")
    return speed


@dataclass(frozen=True)
class Pace:
    """The wall-clock time at which each second is due: `begin` is due at `started`, the others as `speed` says."""

    started: float
    begin: int
    speed: float

    def due(self, second: float) -> float:
        """When a second is due, in seconds of the wall clock."""
        return self.started + (second - self.begin) / self.speed

    def wait(
        self,
        second: int,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Sleep until a second is due."""
        while (left := self.due(second) - clock()) > 0:
            sleep(left)
