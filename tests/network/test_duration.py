"""Durations in the unit of a time column."""

from __future__ import annotations

import pytest

from arterial.errors import NetworkError
from arterial.network.duration import units
from arterial.network.schema import Type


@pytest.mark.parametrize(
    ("text", "kind", "count"),
    [
        ("1 minute", Type.INT64, 60),
        ("2 hours", Type.INT16, 7200),
        ("90 s", Type.INT64, 90),
        (30, Type.INT64, 30),
        ("500 ms", Type.TIMESTAMP, 500_000),
        (0.5, Type.TIMESTAMP, 500_000),
        ("1.5 minutes", Type.INT64, 90),
        ("1 day", Type.TIMESTAMP, 86_400_000_000),
    ],
)
def test_units(text: str | float, kind: Type, count: int) -> None:
    assert units(text, kind, "every") == count


@pytest.mark.parametrize("wrong", ["a minute", "5 lightyears", "", "-3 s", None, True, [1], float("nan"), 0, "0 s"])
def test_what_is_no_duration(wrong: object) -> None:
    with pytest.raises(NetworkError, match="every"):
        units(wrong, Type.INT64, "every")  # type: ignore[arg-type]


def test_a_part_of_a_second_needs_timestamps() -> None:
    with pytest.raises(NetworkError, match="counts whole seconds"):
        units("500 ms", Type.INT64, "every")
