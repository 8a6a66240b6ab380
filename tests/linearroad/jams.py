"""Random cities that are denser and dirtier than others: real tolls, broken and double trips."""

from __future__ import annotations

import random

from arterial.linearroad.reference import Event
from tests.linearroad.cities import balance


def jam(seed: int, *, crowd: int = 90, seconds: int = 500) -> list[Event]:
    """The reports and balance requests of one random city, ordered by time."""
    rng = random.Random(seed)
    reports: dict[tuple[int, int], Event] = {}
    spots = [(rng.choice([1, 1, 2, 0, 4]), rng.choice([3, 0, 98]), rng.randrange(3)) for _ in range(4)]
    segs = rng.choice([(0, 6), (94, 99), (40, 42), (2, 2), (99, 99)])
    dense = rng.random() < 0.5
    speeds = [20, 39, 40, 40, 40, 41, 30] if dense else [20, 30, 39, 40, 41, 0, 100, 73, 5, 64]
    vehicles = rng.choice([20, crowd, 2 * crowd])
    for vid in range(vehicles):
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            time = rng.randrange(-30, seconds)
            xway, direction = rng.choice([0, 0, 0, 7]), rng.choice([0, 0, 1])
            if dense and rng.random() < 0.9:
                time, xway, direction = rng.randrange(120), 0, 0
            seg, lane = rng.randint(*segs), rng.choice([0, 0, 1])
            pos = seg * 5280 + rng.randrange(5280)
            stuck = 0
            for _ in range(rng.randrange(1, 14)):
                if time >= 0 and rng.random() < 0.97:
                    report = Event(0, time, vid, rng.choice(speeds), xway, lane, direction, seg, pos)
                    reports.setdefault((vid, time), report)
                time += 30 if rng.random() < 0.95 else rng.choice([1, 7, 15, 29, 31, 60])
                if stuck > 0:
                    stuck -= 1
                    continue
                if rng.random() < (0.05 if dense else 0.15):
                    lane, at, offset = rng.choice(spots)
                    seg, pos, stuck = at, at * 5280 + offset, rng.randrange(2, 8)
                    if rng.random() < 0.1:
                        seg = max(0, seg - 1)
                    continue
                lane = rng.choice([1, 2, 3, 3, 4]) if rng.random() < 0.9 else 0
                if rng.random() < (0.2 if dense else 0.5):
                    seg = min(99, max(0, seg + (1 if direction == 0 else -1)))
                pos = seg * 5280 + rng.randrange(5280)
    requests = [balance(rng.randrange(seconds + 100), rng.randrange(vehicles + 1), qid) for qid in range(100)]
    events = [*reports.values(), *requests]
    rng.shuffle(events)
    return sorted(events, key=lambda event: event.time)
