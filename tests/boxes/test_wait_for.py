"""WaitFor: tuples are held until the latest of another stream fulfils a predicate."""

from __future__ import annotations

from tests.boxes.drawn import outputs, tuples


def test_release_order_and_what_is_never_met() -> None:
    def draw(s):  # type: ignore[no-untyped-def]
        asks, tells = s.filter("asks", "s = 'ask'"), s.filter("tells", "s = 'tell'")
        w = asks.wait_for("w", "until.x >= x", tells)
        w.output("o")
        w.unmet.output("never")

    arrivals = tuples(
        (1, 0, 5, "ask"), (2, 1, 3, "tell"), (3, 2, 2, "ask"), (4, 2, 7, "ask"), (5, 4, 5, "tell"), (6, 4, 6, "tell"),
        (7, 9, 9, "ask"),
    )  # fmt: skip
    got = outputs(draw, arrivals)
    assert [(row[0], row[4]) for row in got["o"]] == [(3, 2), (1, 4)]
    assert [row[0] for row in got["never"]] == [4, 7]
