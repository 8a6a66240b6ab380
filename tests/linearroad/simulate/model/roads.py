"""Small roads for tests."""

from __future__ import annotations

import numpy as np

from arterial.linearroad.semantics.city import SEGMENTS
from arterial.linearroad.simulate.model.road import NOT_STOPPED, NOWHERE, Count, Road


def road_of(vehicles: list[tuple[float, float, int]], exit_at: float = 99 * 5280.0) -> tuple[Road, Count]:
    """A road with vehicles (along, speed, lane), given in any order."""
    size = len(vehicles)
    along = np.array([vehicle[0] for vehicle in vehicles], np.float64)
    road = Road(
        along=along,
        speed=np.array([vehicle[1] for vehicle in vehicles], np.float64),
        desired=np.full(size, 90.0),
        exit_at=np.full(size, exit_at),
        stop_at=np.full(size, NOT_STOPPED),
        stop_until=np.zeros(size, np.int32),
        trip=np.arange(size, dtype=np.int32),
        lane=np.array([vehicle[2] for vehicle in vehicles], np.int8),
        phase=np.zeros(size, np.int8),
    )
    order = np.argsort(-along, kind="stable").astype(np.int32)
    count = Count(order, np.array([size, size]), np.full(SEGMENTS, NOWHERE), np.array([88172645463325252], np.uint64))
    return road, count
