"""How one driver chooses a speed: each rule against the loop that says the same in the plainest way."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arterial.linearroad.simulate.model.following import crash_speed, lets_in, next_random, safe_speed, wished_speed

BRAKING, REACTION, SPACING = 10.0, 1.5, 17.0
gaps = st.floats(-50, 2000)
speeds = st.floats(0, 146)


def slow_safe_speed(gap: float, leader: float) -> float:
    """Try every speed in steps of a hundredth."""
    tried = np.arange(0, 300, 0.01)
    stops = tried * REACTION + tried**2 / (2 * BRAKING) <= gap + leader**2 / (2 * BRAKING)
    return float(tried[stops & (tried <= gap)].max(initial=0.0))


@given(gaps, speeds)
def test_safe_speed_is_the_highest_that_stops_behind_the_leader(gap: float, leader: float) -> None:
    assert math.isclose(safe_speed(gap, leader, BRAKING, REACTION), slow_safe_speed(gap, leader), abs_tol=0.011)


@given(st.floats(0, 500), speeds, speeds)
def test_no_collision_even_if_the_leader_brakes_to_a_stop(gap: float, leader: float, follower: float) -> None:
    """The leader brakes as hard as drivers do; the follower obeys the rule each second and never touches it."""
    ahead, behind = gap, 0.0
    for _ in range(60):
        leader = max(0.0, leader - BRAKING)
        ahead += leader
        follower = safe_speed(ahead - behind, leader, BRAKING, REACTION)
        behind += follower
        assert behind <= ahead + 1e-6


@given(speeds, speeds)
def test_wished_speed_approaches_the_desired_one(speed: float, desired: float) -> None:
    wished = wished_speed(speed, desired, 4.5, 6.0)
    expected = speed + 4.5 if speed <= desired else speed - 6.0
    if (speed <= desired) != (expected <= desired):
        expected = desired
    assert wished == expected


@given(st.floats(0, 300), speeds, speeds)
def test_lets_in_without_braking_hard(gap: float, follower: float, speed: float) -> None:
    said = lets_in(0.0, follower, gap + SPACING, speed, SPACING, BRAKING, REACTION)
    needed = follower - safe_speed(gap + SPACING - SPACING, speed, BRAKING, REACTION)
    assert said == (gap + SPACING - SPACING >= 0 and needed <= BRAKING) or math.isclose(needed, BRAKING, abs_tol=1e-9)


def test_nobody_is_let_in_beside_a_vehicle() -> None:
    assert not lets_in(100.0, 0.0, 100.0 + SPACING - 0.1, 0.0, SPACING, BRAKING, REACTION)


@given(st.floats(1, 120), st.floats(0, 300))
def test_a_crashing_pair_comes_to_rest_at_one_place_in_order(speed: float, gap: float) -> None:
    """The follower never passes the leader, though it is faster."""
    leader, follower, place = gap, 0.0, gap + speed + speed**2 / 50.0
    leader_speed, follower_speed = speed, 120.0
    for _ in range(25):
        leader_speed = crash_speed(leader_speed, place - leader, 25.0)
        follower_speed = crash_speed(follower_speed, place - follower, 25.0)
        leader, follower = leader + leader_speed, follower + follower_speed
        assert follower <= leader + 1e-6 <= place + 2e-6
    assert place - leader < 1.0
    assert place - follower < 1.0


@given(st.integers(1, 2**64 - 1))
def test_next_random_is_xorshift(state: int) -> None:
    expected = state
    expected ^= (expected << 13) % 2**64
    expected ^= expected >> 7
    expected ^= (expected << 17) % 2**64
    assert int(next_random(np.uint64(state))) == expected
