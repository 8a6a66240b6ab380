"""How far a query's cache reaches (§3.3, §3.4).

The conservative cache reaches as far as an object outside it may be missed before it reports again. Let d be the
longest way that an object goes between two of its reports. A moving rectangle moves by d at most: it reaches d further.
Of k nearest to a fixed point, each may go d away: the circle grows by d at most. Of k nearest to a moving point, the
point may go d one way and all k of them d the other: what was 3 d outside the circle may be in it.

A cache of 75 % has 75 % of the area that the conservative cache adds to the query's own.
"""

from __future__ import annotations

import math

from numba import njit

RANGE_STEPS, NEAREST_STEPS, MOVING_NEAREST_STEPS = 1.0, 1.0, 3.0
"""The reach of the conservative cache, in longest steps."""


@njit(cache=True)
def rectangle_margin(length: float, width: float, reach: float, share: float) -> float:
    """By how much a rectangle grows on each side if the area added is a share of that which growing by `reach` adds.

    >>> rectangle_margin(10.0, 10.0, 2.0, 1.0), rectangle_margin(10.0, 10.0, 2.0, 0.0)
    (2.0, 0.0)
    """
    around = length + width
    added = share * (4.0 * reach * reach + 2.0 * around * reach)
    return (math.sqrt(around * around + 4.0 * added) - around) / 4.0


@njit(cache=True)
def circle_margin(radius: float, reach: float, share: float) -> float:
    """By how much a radius grows if the area added is a share of that which growing by `reach` adds.

    >>> circle_margin(3.0, 2.0, 1.0), circle_margin(3.0, 2.0, 0.0)
    (2.0, 0.0)
    """
    return math.sqrt(radius * radius + share * (reach * reach + 2.0 * radius * reach)) - radius
