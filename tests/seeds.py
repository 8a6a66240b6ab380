"""Seeds of random cases."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet


def seeds(count: int, *, quick: int = 1, usual: int | None = None) -> list[int | ParameterSet]:
    """The seeds from 0 up to `count`: `make check` takes the first few, `make test` those below `usual`."""
    most = count if usual is None else usual
    thorough = [pytest.param(seed, marks=pytest.mark.thorough) for seed in range(quick, most)]
    return [*range(quick), *thorough, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(most, count))]
