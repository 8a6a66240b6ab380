"""What can be asked for, and what is refused."""

from __future__ import annotations

import pytest

from arterial.linearroad.semantics.city import EAST, WEST
from arterial.linearroad.simulate.settings import Settings, SettingsError


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"xways": 0.0}, "--xways"),
        ({"xways": 0.7}, "--xways"),
        ({"xways": float("nan")}, "--xways"),
        ({"xways": 1e9}, "--xways"),
        ({"seconds": 0}, "--seconds"),
        ({"seed": -1}, "--seed"),
        ({"density": 0.0}, "--density"),
        ({"density": float("inf")}, "--density"),
        ({"start_at": -1}, "--start-at"),
        ({"format": "xml"}, "--format"),
    ],
)
def test_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Settings(**wrong)  # type: ignore[arg-type]


def test_a_half_expressway_is_eastbound() -> None:
    settings = Settings(xways=1.5)
    assert settings.expressways == 2
    assert settings.directions(0) == (EAST, WEST)
    assert settings.directions(1) == (EAST,)
