"""Seeds of random cases."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet


def seeds(count: int, *, quick: int = 1) -> list[int | ParameterSet]:
    """The seeds from 0 up to `count`, of which `make check` takes the first few."""
    return [*range(quick), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(quick, count))]
