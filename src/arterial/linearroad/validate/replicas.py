"""Data that was run several times over, with vehicles, expressways and query ids of its own each time.

A run with `--replicate K` raises the numbers of replica r by r steps. What is right for the data is right for each
replica, so it is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from arterial.linearroad.data.replicate import Replication
from arterial.network.keys.hashing import GOLDEN

if TYPE_CHECKING:
    from arterial.linearroad.data.dataset import Data


@dataclass(frozen=True)
class Replicas:
    """How many there are, how far apart their numbers are, and into how many buckets each is judged."""

    times: int = 1
    vid: int = 1
    qid: int = 1
    xway: int = 1
    share: int = 2

    @property
    def buckets(self) -> int:
        """The buckets of all replicas."""
        return self.times * self.share

    def of(self, table: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The table of every replica."""
        yield table
        names = [name for name in ("vid", "qid", "xway") if name in table.columns]
        for replica in range(1, self.times):
            yield table.with_columns((pl.col(name).cast(pl.Int64) + replica * getattr(self, name)) for name in names)

    def bucket_of(self, key: np.ndarray, by: str) -> np.ndarray:
        """The bucket of each vehicle or query id: those of one replica share a few, and neighbours are spread."""
        key = np.asarray(key, np.int64)
        replica: np.ndarray | int = 0
        if self.times > 1:
            replica, key = np.mod(key // getattr(self, by), self.times), np.mod(key, getattr(self, by))
        mixed = key.view(np.uint64) * np.uint64(GOLDEN) >> np.uint64(32)
        return replica * self.share + (mixed % np.uint64(self.share)).astype(np.int64)


def replicas_of(data: Data, times: int, *, together: bool = False) -> Replicas:
    """The replicas of a data set; `together` each is judged in one bucket."""
    share = 1 if together else len(data.xways)
    if times == 1:
        return Replicas(share=share if together else 2 * share)
    apart = Replication.of(data, times)
    return Replicas(times, apart.vid_step, apart.qid_step, apart.xway_step, share)
