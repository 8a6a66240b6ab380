"""Accidents second by second, for the profile in which they act at once: two vehicles stopped in one place right now.

As in `accidents`, the two vehicles that last said to be stopped in a place are all that needs to be known of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.reports import LANE_SHIFT, POS_MASK
from arterial.linearroad.application.kernels.trips import Followed
from arterial.linearroad.semantics.city import REPORT_SECONDS, SEGMENT_FEET, SEGMENTS
from arterial.network.state import State

NEVER = -REPORT_SECONDS


@dataclass(frozen=True)
class Spot:
    """A place of a road, and the two vehicles that stopped there last."""

    road: int
    lane: int
    pos: int
    vid: int
    time: int
    other_vid: int = -1
    other_time: int = NEVER

    @property
    def cell(self) -> int:
        """The cell that it lies in, by its position."""
        return self.road * SEGMENTS + self.pos // SEGMENT_FEET

    def accident_at(self, second: int) -> bool:
        """Whether both are still stopped in a second that is not before the last report."""
        return second < self.other_time + REPORT_SECONDS


class Spots:
    """All places where somebody stopped in the last 30 s."""

    def __init__(self, spots: list[Spot]) -> None:
        self.spots = {(spot.road, spot.lane, spot.pos): spot for spot in spots}

    @classmethod
    def read(cls, state: State) -> Spots:
        """As the last train left them."""
        chunk = chunks.read(state, "spots")
        if chunk is None:
            return cls([])
        return cls([Spot(*row) for row in zip(*(chunk[name].tolist() for name in NAMES), strict=True)])

    def write(self, state: State) -> None:
        """Keep them for the next train."""
        state.put("spots", "", {n: np.array([getattr(s, n) for s in self.spots.values()], np.int64) for n in NAMES})

    def at(self, second: int) -> list[Spot]:
        """The spots with an accident in this second."""
        return [spot for spot in self.spots.values() if spot.accident_at(second)]

    def stop(self, second: int, followed: Followed, lanes: tuple[int, ...]) -> set[int]:
        """Take the stopped vehicles of a second; the cells of accidents that were not there the second before."""
        self.spots = {key: spot for key, spot in self.spots.items() if spot.time >= second - REPORT_SECONDS}
        before = {key for key, spot in self.spots.items() if spot.accident_at(second - 1)}
        for row in followed.stopped.tolist():
            place = int(followed.place[row])
            lane, pos = place >> LANE_SHIFT & 7, place & POS_MASK
            if lane not in lanes:
                continue
            road, vid = int(followed.cell[row]) // SEGMENTS, int(followed.reports.vid[row])
            known = self.spots.get((road, lane, pos))
            other = (-1, NEVER)
            if known is not None:
                other = (known.other_vid, known.other_time) if known.vid == vid else (known.vid, known.time)
            self.spots[road, lane, pos] = Spot(road, lane, pos, vid, second, *other)
        return {spot.cell for key, spot in self.spots.items() if spot.accident_at(second) and key not in before}


NAMES = ("road", "lane", "pos", "vid", "time", "other_vid", "other_time")
