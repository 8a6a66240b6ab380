"""The constants of Linear City and of the benchmark (VLDB 2004, §3), each standing once."""

from __future__ import annotations

SEGMENT_FEET = 5280
SEGMENTS = 100
EXPRESSWAY_FEET = SEGMENTS * SEGMENT_FEET

ENTRANCE_LANE = 0
TRAVEL_LANES = (1, 2, 3)
EXIT_LANE = 4

EAST = 0
WEST = 1

REPORT_SECONDS = 30
MINUTE_SECONDS = 60
MAX_SPEED = 100
RUN_SECONDS = 10_800

# Toll calculation (§3.2.2, table 3)
LAV_MINUTES = 5
TOLL_LAV_BELOW = 40
TOLL_CARS_ABOVE = 50
BASE_TOLL = 2

# Accidents (§3.2.2)
STOPPED_REPORTS = 4
ACCIDENT_SEGMENTS = 5  # the segment of the accident and the four upstream of it

# Historical requests (§3.1.2, §3.2.3)
HISTORY_WEEKS = 10
HISTORY_DAYS = 70
MINUTES_A_DAY = 1440
LAST_EXPENDITURE_DAY = 69

# Longest permitted response in seconds, by output type (§3.2)
RESPONSE_LIMIT = {0: 5, 1: 5, 2: 5, 3: 10, 4: 30}


def minute_of(time: int) -> int:
    """The minute M(t) in which a second falls; the first is 1."""
    return time // MINUTE_SECONDS + 1
