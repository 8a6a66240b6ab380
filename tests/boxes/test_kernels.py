"""The compiled loops against loops that are obviously right."""

from __future__ import annotations

import numpy as np
import polars as pl

from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import codes, slots_of

CHANCE = np.random.default_rng(5)
SLOTS = CHANCE.integers(0, 7, 200)
VALUES = CHANCE.normal(size=200)
VALID = CHANCE.random(200) < 0.8
ALL = np.zeros(0, np.bool_)


def _of(slot: int, valid: bool = True) -> list[int]:
    return [i for i in range(200) if SLOTS[i] == slot and (VALID[i] or not valid)]


def test_slots_are_numbered_by_first_appearance() -> None:
    keys = [(int(a), b) for a, b in zip(CHANCE.integers(0, 3000, 9000), CHANCE.choice(list("abc"), 9000), strict=True)]
    columns = [pl.Series([a for a, _ in keys]), pl.Series([b for _, b in keys])]
    slots, count = slots_of(codes(columns, 9000))
    order: dict[tuple[int, str], int] = {}
    expected = [order.setdefault(key, len(order)) for key in keys]
    assert slots.tolist() == expected
    assert count == len(order)


def test_nulls_nan_and_zeros_are_keys() -> None:
    column = pl.Series([0.0, -0.0, None, float("nan"), float("nan"), None])
    assert slots_of(codes([column], 6))[0].tolist() == [0, 0, 1, 2, 2, 1]


def test_sums_counts_extremes_picks() -> None:
    sums, counts = np.zeros(7), np.zeros(7, np.int64)
    kernels.add_sums(SLOTS, VALUES, VALID, sums, counts)
    best, seen = np.zeros(7), np.zeros(7, np.int64)
    kernels.take_extremes(SLOTS, VALUES, VALID, best, seen, True)
    first, last = np.full(7, -1), np.full(7, -1)
    kernels.pick_first(SLOTS, VALID, first, 0)
    kernels.pick_last(SLOTS, VALID, last, 0)
    for slot in range(7):
        total = 0.0
        for i in _of(slot):
            total += VALUES[i]
        assert sums[slot] == total
        assert counts[slot] == len(_of(slot))
        assert best[slot] == max(VALUES[i] for i in _of(slot))
        assert (first[slot], last[slot]) == (_of(slot)[0], _of(slot)[-1])


def test_running_sums_with_resets() -> None:
    resets = CHANCE.random(200) < 0.1
    out, counts = np.empty(200), np.empty(200, np.int64)
    kernels.run_sums(SLOTS, VALUES, VALID, resets, np.zeros(7), np.zeros(7, np.int64), out, counts)
    sums = dict.fromkeys(range(7), 0.0)
    for i in range(200):
        slot = int(SLOTS[i])
        sums[slot] = 0.0 if resets[i] else sums[slot] + (VALUES[i] if VALID[i] else 0.0)
        assert out[i] == sums[slot]


def test_next_rows_bounds_and_ranges() -> None:
    following = kernels.next_rows(SLOTS, 7)
    for i in range(200):
        later = [j for j in range(i + 1, 200) if SLOTS[j] == SLOTS[i]]
        assert following[i] == (later[0] if later else -1)
    times = np.sort(CHANCE.integers(0, 50, 200))
    ends = kernels.bounds(SLOTS, 7)
    order = kernels.sort_by_slot(SLOTS, ends)
    assert order.tolist() == sorted(range(200), key=lambda i: SLOTS[i])
    begin, end = kernels.ranges(SLOTS, times - 3, times + 2, ends, times[order])
    for i in range(200):
        expected = [j for j in range(200) if SLOTS[j] == SLOTS[i] and times[i] - 3 <= times[j] <= times[i] + 2]
        assert order[begin[i] : end[i]].tolist() == expected
