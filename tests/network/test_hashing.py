"""The hash of values: stored state and simulated cities depend on it, so these numbers may never change."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from arterial.network.keys import hash_kernels
from arterial.network.keys.hashing import hash_tuples, mix
from arterial.network.keys.slots import slots


def test_splitmix64() -> None:
    known = np.array([0x9E3779B97F4A7C15], np.uint64)  # the first state of the generator that begins with 0
    assert mix(known).tolist() == [0xE220A8397B1DCDAF]
    assert hash_kernels.mix(known[0]) == 0xE220A8397B1DCDAF
    assert hash_kernels.mix(known).tolist() == [0xE220A8397B1DCDAF]


def test_hashes_of_tuples_stay_as_they_are() -> None:
    tuples = pl.DataFrame({"i": [1, None, -3], "f": [0.5, float("nan"), -0.0], "s": ["a", None, ""]})
    assert hash_tuples(tuples, ["i", "f", "s"], seed=7).tolist() == [
        123982995539147162,
        399428020794570259,
        2125555641783631769,
    ]
    assert slots(tuples, ("i", "f", "s"), 100).tolist() == [65, 64, 90]
    assert hash_kernels.place_in(12345, 1024) == 555


@pytest.mark.thorough
def test_planning_processes_need_no_numba() -> None:
    code = "import sys, arterial.network.keys.slots, arterial.network.keys.hashing; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
