"""A train: some tuples of a stream, as columns, and the span of time that they complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

BEGIN = -(2**63)
"""A `through` that promises nothing yet."""

END = 2**63 - 1
"""A `through` that promises that no tuple will ever follow."""


FURTHEST = 2**62
"""No time of an ordered stream is further from zero than this, so that the ends of windows fit into 64 bits."""


@dataclass(frozen=True)
class Train:
    """The next tuples of a stream.

    On an ordered stream the tuples are in the order of their time, none is later than `through`, and every tuple of the
    stream up to and including `through` is in this train or in an earlier one. Time is counted in the unit of the
    stream's time column: seconds where it is an integer, microseconds where it is a timestamp.

    On a stream without order `through` is `BEGIN` until the stream ends, then `END`.
    """

    tuples: pl.DataFrame
    through: int
    late: pl.DataFrame | None = None
    """Of a train that a source reads in order: the tuples that came too late for it, as they came."""

    def __len__(self) -> int:
        return self.tuples.height


def coupled(trains: Sequence[Train]) -> Train:
    """Trains that follow each other on a stream, at least one, as one train; their tuples stay where they are."""
    if len(trains) == 1:
        return trains[0]
    filled = [train.tuples for train in trains if len(train)] or [trains[0].tuples]
    late = [train.late for train in trains if train.late is not None]
    return Train(pl.concat(filled, rechunk=False), trains[-1].through, pl.concat(late) if late else None)
