"""Random numbers by address."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arterial.linearroad.simulate.chance import random_below, random_bits, random_share


def slow_mix(bits: int) -> int:
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % 2**64
    return bits ^ (bits >> 31)


@given(st.integers(0, 2**62), st.integers(0, 99), st.integers(0, 2**40))
def test_bits_are_splitmix(seed: int, stream: int, number: int) -> None:
    expected = slow_mix(slow_mix((seed + 0x9E3779B97F4A7C15 * (stream + 1)) % 2**64) ^ number)
    assert int(random_bits(seed, stream, number)) == expected
    assert random_share(seed, stream, number) == (expected >> 11) / 2**53


def test_whole_numbers_are_spread_evenly() -> None:
    drawn = np.bincount([random_below(7, 3, number, 10) for number in range(20_000)], minlength=10)
    assert len(drawn) == 10
    assert abs(drawn - 2000).max() < 5 * np.sqrt(2000)
