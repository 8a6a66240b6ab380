"""How one driver chooses a speed and judges a gap: small compiled functions that the sweep over the road is made of.

The rule is that of Gipps and Krauss: drive as fast as you like, but so that you can still stop behind your leader if it
brakes as hard as drivers do. Vehicles are moved from the front of the road to its back, so a follower sees where its
leader is at the end of the second and the rule holds exactly: there are no collisions, whatever the headway.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, inline="always")
def safe_speed(gap: float, leader_speed: float, braking: float, reaction: float) -> float:
    """The highest speed with which one stays behind a leader, also if it brakes; 0 if there is none.

    `gap` is the room up to where the leader is when the second ends. The speed is the root of
    v·reaction + v²/2b = gap + leader²/2b, where `reaction` is the second itself and the headway, and at most the gap.
    """
    if gap <= 0.0:
        return 0.0
    planned = braking * reaction
    return min(gap, math.sqrt(planned * planned + leader_speed * leader_speed + 2.0 * braking * gap) - planned)


@njit(cache=True, inline="always")
def wished_speed(speed: float, desired: float, acceleration: float, soft_braking: float) -> float:
    """The speed a second later on an empty road: up to the desired one, or softly down to it."""
    if speed <= desired:
        return min(speed + acceleration, desired)
    return max(speed - soft_braking, desired)


@njit(cache=True, inline="always")
def lets_in(
    follower_at: float, follower_speed: float, at: float, speed: float, spacing: float, braking: float, reaction: float
) -> bool:
    """Whether a follower need not brake harder than drivers do if a vehicle turns up before it."""
    gap = at - spacing - follower_at
    return gap >= 0.0 and safe_speed(gap, speed, braking, reaction) >= follower_speed - braking


@njit(cache=True, inline="always")
def crash_speed(speed: float, distance: float, braking: float) -> float:
    """The speed of a vehicle that comes to rest after `distance` feet, braking as hard as in a crash."""
    return min(speed, math.sqrt(braking * braking + 2.0 * braking * distance) - braking)


@njit(cache=True, inline="always")
def next_random(state: np.uint64) -> np.uint64:
    """The next state of a 64-bit xorshift generator; its upper bits are the random number."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state
