"""The bare kernels of Linear Road in one process: reports a second on one core, on made-up traffic at the peak.

The time is that of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.kernels.base.reports import REPORT_DTYPES
from arterial.linearroad.application.kernels.host import LinearRoadKernels
from arterial.linearroad.semantics.city import EXPRESSWAY_FEET, REPORT_SECONDS, SEGMENT_FEET
from arterial.linearroad.semantics.profiles import SPEC, WALMART, Profile
from benchmarks.figure import Figure

PEAK_REPORTS = 1_700  # of one expressway in one second
ENTER = 0.008  # share of the reports that begin a trip: 14 a second
ASK = 0.006  # share that come with a balance request
BEGIN = 600
WARM = 195  # seconds before the clock starts: the ring is full, tolls are due, the accidents have effect
CRASH_PHASE = 7


def measure() -> list[Figure]:
    """Reports a second at some sizes of a shard, and the time of the smallest train."""
    figures = [
        Figure(
            f"kernels, {xways} expressways, trains of {train} s",
            rate(xways, train, seconds),
            "reports/s on one core",
            at_least=2_000_000 if xways > 1 else None,
        )
        for xways, train, seconds in ((1, 1, 120), (64, 1, 60), (64, 3, 60))
    ]
    return [
        *figures,
        Figure(
            "kernels of profile walmart, 8 expressways, trains of 1 s", rate(8, 1, 60, WALMART), "reports/s on one core"
        ),
        Figure("kernels, a train of 10 reports", 1000 * smallest(), "ms", at_most=1.0),
    ]


def rate(xways: int, train: int, seconds: int, profile: Profile = SPEC) -> float:
    """Reports a second on one core in trains of so many seconds, without the making of the traffic."""
    kernels = LinearRoadKernels(profile)
    reports, taken = 0, 0.0
    held: list[tuple[dict[str, Array], dict[str, Array]]] = []
    for second, events in enumerate(traffic(xways, WARM + seconds)):
        held.append(events)
        if len(held) < train:
            continue
        columns = [{name: np.concatenate([e[i][name] for e in held]) for name in held[0][i]} for i in (0, 1)]
        held = []
        start = time.thread_time()
        kernels.feed(*columns)
        if second - train >= WARM:
            taken += time.thread_time() - start
            reports += columns[0]["time"].size
    return reports / taken


def smallest() -> float:
    """Seconds for a train of 10 reports, at best of many."""
    kernels = LinearRoadKernels()
    best = 1.0
    for columns, asked in traffic(1, 200, reports=10):
        start = time.perf_counter()
        kernels.feed(columns, asked)
        best = min(best, time.perf_counter() - start)
    return best


def traffic(
    xways: int, seconds: int, reports: int = PEAK_REPORTS
) -> Iterator[tuple[dict[str, Array], dict[str, Array]]]:
    """Reports and balance requests, a second at a time: slow in the middle of the expressway, some come and go."""
    rng = np.random.default_rng(1)
    size = xways * reports
    xway = np.repeat(np.arange(xways, dtype=np.int32), reports)
    phases = [rng.permutation(size) for _ in range(REPORT_SECONDS)]
    direction = [rng.integers(0, 2, size).astype(np.int8) for _ in phases]
    pos = [rng.integers(0, EXPRESSWAY_FEET, size).astype(np.int32) for _ in phases]
    vid = [(order * REPORT_SECONDS + phase).astype(np.int64) for phase, order in enumerate(phases)]
    entered = [np.zeros(size, np.bool_) for _ in phases]
    following = size * REPORT_SECONDS
    for at in range(BEGIN, BEGIN + seconds):
        phase = at % REPORT_SECONDS
        where, who = pos[phase], vid[phase]
        seg = (where // SEGMENT_FEET).astype(np.int16)
        slow = (seg > 25) & (seg < 75)
        speed = np.where(slow, rng.integers(20, 50, size), rng.integers(40, 70, size)).astype(np.int16)
        lane = np.where(entered[phase], 0, rng.integers(1, 4, size)).astype(np.int8)
        if phase == CRASH_PHASE:  # the first two vehicles of every expressway stand in one place
            crash = np.concatenate([np.arange(0, size, reports), np.arange(1, size, reports)])
            where[crash], seg[crash], speed[crash], lane[crash] = 50 * SEGMENT_FEET, 50, 0, 2
            direction[phase][crash] = 0
        columns: dict[str, Array] = dict(
            zip(
                REPORT_DTYPES,
                (np.full(size, at, np.int32), who.copy(), speed, xway, lane, direction[phase], seg, where.copy()),
                strict=True,
            )
        )
        asks = np.flatnonzero(rng.random(size) < ASK)
        yield columns, {"time": np.full(asks.size, at, np.int64), "vid": who[asks], "qid": asks.astype(np.int64)}
        # A mile an hour for 30 s is 44 feet; those who leave at either end make room for vehicles that were never seen.
        stands = (speed == 0) & (phase == CRASH_PHASE)
        moved = where + np.where(direction[phase] == 0, 44, -44) * speed.astype(np.int32)
        new = (moved < 0) | (moved >= EXPRESSWAY_FEET) | (rng.random(size) < ENTER / 2)
        new &= ~stands
        pos[phase] = np.where(new, rng.integers(0, EXPRESSWAY_FEET, size), moved).astype(np.int32)
        vid[phase] = np.where(new, following + np.cumsum(new), who)
        entered[phase] = new
        following += size
