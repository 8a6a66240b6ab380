"""Accidents from stops: two or more vehicles stopped at one place at once, in a travel lane (§3.2.2, table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import MINUTE_SECONDS, SEGMENT_FEET, SEGMENTS, TRAVEL_LANES


@dataclass(frozen=True)
class Accident:
    """Where and when at least two vehicles were stopped together, [start, end), and how many there were at most."""

    xway: int
    dir: int
    lane: int
    pos: int
    start: int
    end: int
    vehicles: int

    @property
    def seg(self) -> int:
        """The segment it is in."""
        return self.pos // SEGMENT_FEET


def find_accidents(xway: int, stops: NDArray[np.int64]) -> list[Accident]:
    """The accidents that rows (dir, lane, pos, vid, start, end) make, in order of time.

    >>> find_accidents(0, np.array([[0, 1, 5290, 7, 120, 300], [0, 1, 5290, 8, 130, 290], [0, 2, 5290, 9, 0, 500]]))
    [Accident(xway=0, dir=0, lane=1, pos=5290, start=130, end=290, vehicles=2)]
    """
    found = []
    rows = sorted(stops[np.isin(stops[:, 1], TRAVEL_LANES)].tolist())
    for (dir, lane, pos), at_place in groupby(rows, key=lambda row: tuple(row[:3])):
        # At the same second a car that leaves is gone before another stops.
        changes = sorted((at, change) for *_, start, end in at_place for at, change in ((start, 1), (end, -1)))
        stopped = most = since = 0
        for at, change in changes:
            stopped += change
            most = max(most, stopped)
            if change == 1 and stopped == 2:
                since, most = at, 2
            elif change == -1 and stopped == 1 and at > since:
                found.append(Accident(xway, dir, lane, pos, since, at, most))
    return sorted(found, key=lambda accident: (accident.start, accident.dir, accident.pos))


def accident_minutes(accidents: list[Accident], minutes: int) -> NDArray[np.bool_]:
    """In which minutes each segment of each direction has an accident."""
    there = np.zeros((minutes, 2, SEGMENTS), np.bool_)
    for accident in accidents:
        there[
            accident.start // MINUTE_SECONDS : (accident.end - 1) // MINUTE_SECONDS + 1, accident.dir, accident.seg
        ] = True
    return there
