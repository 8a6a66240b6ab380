"""The demand on one expressway: who wants to enter when and where, and to leave where (VLDB 2004, §3.1.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arterial.linearroad.semantics.city import EAST, SEGMENTS, WEST
from arterial.linearroad.simulate.settings import (
    DESIRED_LEAST_MPH,
    DESIRED_MEAN_MPH,
    DESIRED_MOST_MPH,
    DESIRED_SPREAD_MPH,
    ENTRIES_A_SECOND,
    EXIT_MEAN_SEGMENT,
    EXIT_SPREAD_SEGMENTS,
    FEET_A_SECOND,
    Settings,
)

# Draws of an exit for each trip; the first that lies on the expressway and is not the entrance is taken. All but one
# trip in 10^20 find one.
_DRAWS = 16


@dataclass(frozen=True)
class Trips:
    """The trips of one expressway in the order of the second from which they want to enter."""

    due: NDArray[np.int32]
    entrance: NDArray[np.int16]
    exit: NDArray[np.int16]
    direction: NDArray[np.int8]
    desired: NDArray[np.float64]  # the speed of an empty road, in feet a second

    def __len__(self) -> int:
        return len(self.due)


def make_trips(settings: Settings, xway: int) -> Trips:
    """All trips that want to enter before the data ends; a longer run begins with the same trips."""
    rate = ENTRIES_A_SECOND * settings.density
    count = int(np.ceil(settings.stop_at * rate))
    when, where, out, wish = (np.random.default_rng([settings.seed, xway, part]) for part in range(4))

    # One trip in each interval of 1/rate seconds: a rate that is nearly constant.
    due = ((np.arange(count) + when.random(count)) / rate).astype(np.int32)
    entrance = where.integers(0, SEGMENTS, count).astype(np.int16)
    # A row is a trip, so that the first rows do not depend on their number.
    drawn = np.floor(out.normal(EXIT_MEAN_SEGMENT, EXIT_SPREAD_SEGMENTS, (count, _DRAWS)))
    fits = (drawn >= 0) & (drawn < SEGMENTS) & (drawn != entrance[:, None])
    leave = drawn[np.arange(count), fits.argmax(axis=1)]
    leave = np.where(fits.any(axis=1), leave, (entrance + SEGMENTS // 2) % SEGMENTS).astype(np.int16)
    desired = np.clip(wish.normal(DESIRED_MEAN_MPH, DESIRED_SPREAD_MPH, count), DESIRED_LEAST_MPH, DESIRED_MOST_MPH)
    direction = np.where(leave > entrance, EAST, WEST).astype(np.int8)

    kept = np.isin(direction, settings.directions(xway)) & (due < settings.stop_at)
    return Trips(due[kept], entrance[kept], leave[kept], direction[kept], desired[kept] * FEET_A_SECOND)
