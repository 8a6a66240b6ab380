"""§6.2.1: arrival rate against output delay.

Tuples arrive exponentially spaced. Work is done for real and its CPU time taken; the clock in which tuples arrive and
wait is reckoned, so that a rate is what it says on any machine. The skeleton takes tuple after tuple; the shared
execution takes all that have arrived whenever it is free, as a time unit of its own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from arterial.arrays import Array
from arterial.moving.queries.events import MovingRange, Query, Range
from arterial.moving.queries.range import GpacIn
from arterial.moving.queries.skeleton import Located
from arterial.moving.shared.shared import SharedExecution
from arterial.moving.traffic import Traffic, TrafficSettings

PAPER_RATES = (100, 500, 1_000, 2_000, 4_000)
MOST_SECONDS = 20
"""So long is a slow stream watched."""
FASTEST = 36.0
MORE_RATES = (10_000, 30_000, 100_000, 300_000, 1_000_000)


@dataclass(frozen=True)
class Delays:
    """Mean output delay in seconds, by rate of tuples per second."""

    rates: tuple[int, ...]
    skeleton_stationary: tuple[float, ...]
    skeleton_moving: tuple[float, ...]
    shared: tuple[float, ...]


def measure_delays(*, objects: int, tuples: int) -> Delays:
    """The delays of one stationary and one moving query tuple after tuple, and of 1,000 moving ones together."""
    rates = PAPER_RATES + MORE_RATES
    traffic = Traffic(TrafficSettings(objects=objects, leaving=0.0, kilometres=6))
    positions = [traffic.step() for _ in range(-(-tuples // objects))]
    ids = np.concatenate([one.id for one in positions])[:tuples]
    x, y = (np.concatenate([getattr(one, axis) for one in positions])[:tuples] for axis in ("x", "y"))
    still, moving = Range(-1000.0, -1000.0, 1000.0, 1000.0), MovingRange(int(ids[0]), 2000.0, 2000.0)
    few = {rate: slice(0, min(tuples, MOST_SECONDS * rate)) for rate in rates}
    return Delays(
        rates,
        tuple(_one_by_one(GpacIn(still), ids[some], x[some], y[some], rate) for rate, some in few.items()),
        tuple(
            _one_by_one(GpacIn(moving, longest_step=FASTEST), ids[some], x[some], y[some], rate)
            for rate, some in few.items()
        ),
        tuple(_together(ids[some], x[some], y[some], rate) for rate, some in few.items()),
    )


def _arrivals(count: int, rate: int) -> Array:
    return np.cumsum(np.random.default_rng(rate).exponential(1.0 / rate, count))


def _one_by_one(query: GpacIn, ids: Array, x: Array, y: Array, rate: int) -> float:
    tuples = [Located(int(who), (float(at_x), float(at_y))) for who, at_x, at_y in zip(ids, x, y, strict=True)]
    free, waited, counted = 0.0, 0.0, 0
    for arrived, one in zip(_arrivals(len(ids), rate).tolist(), tuples, strict=True):
        began = time.process_time()
        changes = sum(1 for _ in query.receive(one))
        free = max(free, arrived) + time.process_time() - began
        if changes:
            waited += free - arrived
            counted += 1
    return waited / max(counted, 1)


def _together(ids: Array, x: Array, y: Array, rate: int) -> float:
    engine = SharedExecution()
    for i, focal in enumerate(np.unique(ids)[:1000].tolist()):
        query: Query = MovingRange(int(focal), 300.0, 300.0)
        engine.register(i, query)
    slots = engine.objects_of(ids)
    engine.step(0.0, slots[:1], x[:1], y[:1])  # so that nothing is compiled while the clock runs
    arrived = _arrivals(len(ids), rate)
    done, now, unit, waited, counted = 0, 0.0, 1.0, 0.0, 0
    while done < len(ids):
        now = max(now, float(arrived[done]))
        ready = int(np.searchsorted(arrived, now, "right"))
        began = time.process_time()
        changes = engine.step(unit, slots[done:ready], x[done:ready], y[done:ready])
        now += time.process_time() - began
        if len(changes):
            waited += float((now - arrived[done:ready]).sum())
            counted += ready - done
        done, unit = ready, unit + 1.0
    return waited / max(counted, 1)
