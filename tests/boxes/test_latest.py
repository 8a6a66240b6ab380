"""Latest: the last tuple of each key stands."""

from __future__ import annotations

from tests.boxes.drawn import one, tuples


def test_another_row_takes_the_place_of_the_old_one() -> None:
    got = one(lambda s: s.latest("l", "k"), tuples((1, 1, 5), (1, 2, 5), (1, 3, 6), (2, 3, 0), (1, 3, 7)))
    assert got == [(1, 1, 5, None, 1), (1, 3, 5, None, -1), (1, 3, 7, None, 1), (2, 3, 0, None, 1)]


def test_silence_is_told_when_its_time_has_passed() -> None:
    arrivals = tuples((1, 1, 5), (1, 4, 5), (2, 5, 0), (1, 8, 5), (2, 20, 0))
    got = one(lambda s: s.latest("l", "k", timeout=3), arrivals)
    assert [(row[0], row[1], row[-1]) for row in got] == [
        (1, 1, 1), (2, 5, 1), (1, 7, -1), (2, 8, -1), (1, 8, 1), (1, 11, -1), (2, 20, 1), (2, 23, -1),
    ]  # fmt: skip


def test_a_tuple_can_delete() -> None:
    got = one(lambda s: s.latest("l", "k", delete="x = 0"), tuples((1, 1, 5), (1, 2, 0), (2, 2, 0), (1, 3, 5)))
    assert [(row[1], row[2], row[-1]) for row in got] == [(1, 5, 1), (2, 5, -1), (3, 5, 1)]
