"""Trips, statistics, accidents, notices, alerts and charges, keyed by expressway and direction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, OutputTag, RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

SEGMENTS, FEET, CYCLE, EXIT_LANE, MINUTES, REACH = 100, 5280, 30, 4, 5, 5
# Means of up to ten speeds are whole numbers in this unit, so that sums are exact.
PARTS = 2520
PRUNE_MINUTES = 5
CHARGE = Types.TUPLE([Types.INT(), Types.INT(), Types.INT()])
CHARGES = OutputTag("charges", CHARGE)
EMIT = "@"


class Statistics:
    """What one direction of an expressway knows of its segments: five minutes of means, tolls and accidents."""

    def __init__(self, minute: int) -> None:
        self.minute = minute
        self.means: dict[int, dict[int, tuple[int, int]]] = {}
        self.accidents: dict[int, set[int]] = {}
        self.lav, self.toll, self.nearest = [-1] * SEGMENTS, [0] * SEGMENTS, [-1] * SEGMENTS

    def close(self, cars: dict[int, tuple[int, int]], direction: int) -> None:
        """The minute is over: rules 1 to 6, 11 and 13 for the next one."""
        self.means[self.minute] = cars
        self.means.pop(self.minute - MINUTES, None)
        ended = self.accidents.pop(self.minute, set())
        ahead = 1 if direction == 0 else -1
        for seg in range(SEGMENTS):
            means = [total / (PARTS * n) for one in self.means.values() if seg in one for total, n in [one[seg]]]
            # A mean that is a whole number must not fall below it by a rounding error.
            self.lav[seg] = math.floor(sum(means) / len(means) + 1e-9) if means else -1
            found = (seg + ahead * i for i in range(REACH) if seg + ahead * i in ended)
            self.nearest[seg] = next(found, -1)
            over = cars.get(seg, (0, 0))[1] - 50
            slow = means and self.lav[seg] < 40
            self.toll[seg] = 2 * over * over if slow and over > 0 and self.nearest[seg] < 0 else 0
        self.minute += 1


class Road(KeyedProcessFunction):
    """Rules 1 to 16. Tolls depend on minutes that are over, so a report is answered as soon as it is there."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """State: values are pickled."""
        pickled = Types.PICKLED_BYTE_ARRAY()
        self.statistics = runtime_context.get_state(ValueStateDescriptor("statistics", pickled))
        self.trips = runtime_context.get_map_state(MapStateDescriptor("trips", Types.LONG(), pickled))
        self.speeds = runtime_context.get_map_state(MapStateDescriptor("speeds", Types.LONG(), pickled))
        self.stops = runtime_context.get_map_state(MapStateDescriptor("stops", Types.LONG(), pickled))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """One report."""
        _, time, vid, speed, xway, lane, direction, seg, pos, *_ = value
        minute = time // 60 + 1
        now = self.statistics.value()
        if now is None or now.minute < minute:
            now = now or Statistics(minute)
            while now.minute < minute:
                self._close(now, direction, time)
            self.statistics.update(now)

        # Rule 8: a predecessor is exactly 30 s older, so a chain of reports is a vehicle and a phase.
        chain = vid * CYCLE + time % CYCLE
        last = self.trips.get(chain)
        goes_on = last is not None and last[0] == time - CYCLE
        _, last_lane, last_seg, last_pos, run, quote = last if goes_on else (0, -1, -1, -1, 0, 0)
        run = run + 1 if goes_on and last_lane == lane and last_pos == pos else 1
        if last_seg != seg:
            if quote > 0:
                yield CHARGES, (vid, time, quote)
            quote = 0
            if lane != EXIT_LANE:
                quote = now.toll[seg]
                yield f"0,{vid},{time},{EMIT},{now.lav[seg]},{quote}\n"
                if now.nearest[seg] >= 0:
                    yield f"1,{time},{EMIT},{vid},{xway},{now.nearest[seg]},{direction}\n"
        self.trips.put(chain, (time, lane, seg, pos, run, quote))

        total, n = self.speeds.get(vid * SEGMENTS + seg) or (0, 0)
        self.speeds.put(vid * SEGMENTS + seg, (total + speed, n + 1))
        if run >= 4 and 1 <= lane <= 3:
            self._stop(now, time, vid, lane, pos)

    def _stop(self, now: Statistics, time: int, vid: int, lane: int, pos: int) -> None:
        """Rules 9, 10 and 12: a fourth equal report stops a vehicle for 30 s; two at one place are an accident."""
        here = {other: last for other, last in (self.stops.get(pos * 4 + lane) or {}).items() if last > time - CYCLE}
        for other, last in here.items():
            if other != vid:
                for minute in range(time // 60 + 1, (last + CYCLE - 1) // 60 + 2):
                    now.accidents.setdefault(minute, set()).add(pos // FEET)
                self.statistics.update(now)
        here[vid] = time
        self.stops.put(pos * 4 + lane, here)

    def _close(self, now: Statistics, direction: int, time: int) -> None:
        cars: dict[int, tuple[int, int]] = {}
        for vehicle, (speeds, n) in self.speeds.items():
            total, count = cars.get(vehicle % SEGMENTS, (0, 0))
            cars[vehicle % SEGMENTS] = total + speeds * PARTS // n, count + 1
        self.speeds.clear()
        now.close(cars, direction)
        if now.minute % PRUNE_MINUTES == 0:
            for chain in [chain for chain, trip in self.trips.items() if trip[0] < time - CYCLE]:
                self.trips.remove(chain)
            for place in [place for place, here in self.stops.items() if max(here.values()) <= time - CYCLE]:
                self.stops.remove(place)
