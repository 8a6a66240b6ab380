"""Net: of the changes of each instant only what is left when those that cancel are taken away (GPAC §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.parts.order import require_order
from arterial.boxes.parts.signed import with_sign
from arterial.network.box import IN, OUT, SIGN, Box, Stream
from arterial.network.signed import lifted, row_columns
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Net(Box):
    """A signed stream in which a row that goes and comes at one instant is not told.

    A Map that leaves columns out makes such pairs. Of a stream without signs every row comes, and none goes. Changes of
    one instant are in the order of sign, then of values.
    """

    kind: ClassVar[str] = "net"
    takes_signed: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The same stream, with a sign."""
        require_order(inputs[IN])
        return {OUT: lifted(inputs[IN])}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The sum of the signs of each row at each instant."""
        train, stream = trains[IN], lifted(self.fed_by[IN])
        tuples = with_sign(train.tuples, self.fed_by[IN])
        if not len(train):
            return {OUT: Train(tuples, train.through)}
        columns = row_columns(stream)
        sums = tuples.group_by(stream.time, *columns).agg(pl.col(SIGN).cast(pl.Int64).sum())
        sums = sums.filter(pl.col(SIGN) != 0)
        copies = sums[SIGN].abs().to_numpy()
        if (copies > 1).any():
            sums = sums[np.repeat(np.arange(sums.height), copies)]
        made = sums.with_columns(pl.col(SIGN).sign().cast(pl.Int8)).sort(stream.time, SIGN, *columns, nulls_last=False)
        return {OUT: Train(made.select(stream.schema.names), train.through)}
