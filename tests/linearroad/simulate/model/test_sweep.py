"""A second of driving: each decision against the plainest loop, then what must hold on a whole road in every second."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arterial.linearroad.semantics.city import EAST, SEGMENT_FEET
from arterial.linearroad.simulate.model.following import lets_in, safe_speed
from arterial.linearroad.simulate.model.road import Log
from arterial.linearroad.simulate.model.sweep import desired_speed, faster_lane, follower_lets_in, needed_lane, place
from arterial.linearroad.simulate.model.traffic import Traffic, drive_chunk
from arterial.linearroad.simulate.model.trips import make_trips
from arterial.linearroad.simulate.settings import DRIVING, FEET_A_SECOND, RAMPS, Settings
from tests.linearroad.simulate.model.roads import road_of

REACTION = 1.0 + DRIVING.headway
vehicles = st.lists(
    st.tuples(st.floats(0, 3000), st.floats(0, 100), st.integers(1, 3)),
    min_size=1,
    max_size=30,
    unique_by=lambda v: v[0],
)


@given(st.integers(0, 4), st.floats(0, 5279), st.floats(40, 100))
def test_desired_speed(lane: int, offset: float, own: float) -> None:
    limits = {4: RAMPS.exit_limit, 0: RAMPS.entry_limit if offset < RAMPS.merge_from else own}
    assert desired_speed(lane, offset, own, RAMPS) == limits.get(lane, own)


@given(st.integers(0, 4), st.floats(0, 5279), st.floats(-200, 50_000))
def test_needed_lane(lane: int, offset: float, to_exit: float) -> None:
    expected = -1
    if lane == 0 and offset >= RAMPS.merge_from:
        expected = 1
    if lane in (2, 3) and to_exit < DRIVING.exit_prepare * (lane - 1):
        expected = lane - 1
    assert needed_lane(lane, offset, to_exit, DRIVING, RAMPS) == expected


@given(st.integers(1, 3), st.lists(st.floats(0, 400), min_size=5, max_size=5), st.floats(0, 30_000))
def test_faster_lane_is_the_best_of_those_allowed(lane: int, gaps: list[float], to_exit: float) -> None:
    lead_at, lead_speed = np.array(gaps) + DRIVING.spacing, np.full(5, 40.0)
    chosen, wished = 20.0, 90.0
    promised = {}
    for other in (lane - 1, lane + 1):
        away_from_exit = other > lane and to_exit < DRIVING.exit_prepare * other
        if 1 <= other <= 3 and not away_from_exit:
            gap = lead_at[other] - DRIVING.spacing
            promised[other] = min(wished, safe_speed(gap, 40.0, DRIVING.braking, REACTION))
    clearly = {other: speed for other, speed in promised.items() if speed > chosen + DRIVING.change_gain}
    expected = max(clearly, key=lambda other: clearly[other]) if clearly else -1
    assert faster_lane(lane, 0.0, to_exit, chosen, wished, lead_at, lead_speed, DRIVING) == expected


@given(vehicles, st.integers(1, 3))
def test_follower_is_the_next_of_the_lane(them: list[tuple[float, float, int]], lane: int) -> None:
    road, count = road_of(them)
    met = len(them) // 2
    at = float(road.along[count.order[met]]) + 30.0
    behind = [i for i in count.order[met + 1 :] if road.lane[i] == lane]
    expected = True
    if behind and at - road.along[behind[0]] <= DRIVING.look_back:
        follower = behind[0]
        expected = lets_in(
            road.along[follower], road.speed[follower], at, 30.0, DRIVING.spacing, DRIVING.braking, REACTION
        )
    said = follower_lets_in(road.along, road.speed, road.lane, count.order, met, len(them), lane, at, 30.0, DRIVING)
    # One that is too far back is let in before whatever it says: it has all the room it needs.
    assert said == expected or (behind and at - road.along[behind[0]] > DRIVING.look_back)


@given(st.lists(st.floats(0, 1e5), max_size=40))
def test_place_keeps_the_list_ordered(places: list[float]) -> None:
    along, order, kept = np.array(places), np.zeros(len(places), np.int32), 0
    for i in range(len(places)):
        kept = place(along, order, kept, i)
    assert order.tolist() == sorted(range(len(places)), key=lambda i: -places[i])


def drive_and_look(options: Settings, *, accidents: bool = True) -> list[dict[str, np.ndarray]]:
    """Live through a simulation of one direction a second at a time; what the road looks like after each."""
    trips = make_trips(options, 0)
    traffic = Traffic.begin(options, 0, EAST, trips, Log.empty(len(trips)))
    due = traffic.accidents if accidents else traffic.accidents._replace(due=traffic.accidents.due[:0])
    looks = []
    for second in range(options.seconds):
        reports = traffic._room(second, second + 1)
        drive_chunk(
            traffic.road, traffic.count, traffic.queue, due, traffic.log, reports, second, second + 1, True, DRIVING,
            RAMPS,
        )  # fmt: skip
        total = traffic.count.vehicles[0]
        looks.append({name: column[:total].copy() for name, column in traffic.road._asdict().items()})
    return looks


@pytest.mark.thorough
def test_nobody_jumps_on_a_dense_road_with_accidents() -> None:
    options = Settings(seconds=1400, density=2.0)
    looks = drive_and_look(options)
    assert any((look["stop_at"] >= 0).sum() == 2 for look in looks)
    trips = len(make_trips(options, 0))
    at, speed = np.full(trips, np.nan), np.full(trips, np.nan)
    for look in looks:
        assert (np.diff(look["along"]) <= 0).all()  # the list is ordered
        assert look["speed"].min() >= 0
        assert look["speed"].max() <= 100 * FEET_A_SECOND
        known = ~np.isnan(at[look["trip"]])
        here = look["trip"][known]
        np.testing.assert_allclose(look["along"][known] - at[here], look["speed"][known], atol=1e-6)
        assert (look["speed"][known] <= speed[here] + DRIVING.acceleration + 1e-9).all()
        at[look["trip"]], speed[look["trip"]] = look["along"], look["speed"]


@pytest.mark.thorough
def test_everyone_keeps_distance_in_every_lane() -> None:
    for look in drive_and_look(Settings(seconds=900, density=3.0), accidents=False):
        for lane in range(5):
            room = -np.diff(look["along"][look["lane"] == lane])
            assert room.size == 0 or room.min() >= DRIVING.spacing - 1e-6


@pytest.mark.thorough
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000))
def test_ramps_are_driven_at_forty_miles_an_hour_at_most_on_average(seed: int) -> None:
    looks = drive_and_look(Settings(seconds=600, density=0.05, seed=seed, xways=0.5))
    on_ramp: dict[tuple[int, int], list[float]] = {}
    for look in looks:
        for trip, lane, along in zip(look["trip"], look["lane"], look["along"], strict=True):
            if lane in (0, 4):
                on_ramp.setdefault((int(trip), int(lane)), []).append(along)
    finished = [places for places in on_ramp.values() if places[-1] - places[0] > 1500]
    assert len(finished) > 5
    for places in finished:
        seconds = len(places) - 1
        assert (places[-1] - places[0]) / seconds <= 40 * FEET_A_SECOND
        assert seconds >= 30


def test_an_exit_missed_is_taken_at_the_next() -> None:
    """A vehicle in lane 3 beside its exit goes on to the next; nobody stops on the road for it."""
    options = Settings(seconds=200)
    trips = make_trips(options, 0)
    traffic = Traffic.begin(options, 0, EAST, trips, Log.empty(len(trips)))
    road, count = road_of([(10 * SEGMENT_FEET + 650.0, 60.0, 3)], exit_at=10.0 * SEGMENT_FEET)
    log = Log.empty(1)
    queue = traffic.queue._replace(due=traffic.queue.due[:0])
    no_accidents = traffic.accidents._replace(due=traffic.accidents.due[:0])
    for second in range(200):
        reports = traffic._room(0, 30)
        drive_chunk(road, count, queue, no_accidents, log, reports, second, second + 1, False, DRIVING, RAMPS)
    assert log.left_at[0] == 11
