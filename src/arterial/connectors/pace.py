"""When an event time is due: in real time, faster or slower by a factor, or as soon as it is there."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from arterial.arrays import Array
from arterial.errors import ArterialError
from arterial.storage.damage import read_json
from arterial.storage.place import put_if_absent

MAX = math.inf
"""The speed of what is not paced."""

TICK_SECONDS = 0.1
"""So often a source says that time passes, at most, while no tuple is due."""

_ROUNDING = 1e-6
"""An instant that a float misses by so little, in units of event time, is due."""

Times = TypeVar("Times", float, Array)


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


def show_speed(speed: float) -> float | str:
    """A speed as `parse_speed` takes it, for files that people read."""
    return "max" if speed == MAX else speed


@dataclass(frozen=True)
class Pace:
    """The event time `begin` is due at the start, the others as `speed` says; `units` of event time make a second.

    With a `path`, the start is kept in that small file: all processes share it and a restart does not change it, so an
    outage makes answers late. Without, it is this object's own.

    >>> pace = Pace(begin=60, speed=2.0)
    >>> pace.start(at=1000.0), pace.due(70), pace.last_due(1002.6)
    (1000.0, 1005.0, 65)
    """

    begin: int
    speed: float
    units: int = 1
    path: Path | None = None
    _start: dict[str, float] = field(default_factory=dict, compare=False, repr=False)

    @property
    def runs_freely(self) -> bool:
        """Whether nothing is paced: an event is due when it is read."""
        return self.speed == MAX

    @property
    def started(self) -> bool:
        """Whether it was started, by this process or another."""
        return bool(self._start) or (self.path is not None and self.path.exists())

    def start(self, at: float | None = None) -> float:
        """The start in seconds since 1970; the first call of all makes it, now or at a given time."""
        if not self._start:
            now = time.time() if at is None else at
            self._start["at"] = now if self.path is None else _kept(self.path, now)
        return self._start["at"]

    def due(self, when: Times) -> Times:
        """When an event time, or each of many, is due, in seconds since 1970."""
        return self.start() + (when - self.begin) / self.units / self.speed

    def last_due(self, now: float) -> int:
        """The last event time that is due by now."""
        return self.begin + math.floor((now - self.start()) * self.speed * self.units + _ROUNDING)

    def last_tick(self, when: int) -> int:
        """The last event time, not after this one, at which a source says that time passes, though no tuple is due:
        so often is soon enough for what waits for it, and each time takes a step.

        >>> Pace(begin=60, speed=2.0, units=1_000_000).last_tick(1_234_567)
        1200060
        """
        tick = max(1, math.floor(self.speed * self.units * TICK_SECONDS))
        return when - (when - self.begin) % tick

    def wait(
        self, when: int, clock: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Sleep until an event time is due."""
        while (left := self.due(when) - clock()) > 0:
            sleep(left)


def _kept(path: Path, start: float) -> float:
    """The start that a file keeps; the first process to write it decides."""
    if not path.exists():
        put_if_absent(path, json.dumps({"started": start}))
    return float(read_json(path)["started"])
