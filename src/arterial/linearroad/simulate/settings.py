"""What a user can choose of a simulation, and the parameters of the traffic model (VLDB 2004, §3.1.1).

Lengths are in feet, times in seconds, speeds in feet a second unless a name says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from arterial.errors import ArterialError
from arterial.linearroad.semantics.city import EAST, RUN_SECONDS, SEGMENT_FEET, WEST

FEET_A_SECOND = SEGMENT_FEET / 3600  # one mile an hour

FORMATS = ("parquet", "csv")
MOST_XWAYS = 1000
MOST_DENSITY = 4.0

# Demand (§3.1.1): 14.2 trips a second; 3 % of them are made by a vehicle that was on the road before.
ENTRIES_A_SECOND = 14.2
RETURN_SHARE = 0.03
EXIT_MEAN_SEGMENT = 50.0
EXIT_SPREAD_SEGMENTS = 20.0
DESIRED_MEAN_MPH = 60.0
DESIRED_SPREAD_MPH = 6.0
DESIRED_LEAST_MPH = 48.0
DESIRED_MOST_MPH = 80.0

# A returning vehicle has driven from its exit to its entrance at 30 mph, after a stop of five minutes or more.
RETURN_REST_SECONDS = 300
RETURN_SECONDS_A_MILE = 120
XWAY_DISTANCE_MILES = 10  # the parallel expressways of Linear City (figure 1)

ACCIDENT_EVERY_SECONDS = 1200

REQUEST_PERCENT = 1
BALANCE_PERCENT = 50
EXPENDITURE_PERCENT = 10


class SettingsError(ArterialError):
    """A simulation was asked for that cannot be made."""


class Driving(NamedTuple):
    """How vehicles drive; a named tuple because compiled kernels read it."""

    headway: float = 0.45  # a follower keeps this time to its leader
    spacing: float = 17.0  # from nose to nose at a standstill
    acceleration: float = 4.5
    braking: float = 10.0  # the most that drivers plan with
    soft_braking: float = 6.0  # towards a lower limit, or to let another in
    crash_braking: float = 25.0
    dawdling: float = 0.6  # share of the acceleration that a driver loses by chance
    change_gain: float = 5.0  # a lane must promise this much more speed
    change_every: int = 3  # seconds between two looks at the neighbouring lanes
    exit_prepare: float = 4000.0  # for each lane to cross, this much before the exit
    help_within: float = 200.0  # a driver lets another in who is at most so far ahead
    look_back: float = 800.0  # a follower farther behind is no concern
    asks_below: float = 15 * FEET_A_SECOND  # who is slower than this asks for room in a faster lane too
    downtown_limit: float = 43 * FEET_A_SECOND
    downtown_from: int = 40
    downtown_until: int = 60
    accident_limit: float = 40 * FEET_A_SECOND  # in the segment of an accident


class Ramps(NamedTuple):
    """Where the ramps of every segment lie, in feet from its upstream end; the exit comes before the entrance."""

    exit_from: float = 300.0
    exit_until: float = 600.0
    exit_end: float = 2600.0
    entry_start: float = 2700.0
    merge_from: float = 4300.0
    merge_until: float = 5200.0
    entry_speed: float = 20 * FEET_A_SECOND
    entry_limit: float = 35 * FEET_A_SECOND
    exit_limit: float = 25 * FEET_A_SECOND


DRIVING = Driving()
RAMPS = Ramps()


@dataclass(frozen=True)
class Settings:
    """One simulation: the same settings give the same data, byte for byte."""

    xways: float = 1.0
    seconds: int = RUN_SECONDS
    seed: int = 1
    density: float = 1.0
    start_at: int = 0
    format: str = "parquet"

    def __post_init__(self) -> None:
        if not (0 < self.xways <= MOST_XWAYS) or self.xways * 2 != int(self.xways * 2):
            raise SettingsError(
                f"--xways is a multiple of 0.5 from 0.5 to {MOST_XWAYS} (0.5 is one direction), not {self.xways:g}"
            )
        if self.seconds < 1:
            raise SettingsError(f"--seconds is 1 or more, not {self.seconds}")
        if not 0 <= self.seed < 2**63:
            raise SettingsError(f"--seed is from 0 to 2^63 - 1, not {self.seed}")
        if not (math.isfinite(self.density) and 0 < self.density <= MOST_DENSITY):
            raise SettingsError(f"--density is above 0 and at most {MOST_DENSITY:g}, not {self.density:g}")
        if self.start_at < 0:
            raise SettingsError(f"--start-at is a second from 0 on, not {self.start_at}")
        if self.format not in FORMATS:
            raise SettingsError(f"--format is one of {', '.join(FORMATS)}, not {self.format!r}")

    @property
    def expressways(self) -> int:
        """How many expressways there are, a half one counted whole."""
        return math.ceil(self.xways)

    @property
    def stop_at(self) -> int:
        """The second of the simulation at which the data ends."""
        return self.start_at + self.seconds

    def directions(self, xway: int) -> tuple[int, ...]:
        """The directions that expressway `xway` has; the last one of a half is eastbound only."""
        return (EAST, WEST) if xway + 1 <= self.xways else (EAST,)
