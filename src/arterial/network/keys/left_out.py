"""Whole groups that are left out under overload: which ones follows from their values alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.network.keys.hashing import hash_tuples, mix


@dataclass(frozen=True)
class LeftOut:
    """A share of the groups, which agree in the columns `by`. A greater share has the same groups in it, and more.

    >>> roads = pl.DataFrame({"xway": [0, 0, 1, 1, 2, 2], "dir": [0, 1, 0, 1, 0, 0]})
    >>> LeftOut(("xway", "dir"), share=0.5).stays(roads).tolist()
    [True, True, True, True, False, False]
    """

    by: tuple[str, ...]
    share: float
    seed: int = 0

    def stays(self, tuples: pl.DataFrame) -> Array:
        """Which tuples stay: the same ones in every step and slot."""
        if self.share <= 0 or not tuples.height:
            return np.ones(tuples.height, bool)
        return above(mix(hash_tuples(tuples, self.by, self.seed)), self.share)


def above(hashes: Array, share: float) -> Array:
    """Which hashes are not among this share of all possible ones, the least first."""
    found: Array = (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53 >= share
    return found
