"""The kernel that gathers rows of SegmentHistory into the sums of their weekday and minute."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.history.travel_time import CARS_SUM, LAV_ROWS, LAV_SUM, ROWS, WEEKDAYS

# With Cnt and Lav within the bounds of `history_tables.SEGMENTS`, sums of this many rows fit 32 bits.
MOST_ROWS_A_CELL = 10_000

Integers = NDArray[np.int64]


@njit(cache=True)
def gather(
    cells: NDArray[np.int32],
    place: Integers,
    day: Integers,
    minute: Integers,
    dir_: Integers,
    seg: Integers,
    lav: Integers,
    cnt: Integers,
) -> int:
    """Add rows to `cells`; the number of the first row whose cell is full already, else -1.

    Day 1 is weekday 1. A row with Lav ≤ 0 counts for the cars only.
    """
    for i in range(len(day)):
        cell = cells[place[i], dir_[i], (day[i] - 1) % WEEKDAYS, minute[i] - 1, seg[i]]
        if cell[ROWS] == MOST_ROWS_A_CELL:
            return i
        if lav[i] > 0:
            cell[LAV_SUM] += lav[i]
            cell[LAV_ROWS] += 1
        cell[CARS_SUM] += cnt[i]
        cell[ROWS] += 1
    return -1
