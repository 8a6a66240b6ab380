"""Data that was run several times over, with vehicles, expressways and query ids of its own each time.

A run with `--replicate K` raises the numbers of replica r by r steps. What is right for the data is right for each
replica, so it is worked out once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from arterial.linearroad.data.replicate import Replication
from arterial.network.keys.hashing import GOLDEN

if TYPE_CHECKING:
    from arterial.linearroad.data.dataset import Data


# The events that the tasks of a bucket judge: half an expressway of three hours.
_EVENTS_A_BUCKET = 6_000_000


@dataclass(frozen=True)
class Replicas:
    """How many there are, how far apart their numbers are, and in how many buckets they are judged.

    A vehicle and its replicas are in one bucket, so what is expected of it travels there once.
    """

    times: int = 1
    vid: int = 1
    qid: int = 1
    xway: int = 1
    buckets: int = 2

    def of(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table of every replica, one after the other."""
        if self.times == 1:
            return table
        names = [name for name in ("vid", "qid", "xway") if name in table.columns]
        return pl.concat(
            table.with_columns(pl.col(name) + replica * getattr(self, name) for name in names)
            for replica in range(self.times)
        )

    def bucket_of(self, key: np.ndarray, by: str) -> np.ndarray:
        """The bucket of each vehicle or query id; neighbours are spread."""
        key = np.asarray(key, np.int64)
        if self.times > 1:
            key = np.mod(key, getattr(self, by))
        mixed = key.view(np.uint64) * np.uint64(GOLDEN) >> np.uint64(32)
        return (mixed % np.uint64(self.buckets)).astype(np.int64)


def replicas_of(data: Data, times: int, *, together: bool = False) -> Replicas:
    """The replicas of a data set; `together` all are judged in one bucket."""
    buckets = 1 if together else max(2 * len(data.xways), math.ceil(data.events * times / _EVENTS_A_BUCKET))
    if times == 1:
        return Replicas(buckets=buckets)
    apart = Replication.of(data, times)
    return Replicas(times, apart.vid_step, apart.qid_step, apart.xway_step, buckets)
