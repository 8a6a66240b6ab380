"""Small random cities that are dense, dirty and full of accidents."""

from __future__ import annotations

import random

import numpy as np

from tests.linearroad.kernels.model import Report


def city(seed: int, *, crowd: int = 90, seconds: int = 500) -> list[Report]:
    """Reports of one random city, ordered by time."""
    rng = random.Random(seed)
    reports: dict[tuple[int, int], Report] = {}
    spots = [(rng.choice([1, 1, 2, 0, 4]), rng.choice([3, 0, 98]), rng.randrange(3)) for _ in range(4)]
    segs = rng.choice([(0, 6), (94, 99), (40, 42), (2, 2), (99, 99)])
    jam = rng.random() < 0.5
    for vid in range(rng.choice([20, crowd, 2 * crowd])):
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            time = rng.randrange(-30, seconds)
            xway, direction = rng.choice([0, 0, 0, 7]), rng.choice([0, 0, 1])
            if jam and rng.random() < 0.9:
                time, xway, direction = rng.randrange(120), 0, 0
            seg, lane = rng.randint(*segs), rng.choice([0, 0, 1])
            pos = seg * 5280 + rng.randrange(5280)
            stuck = 0
            for _ in range(rng.randrange(1, 14)):
                speed = rng.choice(
                    [20, 30, 39, 40, 41, rng.randrange(101)] if not jam else [20, 39, 40, 40, 40, 41, 30]
                )
                report = Report(time, vid, speed, xway, lane, direction, seg, pos)
                if time >= 0 and rng.random() < 0.97:
                    reports.setdefault((vid, time), report)
                time += 30 if rng.random() < 0.95 else rng.choice([1, 7, 15, 29, 31, 60])
                if stuck > 0:
                    stuck -= 1
                    continue
                if rng.random() < (0.05 if jam else 0.15):
                    lane, at, offset = rng.choice(spots)
                    seg, pos, stuck = at, at * 5280 + offset, rng.randrange(2, 8)
                    if rng.random() < 0.1:
                        seg = max(0, seg - 1)
                    continue
                lane = rng.choice([1, 2, 3, 3, 4]) if rng.random() < 0.9 else 0
                if rng.random() < (0.2 if jam else 0.5):
                    seg = min(99, max(0, seg + (1 if direction == 0 else -1)))
                pos = seg * 5280 + rng.randrange(5280)
    rows = list(reports.values())
    rng.shuffle(rows)
    return sorted(rows, key=lambda r: r.time)


def columns(reports: list[Report]) -> dict[str, np.ndarray]:
    """The reports as columns."""
    return {name: np.array([getattr(r, name) for r in reports], np.int64) for name in Report._fields}


def cuts(reports: list[Report], rng: random.Random) -> list[int]:
    """Row numbers at which to cut the reports into trains, between seconds."""
    if rng.random() < 0.3:
        return [0, len(reports)]
    ends = [i for i in range(1, len(reports)) if reports[i].time != reports[i - 1].time]
    chosen = [i for i in ends if rng.random() < rng.choice([0.05, 0.3, 1.0])]
    return [0, *chosen, len(reports)]
