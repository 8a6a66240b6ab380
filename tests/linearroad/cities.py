"""Small cities for tests: helpers to write events by hand, and a generator of cities full of stops and crossings."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.reference import Event, SegmentRow, TollRow
from arterial.linearroad.semantics.city import SEGMENT_FEET
from arterial.linearroad.semantics.profiles import Profile, profile


@dataclass(frozen=True)
class City:
    """An input with its history."""

    events: tuple[Event, ...]
    tolls: tuple[TollRow, ...] = ()
    segments: tuple[SegmentRow, ...] = ()

    def table(self) -> pa.Table:
        """The events as the application reads them, in the order of their seconds."""
        return table_of(self.events)


def table_of(events: Iterable[Event]) -> pa.Table:
    """Events as a table of EVENT_SCHEMA, in the order of their seconds."""
    ordered = sorted(events, key=lambda event: event.time)
    return pa.table(
        {name: [getattr(event, name) for event in ordered] for name in EVENT_SCHEMA.names}, schema=EVENT_SCHEMA
    )


def report(
    time: int,
    vid: int,
    seg: int,
    *,
    lane: int = 1,
    speed: int = 50,
    xway: int = 0,
    direction: int = 0,
    pos: int | None = None,
) -> Event:
    """A position report, in the middle of its segment unless told otherwise."""
    at = seg * SEGMENT_FEET + SEGMENT_FEET // 2 if pos is None else pos
    return Event(0, time, vid, speed, xway, lane, direction, seg, at)


def balance(time: int, vid: int, qid: int) -> Event:
    """An account balance request."""
    return Event(2, time, vid, qid=qid)


def expenditure(time: int, vid: int, qid: int, *, day: int, xway: int = 0) -> Event:
    """A daily expenditure request."""
    return Event(3, time, vid, xway=xway, qid=qid, day=day)


def travel(time: int, vid: int, qid: int, *, sinit: int, send: int, dow: int, tod: int, xway: int = 0) -> Event:
    """A travel time request."""
    return Event(4, time, vid, xway=xway, qid=qid, sinit=sinit, send=send, dow=dow, tod=tod)


def stopped(vid: int, start: int, reports: int, seg: int, *, lane: int = 1, **where: int) -> list[Event]:
    """Reports every 30 s from one place."""
    return [report(start + 30 * i, vid, seg, lane=lane, speed=0, **where) for i in range(reports)]


def crowd(
    cars: int, time: int, seg: int, *, speed: int = 30, first: int = 1000, xway: int = 0, direction: int = 0
) -> list[Event]:
    """A report each of many vehicles in one second."""
    return [report(time, first + i, seg, speed=speed, xway=xway, direction=direction) for i in range(cars)]


def small(name: str) -> Profile:
    """A profile in which two cars are a crowd, so that small cities have tolls."""
    chosen = profile(name) if name != "thesis2003" else profile(name, ftmin=60, basecredit=7)
    return replace(chosen, toll_free_cars=1)


def generate(seed: int) -> City:
    """A city of few vehicles and few segments, with many stops, crossings, exits, gaps and requests."""
    rng = random.Random(seed)
    events = _reports(rng)
    return City(tuple(events + _requests(rng, events)), _tolls(rng), _segments(rng))


@dataclass(frozen=True)
class _Mood:
    """What the vehicles of one city share."""

    spots: tuple[tuple[int, int], ...]
    hot: int
    xways: int
    direction: int
    speeds: tuple[int, ...]
    exits: float
    regular: float


def _reports(rng: random.Random) -> list[Event]:
    lowest = rng.choice((0, 48, 95))
    spots = tuple((lowest + seg, offset) for seg in range(5) for offset in (0, 5279))
    mood = _Mood(
        spots,
        hot=rng.randrange(len(spots)),
        xways=rng.choice((1, 1, 2)),
        direction=rng.choice((0, 1)),
        speeds=rng.choice(((0, 20, 39, 41), (38, 39, 40, 41, 42), (30, 40, 80))),
        exits=rng.choice((0.0, 0.1, 0.3)),
        regular=rng.choice((0.9, 0.97, 1.0)),
    )
    found: dict[tuple[int, int], Event] = {}
    for vid in range(rng.randint(3, 12)):
        for one in _drive(rng, vid, mood):
            # A second report of a vehicle in a second would be set aside.
            found.setdefault((one.vid, one.time), one)
            if rng.random() > mood.regular:
                extra = one._replace(time=one.time + 15)
                found.setdefault((extra.vid, extra.time), extra)
    events = list(found.values())
    rng.shuffle(events)
    return events


def _drive(rng: random.Random, vid: int, mood: _Mood) -> list[Event]:
    """One vehicle's day. It stops now and then, and likes to stop where the others do."""
    time = rng.choice((0, 0, 15, 29, 30, 31, 59, rng.randrange(120)))
    at, lane = rng.randrange(len(mood.spots)), rng.choice((0, 1, 1, 2))
    xway, direction = rng.randrange(mood.xways), mood.direction
    events: list[Event] = []
    while len(events) < 30 and rng.random() > 0.03:
        if rng.random() < 0.2:
            stay = rng.choice((3, 4, 4, 5, 6, 8))
            if rng.random() < 0.7:
                at, lane = mood.hot, rng.choice((1, 1, 1, 1, 1, 0))
        else:
            stay = 1
        seg, offset = mood.spots[at]
        for _ in range(stay):
            pos = seg * SEGMENT_FEET + offset
            speed = rng.choice(mood.speeds)
            events.append(
                report(time, vid, seg, lane=lane, speed=speed, xway=xway, direction=direction, pos=pos),
            )
            time += 30 if rng.random() < mood.regular else rng.choice((31, 45, 60, 61, 90, 120))
        ahead = rng.choice((0, 1, 1, 2, 3)) if direction == 0 else -rng.choice((0, 1, 1, 2, 3))
        at = (at + ahead) % len(mood.spots)
        if rng.random() < mood.exits:
            lane = 4
        else:
            lane = 0 if lane == 4 and rng.random() < 0.7 else rng.choice((0, 1, 1, 1, 2, 3))
        if rng.random() < 0.03:
            xway = rng.randrange(2)
        if rng.random() < 0.03:
            direction = 1 - direction
    return events


def _requests(rng: random.Random, reports: list[Event]) -> list[Event]:
    """Requests, often in the second of a report of the same vehicle, or 60 s after it."""
    asked: list[Event] = []
    for qid in range(rng.randint(3, 14)):
        base = rng.choice(reports)
        time = max(0, base.time + rng.choice((0, 0, 1, 29, 59, 60, 61, 90)))
        vid = rng.choice((base.vid, base.vid, base.vid, 77))
        kind = rng.random()
        if kind < 0.6:
            asked.append(balance(time, vid, qid if rng.random() < 0.9 else 0))
        elif kind < 0.8:
            asked.append(expenditure(time, vid, qid, day=rng.randint(1, 3), xway=rng.choice((0, 1))))
        else:
            sinit, send = rng.randrange(0, 5), rng.randrange(0, 5)
            tod = rng.choice((1, 2, 3, 1438, 1439, 1440))
            asked.append(travel(time, vid, qid, sinit=sinit, send=send, dow=rng.randint(1, 7), tod=tod))
    return asked


def _tolls(rng: random.Random) -> tuple[TollRow, ...]:
    return tuple(
        TollRow(vid, day, xway, rng.randrange(100))
        for vid in range(6)
        for day in (1, 2, 3)
        for xway in (0, 1)
        if rng.random() < 0.7
    )


def _segments(rng: random.Random) -> tuple[SegmentRow, ...]:
    """Two or three weeks of the minutes around midnight, with holes."""
    hole = rng.choice((0.0, 0.0, 0.02, 0.2))
    return tuple(
        SegmentRow(day, minute, 0, direction, seg, rng.choice((-1, 0, 20, 39, 40, 41, 60)), rng.randrange(0, 12))
        for day in range(1, rng.choice((8, 15)))
        for minute in (1, 2, 3, 4, 5, 6, 7, 8, 1438, 1439, 1440)
        for direction in (0, 1)
        for seg in range(5)
        if rng.random() >= hole
    )
