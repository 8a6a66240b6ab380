"""Cars and velocities of segments."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np

from arterial.linearroad.application.kernels.statistics import UNDECIDED, add_reports, average_velocity, exact_velocity


def test_reports_of_trips() -> None:
    rng = np.random.default_rng(4)
    rows = []
    expected: dict[int, list[Fraction]] = {0: [], 1: [], 101: []}
    for _ in range(200):
        first, second = (int(c) for c in rng.choice([0, 1, 101], 2))
        v, w = (int(s) for s in rng.integers(0, 101, 2))
        rows.append((60 + int(rng.integers(30)), first, v, -1, 0))
        continues = first // 100 == second // 100
        rows.append((rows[-1][0] + 30, second, w, first % 100 if continues else -1, v if continues else 0))
        if first == second:
            expected[first].append(Fraction(v + w, 2))
        else:
            expected[first].append(Fraction(v))
            expected[second].append(Fraction(w))
    cars, doubled = np.zeros(200, np.int32), np.zeros(200, np.int32)
    dtypes = (np.int32, np.int32, np.int16, np.int8, np.uint8)
    add_reports(*(np.array(c, dtype) for c, dtype in zip(zip(*rows, strict=True), dtypes, strict=True)), cars, doubled)
    for cell, means in expected.items():
        assert (cars[cell], Fraction(int(doubled[cell]), 2)) == (len(means), sum(means))


def test_a_report_of_the_minute_before_is_another_mean() -> None:
    cars, doubled = np.zeros(2, np.int32), np.zeros(2, np.int32)
    columns = ([70], [1], [50], [1], [30])
    dtypes = (np.int32, np.int32, np.int16, np.int8, np.uint8)
    add_reports(*(np.array(c, dtype) for c, dtype in zip(columns, dtypes, strict=True)), cars, doubled)
    assert (cars.tolist(), doubled.tolist()) == ([0, 1], [0, 100])


def test_velocity() -> None:
    rng = np.random.default_rng(5)
    undecided = 0
    for most in (1, 3, 300, 30_000):
        cars = rng.integers(0, most + 1, (5, 400)).astype(np.int32)
        # Means at and just beside whole numbers, where rounding would show.
        doubled = np.where(cars > 0, 80 * cars + rng.integers(-1, 2, cars.shape), 0).astype(np.int32)
        doubled[:, ::2] = 80 * cars[:, ::2]
        lav = average_velocity(cars.ravel(), doubled.ravel())
        for cell in range(400):
            means = [Fraction(int(d), 2 * int(n)) for d, n in zip(doubled[:, cell], cars[:, cell], strict=True) if n]
            right = floor(sum(means) / len(means)) if means else -1
            undecided += int(lav[cell] == UNDECIDED)
            assert lav[cell] in (right, UNDECIDED)
            assert exact_velocity(cars[:, cell].tolist(), doubled[:, cell].tolist(), []) == right
            assert most > 300 or lav[cell] == right
    assert undecided, "the fall-back is used"


def test_velocity_with_vehicles_apart() -> None:
    assert exact_velocity([1, 0], [80, 0], [(0, Fraction(119, 3)), (1, Fraction(121, 3))]) == 40
    assert exact_velocity([0], [0], [(0, Fraction(121, 3)), (0, Fraction(358, 9))]) == 40
    assert exact_velocity([0], [0], [(0, Fraction(121, 3)), (0, Fraction(357, 9))]) == 40
    assert exact_velocity([0], [0], [(0, Fraction(121, 3)), (0, Fraction(356, 9))]) == 39
