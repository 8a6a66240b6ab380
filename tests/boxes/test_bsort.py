"""BSort: a stream whose time was computed is put back in order."""

from __future__ import annotations

from tests.boxes.drawn import outputs, tuples


def test_sorts_and_tells_what_is_late() -> None:
    def draw(s):  # type: ignore[no-untyped-def]
        b = s.map("m", at="time - x", time_column="at").bsort("b", 3)
        b.output("o")
        b.late.output("late")

    got = outputs(draw, tuples((1, 5, 0), (2, 6, 4), (3, 7, 1), (4, 8, 7), (5, 9, None)))
    assert [(row[0], row[4]) for row in got["o"]] == [(2, 2), (1, 5), (3, 6)]
    assert [row[0] for row in got["late"]] == [4, 5]
