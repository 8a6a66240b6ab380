"""Where objects are: a plane, or longitude and latitude on a sphere with distances in metres.

On the sphere a position is turned into a unit vector once, when it is reported. Distances are compared as squared
chords between unit vectors: a chord grows with the great-circle distance (haversine) that it spans, so the order is
that of metres and no trigonometry is needed per comparison. A moving rectangle is measured in metres east and north of
its focal object, in the azimuthal equidistant projection about it, which has no seam at 180° and none at the poles.
"""

from __future__ import annotations

import math
from enum import Enum

from numba import njit

EARTH_METRES = 6_371_008.8
"""The mean radius of the Earth (IUGG)."""


class Space(Enum):
    """How coordinates are read: `x, y` of a plane, or degrees of longitude and latitude."""

    PLANE = "plane"
    LONLAT = "lonlat"


@njit(cache=True)
def wrap_longitude(longitude: float) -> float:
    """The same meridian in (-180, 180].

    >>> wrap_longitude(-180.0), wrap_longitude(190.0), wrap_longitude(12.5)
    (180.0, -170.0, 12.5)
    """
    while longitude > 180.0:
        longitude -= 360.0
    while longitude <= -180.0:
        longitude += 360.0
    return longitude


@njit(cache=True)
def unit_vector(longitude: float, latitude: float) -> tuple[float, float, float]:
    """The point of the unit sphere at these degrees; at a pole the longitude does not matter."""
    if latitude >= 90.0:
        return 0.0, 0.0, 1.0
    if latitude <= -90.0:
        return 0.0, 0.0, -1.0
    east = math.radians(longitude)
    north = math.radians(latitude)
    return math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north)


@njit(cache=True)
def metres_of_chord(chord_squared: float) -> float:
    """The great-circle distance that a squared chord of the unit sphere spans.

    >>> round(metres_of_chord(2.0))  # a quarter of a great circle
    10007557
    """
    return EARTH_METRES * 2.0 * math.asin(min(1.0, math.sqrt(chord_squared) / 2.0))


@njit(cache=True)
def inside_metres(
    longitude: float, latitude: float, ux: float, uy: float, uz: float, length: float, width: float
) -> bool:
    """Is the unit vector `u` in the rectangle of `length` (east-west) by `width` metres centred on this position?"""
    east = math.radians(longitude)
    north = math.radians(latitude)
    sin_east, cos_east = math.sin(east), math.cos(east)
    sin_north, cos_north = math.sin(north), math.cos(north)
    towards = cos_north * cos_east * ux + cos_north * sin_east * uy + sin_north * uz
    eastward = -sin_east * ux + cos_east * uy
    northward = -sin_north * cos_east * ux - sin_north * sin_east * uy + cos_north * uz
    sine = math.sqrt(eastward * eastward + northward * northward)
    if sine == 0.0:
        half_round = math.pi * EARTH_METRES
        return towards > 0.0 or (length / 2.0 >= half_round and width / 2.0 >= half_round)
    metres = EARTH_METRES * math.atan2(sine, towards) / sine
    return abs(eastward * metres) <= length / 2.0 and abs(northward * metres) <= width / 2.0


@njit(cache=True)
def degrees_around(latitude: float, angle: float) -> tuple[float, float, float]:
    """Half the longitudes, and the lowest and highest latitude, that a cap of `angle` radians may reach.

    The box is a little larger than the cap, so that rounding never leaves a point of the cap outside.
    """
    reach = math.degrees(angle) * (1.0 + 1e-9) + 1e-9
    low, high = latitude - reach, latitude + reach
    if high >= 90.0 or low <= -90.0:
        return 180.0, low, high
    ratio = math.sin(math.radians(reach)) / math.cos(math.radians(latitude))
    if ratio >= 1.0:
        return 180.0, low, high
    return math.degrees(math.asin(ratio)) * (1.0 + 1e-9) + 1e-9, low, high
