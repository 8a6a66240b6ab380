"""The travel-time kernel against a plain walk over rows in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arterial.linearroad.history.lookup import XWAY_CELLS
from arterial.linearroad.history.segment_kernel import gather
from arterial.linearroad.history.travel_time import BY_SPEC, JourneyRules, _walk, travel_time_in_fractions, travel_times
from arterial.linearroad.semantics.profiles import THESIS2003

Row = tuple[int, int, int, int, int, int]  # day, minute, dir, seg, lav, cnt
History = dict[tuple[int, int, int, int], list[tuple[int, int]]]  # weekday, minute, dir, seg -> lav, cnt


def plainly(
    history: History, sinit: int, send: int, dow: int, tod: int, rules: JourneyRules = BY_SPEC
) -> tuple[int, int]:
    """Rule by rule, without any thought for speed."""
    clock, toll, seg = Fraction(tod), Fraction(0), sinit
    step = 1 if send >= sinit else -1
    while seg != send + (step if rules.includes_end else 0):
        minute, weekday = math.floor(clock), dow
        while minute > 1440:
            minute, weekday = minute - 1440, weekday if rules.stays_on_weekday else weekday % 7 + 1
        here = history.get((weekday, minute, 0 if send >= sinit else 1, seg), [])
        lavs = [lav for lav, _ in here if lav > 0]
        if not lavs:
            return -1, -1
        mean_lav = Fraction(sum(lavs), len(lavs))
        mean_cars = Fraction(sum(cnt for _, cnt in here), len(here))
        if mean_lav < rules.lav_below and (mean_cars > rules.free_cars or not rules.needs_more_cars):
            toll += rules.base_toll * (mean_cars - rules.free_cars) ** 2
        clock += 60 / mean_lav
        seg += step
    return math.floor((clock - tod) * 60 + Fraction(1, 2)), math.floor(toll + Fraction(1, 2))


def cells_of(rows: list[Row]) -> NDArray[np.int32]:
    cells = np.zeros((1, *XWAY_CELLS), np.int32)
    day, minute, dir_, seg, lav, cnt = np.array(rows, dtype=np.int64).reshape(-1, 6).T.copy()
    assert gather(cells, np.zeros(len(rows), np.int64), day, minute, dir_, seg, lav, cnt) == -1
    return cells


def ask(
    cells: NDArray[np.int32], *journeys: tuple[int, int, int, int], xway: int = 5, **more: Any
) -> list[tuple[int, int]]:
    columns = np.array(journeys, dtype=np.int64).T
    xways = np.full(len(journeys), xway, np.int64)
    seconds, toll = travel_times(cells, np.array([5]), np.array([0]), xways, *columns, **more)
    return list(zip(seconds.tolist(), toll.tolist(), strict=True))


def uniform(lav: int, cnt: int, days: range = range(1, 8)) -> NDArray[np.int32]:
    cells = np.zeros((1, *XWAY_CELLS), np.int32)
    cells[:] = (lav * len(days) // 7, len(days) // 7, cnt * len(days) // 7, len(days) // 7)
    return cells


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_the_plain_walk(seed: int) -> None:
    random = np.random.default_rng(seed)
    minutes, segs, days = [*range(1, 41), *range(1411, 1441)], range(40, 52), range(1, 15)
    missing = 0.002 if seed % 2 else 0.0
    rows: list[Row] = []
    history: History = {}
    for day, minute, seg, dir_ in product(days, minutes, segs, (0, 1)):
        lav = int(random.choice([-1, 0, 20, 30, 38, 39, 40, 41, 50, 60, 75, 90, 96]))
        cnt = int(random.integers(40, 80))
        if random.random() >= missing:
            rows.append((day, minute, dir_, seg, lav, cnt))
            history.setdefault(((day - 1) % 7 + 1, minute, dir_, seg), []).append((lav, cnt))
    journeys = [
        (
            int(random.choice(segs)),
            int(random.choice(segs)),
            int(random.integers(1, 8)),
            int(random.choice([*range(1, 10), *range(1412, 1441)])),
        )
        for _ in range(200)
    ]
    cells = cells_of(rows)
    for rules in (BY_SPEC, JourneyRules.of(THESIS2003), BY_SPEC._replace(base_toll=7, free_cars=45, lav_below=45)):
        expected = [plainly(history, *journey, rules) for journey in journeys]
        assert ask(cells, *journeys, rules=rules) == expected
        assert any(toll > 0 for _, toll in expected)


def test_exact_fractions_agree_with_the_kernel_on_long_journeys() -> None:
    random = np.random.default_rng(7)
    cells = np.zeros((1, *XWAY_CELLS), np.int32)
    rows = random.integers(1, 11, XWAY_CELLS[:-1])
    cells[0, ..., 3] = cells[0, ..., 1] = rows
    cells[0, ..., 0] = rows * random.integers(20, 70, XWAY_CELLS[:-1]) + random.integers(0, 2, XWAY_CELLS[:-1])
    cells[0, ..., 2] = rows * random.integers(40, 90, XWAY_CELLS[:-1]) + random.integers(0, 2, XWAY_CELLS[:-1])
    journeys = [
        tuple(int(n) for n in journey)
        for journey in np.stack(
            [
                random.integers(0, 100, 500),
                random.integers(0, 100, 500),
                random.integers(1, 8, 500),
                random.integers(1, 1441, 500),
            ],
            axis=1,
        )
    ]
    answers = ask(cells, *journeys)  # type: ignore[arg-type]
    for journey, answer in zip(journeys, answers, strict=True):
        assert answer == travel_time_in_fractions(cells[0], *journey)
    assert any(toll > 0 for _, toll in answers)


def test_a_doubt_of_floating_point_is_resolved_exactly() -> None:
    cells = uniform(60, 10)
    # 1/7919 + 1/7907 + 1/7901 overflow 2^31; their complements bring the clock back to three minutes exactly.
    odd = [7919, 7907, 7901]
    for seg, prime in enumerate(odd):
        cells[0, 0, :, :, seg, 0:2] = 60 * prime, 1
        cells[0, 0, :, :, seg + 3, 0:2] = 60 * prime, prime - 1
    cells[0, 0, :, 3, 6] = 3000, 100, 6000, 100  # minute 4, by a hair
    _, _, unsure = _walk(cells, 0, 0, 7, 1, 1, BY_SPEC)
    assert unsure
    (answer,) = ask(cells, (0, 7, 1, 1))
    assert answer == travel_time_in_fractions(cells[0], 0, 7, 1, 1) == (180 + 120, 200)


def test_both_directions_and_no_way_at_all() -> None:
    cells = uniform(60, 10)
    cells[0, 1, ..., 0] = 30
    assert ask(cells, (10, 20, 1, 1), (20, 10, 1, 1), (7, 7, 1, 1)) == [(600, 0), (1200, 0), (0, 0)]


def test_the_last_segment_is_not_driven_or_paid() -> None:
    cells = uniform(60, 10)
    cells[0, 0, ..., 12, :] = 30, 1, 60, 1
    assert ask(cells, (10, 12, 1, 1), (10, 13, 1, 1), (12, 13, 1, 1)) == [(120, 0), (240, 200), (120, 200)]


def test_midnight_rolls_over_into_the_next_weekday_and_saturday_into_sunday() -> None:
    cells = uniform(60, 10)
    cells[0, 0, 2, 0, 50, :] = 10, 1, 100, 1  # weekday 3, minute 1
    cells[0, 0, 0, 0, 50, :] = 20, 1, 60, 1  # weekday 1, minute 1
    assert ask(cells, (49, 51, 2, 1440), (49, 51, 7, 1440)) == [(60 + 360, 5000), (60 + 180, 200)]


def test_thresholds_are_exact() -> None:
    for lav_sum, rows, cars, toll in [(399, 10, 510, 2), (400, 10, 510, 0), (399, 10, 500, 0), (399, 10, 501, 0)]:
        cells = uniform(60, 10)
        cells[0, 0, ..., 3, :] = lav_sum, rows, cars, rows
        assert ask(cells, (3, 4, 1, 1))[0][1] == toll
    cells[0, 0, ..., 3, :] = 399, 10, 505, 10  # 2 * 0.5^2 is a half, and goes up
    assert ask(cells, (3, 4, 1, 1))[0][1] == 1


def test_seconds_round_half_up() -> None:
    assert ask(uniform(96, 0), (0, 1, 1, 1), (0, 3, 1, 1)) == [(38, 0), (113, 0)]  # 37.5 and 112.5


def test_a_mean_of_fifty_miles_an_hour_arrives_on_the_minute() -> None:
    # Five times 1.2 minutes is 6, in floating point from some starts 5.999…: the sixth segment is met in minute 7.
    cells = uniform(50, 0)
    cells[0, 0, :, 6, 5, 0] = 10
    assert ask(cells, (0, 6, 1, 1)) == [(5 * 72 + 360, 0)]


def test_no_history() -> None:
    cells = uniform(60, 10)
    cells[0, 0, :, :, 30, :] = 0
    cells[0, 0, :, :, 40, :2] = 0  # counts, but never a LAV
    assert ask(cells, (29, 31, 1, 1), (39, 41, 1, 1), (31, 39, 1, 1)) == [(-1, -1), (-1, -1), (480, 0)]
    assert ask(cells, (0, 5, 1, 1), (5, 5, 1, 1), xway=6) == [(-1, -1), (0, 0)]


def test_what_is_no_journey_has_no_answer_and_touches_no_memory() -> None:
    bad = [(-1, 5, 1, 1), (5, -1, 1, 1), (0, 100, 1, 1), (0, 5, 0, 1), (0, 5, 8, 1), (0, 5, 1, 0), (0, 5, 1, 1441)]
    assert ask(uniform(60, 10), *bad) == [(-1, -1)] * len(bad)


def test_replicated_expressways_share_a_history() -> None:
    cells = uniform(60, 10)
    assert ask(cells, (0, 5, 1, 1), xway=25, xways_apart=10) == [(300, 0)]
    assert ask(cells, (0, 5, 1, 1), xway=26, xways_apart=10) == [(-1, -1)]
    assert ask(cells, (0, 5, 1, 1), xway=-5, xways_apart=10) == [(-1, -1)]


def test_no_requests() -> None:
    empty = np.empty(0, np.int64)
    seconds, toll = travel_times(uniform(60, 1), np.array([0]), np.array([0]), *[empty] * 5)
    assert len(seconds) == len(toll) == 0
