"""Drop: drops random tuples at a given rate (Aurora §2.1), the same ones in every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, Box, Stream
from arterial.network.keys.hashing import hash_tuples
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Drop(Box):
    """Drops a share of the tuples by chance, the same ones in every run (Aurora §2.1).

    A hash of the tuple's values and the seed decides, so that cuts into trains, shards and restarts change nothing.
    Tuples that are equal in all columns, time included, are dropped or kept together.

    Parameters:
        rate: the share to drop, from 0 (none) to 1 (all).
        seed: another seed drops other tuples.

    >>> from arterial.testing import show
    >>> show(lambda s: s.drop("thinned", rate=0.5, seed=7), time=[1, 2, 3, 4, 5, 6])
    time
       1
       2
       5
       6
    """

    rate: float
    seed: int = 0

    kind: ClassVar[str] = "drop"
    instead: ClassVar[str] = "drop before the box that makes the signs: here a minus might stay whose plus was dropped"
    stateless: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    @property
    def threshold(self) -> int:
        """A tuple whose hash is below this number is dropped."""
        return int(self.rate * 2**64)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Like the input."""
        if isinstance(self.rate, bool) or not isinstance(self.rate, int | float) or not 0 <= self.rate <= 1:
            raise NetworkError(f"expected a rate from 0 (none) to 1 (all), got {self.rate!r}")
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The tuples that stay."""
        train = trains[IN]
        if self.threshold >= 2**64:
            return {OUT: Train(train.tuples.clear(), train.through)}
        hashes = hash_tuples(train.tuples, self.fed_by[IN].schema.names, self.seed)
        return {OUT: Train(train.tuples.filter(pl.Series(hashes >= np.uint64(self.threshold))), train.through)}
