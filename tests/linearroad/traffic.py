"""Small made-up traffic for tests, and a cleaner that is obviously right."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from arterial.linearroad.formats.events import EVENT_SCHEMA, FIELDS_OF_TYPE, UNUSED
from arterial.linearroad.formats.line_reader import (
    BOUNDS,
    DUPLICATE,
    FIELDS,
    MAX_LINE_BYTES,
    MOST_AHEAD,
    MOST_AHEAD_AT_FIRST,
    NO_INTEGER,
    OUT_OF_RANGE,
    TIME_FAR_AHEAD,
    TIME_GOES_BACK,
    TOO_LONG,
    TRUNCATED,
    UNKNOWN_TYPE,
    WRONG_FIELD_COUNT,
    describe_fault,
)

INTEGER = re.compile(rb"[ \t]*([+-]?[0-9]+)[ \t]*")


@dataclass
class SlowlyCleaned:
    """What the line-by-line cleaner found."""

    events: list[tuple[int, ...]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    rejects: list[tuple[int, str, str]] = field(default_factory=list)
    blank: int = 0

    @property
    def reasons(self) -> Counter[str]:
        return Counter(reason for _, reason, _ in self.rejects)


def clean_slowly(data: bytes, disorder: int = 0) -> SlowlyCleaned:
    """The rules of docs/linear-road/data.md, a line at a time."""
    out = SlowlyCleaned()
    highest, doubtful = -1, None
    seen: set[tuple[int, int]] = set()
    accepted: list[tuple[int, tuple[int, ...]]] = []
    pieces = data.split(b"\n")
    for number, raw in enumerate(pieces, start=1):
        last = number == len(pieces)
        if last and not raw:
            break
        line = raw.removesuffix(b"\r")
        if len(raw) <= MAX_LINE_BYTES and not line.strip(b" \t"):
            out.blank += 1
            continue
        fault, values = judged(raw, line)
        if not fault and values[1] < highest - disorder:
            fault = TIME_GOES_BACK
        room = MOST_AHEAD if highest >= 0 else MOST_AHEAD_AT_FIRST
        again = not fault and doubtful is not None and doubtful - disorder <= values[1] <= doubtful + MOST_AHEAD
        if not fault and values[1] > highest + room and not again:
            fault, doubtful = TIME_FAR_AHEAD, values[1]
        if not fault:
            doubtful = None
            highest = max(highest, values[1])
            if values[0] == 0 and (values[2], values[1]) in seen:
                fault = DUPLICATE
            elif values[0] == 0:
                seen.add((values[2], values[1]))
        if fault:
            fault = TRUNCATED if last and fault == WRONG_FIELD_COUNT else fault
            text = line[:MAX_LINE_BYTES].decode("utf-8", "backslashreplace")
            out.rejects.append((number, describe_fault(fault), text))
        else:
            accepted.append((number, values))
    accepted.sort(key=lambda row: row[1][1])
    out.lines = [number for number, _ in accepted]
    out.events = [values for _, values in accepted]
    return out


def judged(raw: bytes, line: bytes) -> tuple[int, tuple[int, ...]]:
    """A line's fault and its values."""
    if len(raw) > MAX_LINE_BYTES:
        return TOO_LONG, ()
    fields = [INTEGER.fullmatch(text) for text in line.split(b",")]
    if len(fields) != FIELDS:
        return WRONG_FIELD_COUNT, ()
    if fields[0] is None:
        return NO_INTEGER, ()
    uses = FIELDS_OF_TYPE.get(int(fields[0][1]))
    if uses is None:
        return UNKNOWN_TYPE, ()
    values = []
    for place, name in enumerate(EVENT_SCHEMA.names):
        match = fields[place]
        if name not in uses:
            values.append(UNUSED)
        elif match is None:
            return NO_INTEGER + place, ()
        elif not BOUNDS[name][0] <= int(match[1]) <= BOUNDS[name][1]:
            return OUT_OF_RANGE + place, ()
        else:
            values.append(int(match[1]))
    return 0, tuple(values)


def table_of(rows: list[tuple[int, ...]]) -> pa.Table:
    """Rows of 15 integers as events."""
    columns = zip(*rows, strict=True) if rows else [()] * FIELDS
    arrays = [pa.array(column, field.type) for column, field in zip(columns, EVENT_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=EVENT_SCHEMA)


def report(
    time: int, vid: int, speed: int = 50, xway: int = 0, lane: int = 1, dir: int = 0, pos: int = 0
) -> tuple[int, ...]:
    """A position report."""
    return (0, time, vid, speed, xway, lane, dir, pos // 5280, pos, -1, -1, -1, -1, -1, -1)


def balance(time: int, vid: int, qid: int) -> tuple[int, ...]:
    """A request for the account balance."""
    return (2, time, vid, -1, -1, -1, -1, -1, -1, qid, -1, -1, -1, -1, -1)


def expenditure(time: int, vid: int, qid: int, xway: int = 0, day: int = 1) -> tuple[int, ...]:
    """A request for a day's expenditure."""
    return (3, time, vid, -1, xway, -1, -1, -1, -1, qid, -1, -1, -1, -1, day)


def travel(time: int, vid: int, qid: int, xway: int = 0) -> tuple[int, ...]:
    """A request for a travel time."""
    return (4, time, vid, -1, xway, -1, -1, -1, -1, qid, 3, 9, 1, 480, -1)


def text_of(rows: list[tuple[int, ...]]) -> bytes:
    """Rows as the flat file."""
    return b"".join(b",".join(str(value).encode() for value in row) + b"\n" for row in rows)


def drive_along(vehicles: int, seconds: int, *, xway: int = 0, seed: int = 0) -> list[tuple[int, ...]]:
    """Vehicles that report every 30 s at a steady speed and ask now and then; in time order."""
    rng = np.random.default_rng(seed)
    rows = []
    for vid in range(vehicles):
        enter = int(rng.integers(0, max(seconds - 60, 1)))
        speed, dir = int(rng.integers(20, 90)), int(rng.integers(2))
        pos = int(rng.integers(100_000, 400_000))
        times = range(enter, min(seconds, enter + 300), 30)
        for step, time in enumerate(times):
            lane = 0 if step == 0 else 4 if step == len(times) - 1 else 1 + vid % 3
            place = pos + (1 - 2 * dir) * step * speed * 44
            rows.append(report(time, vid + 100_000 * xway, speed, xway, lane, dir, place))
            if rng.random() < 0.1:
                kind = int(rng.integers(3))
                qid = len(rows)
                rows.append([balance, expenditure, travel][kind](time, vid + 100_000 * xway, qid))
    return sorted(rows, key=lambda row: row[1])
