"""The kernel that reads the paper's flat file (§3.1.2, table 1): bytes to event columns, faulty lines with reasons.

One pass over the bytes parses a line, looks at the fields that its type defines, compares its time with the highest so
far and its (vehicle, second) with the latest reports; so a dirty file is read as fast as a clean one.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.formats.events import EVENT_SCHEMA, FIELDS_OF_TYPE, UNUSED
from arterial.linearroad.semantics.city import (
    EXIT_LANE,
    EXPRESSWAY_FEET,
    LAST_EXPENDITURE_DAY,
    MAX_SPEED,
    MINUTES_A_DAY,
    SEGMENTS,
)
from arterial.network.keys.hash_kernels import place_in

FIELDS = len(EVENT_SCHEMA)
MAX_LINE_BYTES = 4096
LARGEST_ID = 10**18 - 1
LARGEST_INT32 = 2**31 - 1
LARGEST_TYPE = max(FIELDS_OF_TYPE)
PLAIN_DIGITS = 18

# A run has three hours; what is kept by the second or the minute must fit in memory.
LONGEST_SECONDS = 7 * 86_400
# A time so much after every earlier one is believed only when the next line has it, too: one wrong line must not make
# all others late. Data may be cut from a longer run, so the first line may be anywhere in a day.
MOST_AHEAD = 3_600
MOST_AHEAD_AT_FIRST = 86_400

# What is wrong with a line. A fault of a field is one of the two bases plus the field's place in the line.
NO_FAULT = 0
WRONG_FIELD_COUNT = 1
UNKNOWN_TYPE = 2
TOO_LONG = 3
DUPLICATE = 4
TIME_GOES_BACK = 5
TRUNCATED = 6
TIME_FAR_AHEAD = 7
NO_INTEGER = 32
OUT_OF_RANGE = 64

# The permitted values of every field, where a type uses it.
BOUNDS: dict[str, tuple[int, int]] = {
    "type": (0, LARGEST_TYPE),
    "time": (0, LONGEST_SECONDS - 1),
    "vid": (0, LARGEST_ID),
    "speed": (0, MAX_SPEED),
    "xway": (0, LARGEST_INT32),
    "lane": (0, EXIT_LANE),
    "dir": (0, 1),
    "seg": (0, SEGMENTS - 1),
    "pos": (0, EXPRESSWAY_FEET - 1),
    "qid": (0, LARGEST_ID),
    "sinit": (0, SEGMENTS - 1),
    "send": (0, SEGMENTS - 1),
    "dow": (1, 7),
    "tod": (1, MINUTES_A_DAY),
    "day": (1, LAST_EXPENDITURE_DAY),
}

LOWEST = np.array([BOUNDS[name][0] for name in EVENT_SCHEMA.names], np.int64)
HIGHEST = np.array([BOUNDS[name][1] for name in EVENT_SCHEMA.names], np.int64)
USES = np.zeros((LARGEST_TYPE + 1, FIELDS), np.bool_)
for _type, _fields in FIELDS_OF_TYPE.items():
    USES[_type, [EVENT_SCHEMA.get_field_index(name) for name in _fields]] = True


# The same by type, without bounds where the type does not use a field, so that a good line needs no branches.
LOWEST_OF_TYPE = np.where(USES, LOWEST, np.iinfo(np.int64).min)
HIGHEST_OF_TYPE = np.where(USES, HIGHEST, np.iinfo(np.int64).max)


class Recent(NamedTuple):
    """A hash set of the (vehicle, second) pairs that a coming report could repeat; a free entry has the time -1."""

    vid: NDArray[np.int64]
    time: NDArray[np.int32]


@cache
def describe_fault(code: int) -> str:
    """A fault in words, the same for every line that has it."""
    if code >= OUT_OF_RANGE:
        name = EVENT_SCHEMA.names[code - OUT_OF_RANGE]
        low, high = BOUNDS[name]
        return f"{name} is not in {low}..{high}"
    if code >= NO_INTEGER:
        return f"{EVENT_SCHEMA.names[code - NO_INTEGER]} is no integer"
    return {
        WRONG_FIELD_COUNT: f"not {FIELDS} fields",
        UNKNOWN_TYPE: f"type is none of {', '.join(map(str, FIELDS_OF_TYPE))}",
        TOO_LONG: f"line is longer than {MAX_LINE_BYTES} bytes",
        DUPLICATE: "second report of the vehicle in this second",
        TIME_GOES_BACK: "time is below that of an earlier line",
        TRUNCATED: "last line is cut short",
        TIME_FAR_AHEAD: "time is far ahead of every earlier line",
    }[code]


def no_recent() -> Recent:
    """An empty set."""
    return Recent(np.zeros(1024, np.int64), np.full(1024, -1, np.int32))


def empty_columns(rows: int) -> tuple[NDArray[Any], ...]:
    """Room for `rows` events, a column a field."""
    return tuple(np.empty(rows, field.type.to_pandas_dtype()) for field in EVENT_SCHEMA)


@njit(cache=True, nogil=True)
def fault_of(values: Any, no_integer: Any, lowest: Any, highest: Any, uses: Any) -> int:
    """What is wrong with the 15 values of a line; fields that its type does not use are not looked at."""
    if no_integer[0]:
        return NO_INTEGER
    kind = values[0]
    if kind < 0 or kind > LARGEST_TYPE or not uses[kind, 0]:
        return UNKNOWN_TYPE
    for field in range(1, FIELDS):
        if uses[kind, field]:
            if no_integer[field]:
                return NO_INTEGER + field
            if values[field] < lowest[field] or values[field] > highest[field]:
                return OUT_OF_RANGE + field
    return NO_FAULT


@njit(cache=True, nogil=True)
def is_good(values: Any) -> Any:
    """Whether the 15 integers of a line are an event."""
    kind = values[0]
    if kind < 0 or kind > LARGEST_TYPE or not USES[kind, 0]:
        return False
    good = True
    for field in range(FIELDS):
        good &= (values[field] >= LOWEST_OF_TYPE[kind, field]) & (values[field] <= HIGHEST_OF_TYPE[kind, field])
    return good


@njit(cache=True, nogil=True)
def place_of(vids: Any, times: Any, vid: int, time: int) -> Any:
    """Where (vid, time) is in the set, or the free entry where it belongs."""
    mask = len(vids) - 1
    place = place_in(np.uint64(vid) + np.uint64(time), len(vids))
    while times[place] != -1 and (vids[place] != vid or times[place] != time):
        place = (place + 1) & mask
    return place


@njit(cache=True, nogil=True)
def without_old(vids: Any, times: Any, oldest: int) -> Any:
    """The set without pairs before `oldest`, in a table that is at most a quarter full; and how many they are."""
    live = 0
    oldest = max(oldest, 0)
    for place in range(len(times)):
        if times[place] >= oldest:
            live += 1
    size = 1024
    while size < 4 * live:
        size *= 2
    new_vids = np.zeros(size, np.int64)
    new_times = np.full(size, -1, np.int32)
    for place in range(len(times)):
        if times[place] >= oldest:
            to = place_of(new_vids, new_times, vids[place], times[place])
            new_vids[to] = vids[place]
            new_times[to] = times[place]
    return new_vids, new_times, live


@njit(cache=True, nogil=True)
def read_plain(data: Any, begin: int, values: Any) -> Any:
    """Parse a line of 15 plain integers, as nearly all are; return where the next begins, or -1 if it is other."""
    at = begin
    for field in range(FIELDS):
        negative = data[at] == 45
        if negative:
            at += 1
        first = at
        value = np.int64(0)
        digit = np.int64(data[at]) - 48
        while 0 <= digit <= 9:
            value = value * 10 + digit
            at += 1
            digit = np.int64(data[at]) - 48
        if at == first or at - first > PLAIN_DIGITS:
            return -1
        values[field] = -value if negative else value
        if field == FIELDS - 1 and data[at] == 13:
            at += 1
        if data[at] != (10 if field == FIELDS - 1 else 44):
            return -1
        at += 1
    return at


@njit(cache=True, nogil=True)
def read_values(data: Any, begin: int, end: int, values: Any, no_integer: Any) -> int:
    """Parse the comma-separated fields of data[begin:end]; return how many there are, at most one too many."""
    field = 0
    at = begin
    while True:
        if field == FIELDS:
            return FIELDS + 1
        while at < end and (data[at] == 32 or data[at] == 9):
            at += 1
        negative = False
        if at < end and (data[at] == 45 or data[at] == 43):
            negative = data[at] == 45
            at += 1
        digits = at
        value: Any = np.int64(0)
        while at < end and 48 <= data[at] <= 57:
            if value <= LARGEST_ID:
                value = value * 10 + (data[at] - 48) if value <= LARGEST_ID // 10 else LARGEST_ID + 1
            at += 1
        faulty = at == digits
        while at < end and (data[at] == 32 or data[at] == 9):
            at += 1
        while at < end and data[at] != 44:
            faulty = True
            at += 1
        values[field] = -value if negative else value
        no_integer[field] = faulty
        field += 1
        if at >= end:
            return field
        at += 1


@njit(cache=True, nogil=True)
def is_blank(data: Any, begin: int, end: int) -> bool:
    """Whether data[begin:end] is nothing but spaces."""
    at = begin
    while at < end and (data[at] == 32 or data[at] == 9):
        at += 1
    return at == end


@njit(cache=True, nogil=True)
def read_lines(
    data: Any, first_line: int, highest_time: int, doubtful_time: int, disorder: int, vids: Any, times: Any,
    columns: Any, lines: Any, bad: Any,
) -> Any:  # fmt: skip
    """Parse the whole lines of `data` and judge each.

    Good lines go to `columns` and their numbers to `lines`; `bad` gets (line, fault, begin, end) of every other.
    `doubtful_time` is that of the line before, if it was far ahead, else -1.
    Returns (good, bad, blank, lines read, highest time, doubtful time, vids, times).
    """
    kinds, seconds, vehicles, speeds, xways, lanes, dirs, segs, places, qids, sinits, sends, dows, tods, days = columns
    values = np.empty(FIELDS, np.int64)
    no_integer = np.empty(FIELDS, np.bool_)
    good = faulty = blank = line = 0
    held = len(vids) // 2
    begin = 0
    while begin < len(data):
        after = read_plain(data, begin, values)
        if after > 0 and is_good(values):
            line += 1
            end = after - 1 if data[after - 2] != 13 else after - 2
            fault = NO_FAULT
        else:
            end = begin
            while data[end] != 10:
                end += 1
            after = end + 1
            line += 1
            length = end - begin
            if length > 0 and data[end - 1] == 13:
                end -= 1
            if length > MAX_LINE_BYTES:
                fault = TOO_LONG
                end = begin + MAX_LINE_BYTES
            else:
                count = read_values(data, begin, end, values, no_integer)
                if count == 1 and no_integer[0] and is_blank(data, begin, end):
                    blank += 1
                    begin = after
                    continue
                fault = fault_of(values, no_integer, LOWEST, HIGHEST, USES) if count == FIELDS else WRONG_FIELD_COUNT
        if fault == NO_FAULT:
            time = values[1]
            room = MOST_AHEAD if highest_time >= 0 else MOST_AHEAD_AT_FIRST
            again = doubtful_time >= 0 and doubtful_time - disorder <= time <= doubtful_time + MOST_AHEAD
            if time < highest_time - disorder:
                fault = TIME_GOES_BACK
            elif time > highest_time + room and not again:
                fault = TIME_FAR_AHEAD
                doubtful_time = time
            else:
                doubtful_time = -1
                highest_time = max(highest_time, values[1])
                if values[0] == 0:
                    if held >= len(vids) // 2:
                        vids, times, held = without_old(vids, times, highest_time - disorder)
                    place = place_of(vids, times, values[2], values[1])
                    if times[place] != -1:
                        fault = DUPLICATE
                    else:
                        vids[place] = values[2]
                        times[place] = values[1]
                        held += 1
        if fault != NO_FAULT:
            bad[faulty, 0] = first_line + line - 1
            bad[faulty, 1] = fault
            bad[faulty, 2] = begin
            bad[faulty, 3] = end
            faulty += 1
        else:
            for field in range(FIELDS):
                if not USES[values[0], field]:
                    values[field] = UNUSED
            kinds[good] = values[0]
            seconds[good] = values[1]
            vehicles[good] = values[2]
            speeds[good] = values[3]
            xways[good] = values[4]
            lanes[good] = values[5]
            dirs[good] = values[6]
            segs[good] = values[7]
            places[good] = values[8]
            qids[good] = values[9]
            sinits[good] = values[10]
            sends[good] = values[11]
            dows[good] = values[12]
            tods[good] = values[13]
            days[good] = values[14]
            lines[good] = first_line + line - 1
            good += 1
        begin = after
    return good, faulty, blank, line, highest_time, doubtful_time, vids, times
