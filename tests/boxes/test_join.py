"""Join: pairs near in time, of one group, that satisfy a predicate."""

from __future__ import annotations

from tests.boxes.drawn import one, tuples


def test_pairs_and_their_order() -> None:
    arrivals = tuples((1, 0, 1, "l"), (1, 2, 2, "r"), (1, 3, 3, "l"), (2, 3, 4, "r"), (1, 9, 5, "r"))

    def draw(s):  # type: ignore[no-untyped-def]
        left, right = s.filter("l", "s = 'l'").group_by("k"), s.filter("r", "s = 'r'").group_by("k")
        return left.join("j", right, within=2)

    assert one(draw, arrivals) == [(1, 0, 1, "l", 2, 2, "r", 2), (1, 3, 3, "l", 2, 2, "r", 3)]


def test_a_stream_with_itself() -> None:
    got = one(
        lambda s: s.join("j", s, within=1, on="left.x < right.x", time="at"), tuples((1, 0, 1), (2, 1, 2), (3, 1, 3))
    )
    assert [(row[0], row[4], row[8]) for row in got] == [(1, 2, 1), (1, 3, 1), (2, 3, 1)]
