"""Entering the road: who waits, who goes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arterial.linearroad.semantics.city import EAST, SEGMENT_FEET
from arterial.linearroad.simulate.model.entering import enter, merge_ordered
from arterial.linearroad.simulate.model.road import Log
from arterial.linearroad.simulate.model.traffic import Traffic
from arterial.linearroad.simulate.model.trips import Trips
from arterial.linearroad.simulate.settings import DRIVING, RAMPS, Settings

places = st.lists(st.floats(0, 1e5), max_size=30)


@given(places, places)
def test_merge_ordered(old: list[float], new: list[float]) -> None:
    along = np.array(sorted(old, reverse=True) + sorted(new, reverse=True))
    order = np.arange(len(along), dtype=np.int32)
    merge_ordered(along, order, len(old), len(new))
    assert sorted(order) == list(range(len(along)))
    assert along[order].tolist() == sorted(old + new, reverse=True)


def test_one_a_second_and_first_come_first_served() -> None:
    trips = Trips(
        due=np.array([0, 0, 0, 3], np.int32),
        entrance=np.array([7, 7, 9, 7], np.int16),
        exit=np.array([50, 51, 52, 53], np.int16),
        direction=np.zeros(4, np.int8),
        desired=np.full(4, 90.0),
    )
    log = Log.empty(4)
    traffic = Traffic.begin(Settings(seconds=10), 0, EAST, trips, log)
    for second in range(6):
        enter(traffic.road, traffic.count, traffic.queue, log, second, DRIVING, RAMPS)
        traffic.count.ramp_back[:] = 1e9
        if second in (1, 2, 3):  # somebody stands at the beginning of ramp 7
            traffic.count.ramp_back[7] = 7 * SEGMENT_FEET + RAMPS.entry_start + 5
    assert log.began.tolist() == [0, 1, 0, 5] or log.began.tolist() == [0, 4, 0, 5]
    assert traffic.count.vehicles.tolist() == [4, 4]
    assert traffic.road.lane[:4].tolist() == [0, 0, 0, 0]
    assert (traffic.road.phase[:4] == log.began[traffic.road.trip[:4]] % 30).all()
