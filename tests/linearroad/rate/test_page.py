"""The plot of a rating has the limits of its profile."""

from __future__ import annotations

from matplotlib.lines import Line2D

from arterial.linearroad.formats.answers import TABLE_OF_TYPE
from arterial.linearroad.rate.page import responses_by_l
from arterial.linearroad.semantics.profiles import WALMART


def test_the_limits_are_those_of_the_profile() -> None:
    responses = {name: {"answers": 1, "worst": 1.0, "p99": 1.0} for name in TABLE_OF_TYPE.values()}
    (axes,) = responses_by_l([{"expressways": 1.0, "responses": responses}], WALMART.response_limit).axes
    dashed = [line for line in axes.get_lines() if isinstance(line, Line2D) and line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in dashed] == [5, 5, 5, 5, 30]  # type: ignore[index]
