"""Tariffs, quotes and charges."""

from __future__ import annotations

import numpy as np

from arterial.linearroad.application.kernels.statistics import Levels
from arterial.linearroad.application.kernels.tolls import Tariff, accident_ahead, quote_and_charge, rows_are_there
from arterial.linearroad.semantics.profiles import SPEC, WALMART


def test_accident_ahead() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        cells = rng.choice([0, 1, 3, 50, 98, 99, 100, 104, 150, 199], int(rng.integers(0, 6))).astype(np.int32)
        ahead = accident_ahead(cells, 200, 0, 4)
        for cell in range(200):
            road, seg = divmod(cell, 100)
            downstream = [seg + i if road == 0 else seg - i for i in range(5)]
            at = [s for s in downstream if 0 <= s < 100 and road * 100 + s in cells.tolist()]
            assert ahead[cell] == (at[0] if at else -1)


def test_tariff() -> None:
    lav = np.array([39, 40, 39, 39, -1], np.int16)
    cars = np.array([51, 51, 50, 60, 0], np.int32)
    accident = np.array([-1, -1, -1, 7, -1], np.int8)
    assert Tariff.of(Levels(3, lav, cars), accident, SPEC).toll.tolist() == [2, 0, 0, 0, 0]
    assert Tariff.of(Levels(3, lav, cars), accident, SPEC).lav.tolist() == [39, 40, 39, 39, -1]
    assert Tariff.of(Levels(3, lav, cars), accident, WALMART).lav.tolist() == [39, 40, 39, 39, 0]


def test_quotes_and_charges() -> None:
    rng = np.random.default_rng(7)
    size = 500
    cell = rng.integers(0, 4, size).astype(np.int32)
    lane = rng.integers(0, 5, size).astype(np.int8)
    prev_seg = rng.integers(-1, 4, size).astype(np.int8)
    pred = np.where(prev_seg < 0, -1, rng.integers(0, 50, size)).astype(np.int32)
    toll, old = np.array([0, 2, 8, 18], np.int32), rng.integers(0, 3, 50).astype(np.int32)
    quote = np.empty(size, np.int32)
    entering, leaving, amount = quote_and_charge(cell, lane, pred, prev_seg, toll, old, quote)
    enters = prev_seg != cell
    assert entering.tolist() == [row for row in range(size) if enters[row] and lane[row] != 4]
    assert leaving.tolist() == [row for row in range(size) if enters[row] and pred[row] >= 0 and old[pred[row]] > 0]
    assert amount.tolist() == old[pred[leaving]].tolist()
    right = [(0 if lane[row] == 4 else toll[cell[row]]) if enters[row] else old[pred[row]] for row in range(size)]
    assert quote.tolist() == right


def test_predecessors_that_are_not_there() -> None:
    prev_seg = np.array([3, -1, 3, 3], np.int8)
    for pred, there in (([0, -1, 1, 4], True), ([0, 99, 1, 4], True), ([0, -1, 1, 5], False), ([0, 0, -1, 1], False)):
        assert rows_are_there(np.array(pred, np.int32), prev_seg, 5) == there
    assert rows_are_there(np.empty(0, np.int32), np.empty(0, np.int8), 0)
