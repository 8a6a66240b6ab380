"""The search for the largest L that passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arterial.errors import ArterialError
from arterial.linearroad.rate.ladder import next_rung, rating, rungs


def test_rungs_are_halves_below_five_and_then_wider() -> None:
    ladder = rungs(512)
    assert ladder[:10] == [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]
    assert {10, 16, 64, 128, 256, 512} <= set(ladder)
    assert ladder == sorted(set(ladder))
    with pytest.raises(ArterialError, match="highest L"):
        rungs(0)


@given(st.floats(0, 600), st.sampled_from(rungs(512)))
def test_the_search_finds_the_largest_that_passes(capacity: float, start: float) -> None:
    ladder = rungs(512)
    passed: dict[float, bool] = {}
    while (rung := next_rung(ladder, passed, start)) is not None:
        assert rung not in passed
        passed[rung] = rung <= capacity
        assert len(passed) <= 20
    assert rating(passed) == max((rung for rung in ladder if rung <= capacity), default=0.0)
