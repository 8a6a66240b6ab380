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
    """Takes away the changes of each instant that cancel (GPAC §5).

    Of a signed stream, a row that goes and comes at one instant is not reported. A `Map` that leaves columns out makes
    such pairs: where only the speed of a vehicle changed, its kind goes and comes again. Of a stream without signs
    every row comes, and none goes. Changes of one instant are in the order of sign, what goes first, then of values.

    Parameters:
        none.

    >>> from arterial.testing import show
    >>> kinds = lambda s: s.latest("now", "car").map("kinds", keep=["time", "kind"])
    >>> show(lambda s: kinds(s).net("net"), time=[1, 2, 3], car=[7, 7, 7], kind=["van", "van", "bus"], x=[4, 9, 9])
    time  kind  sign
       1   van     1
       3   van    -1
       3   bus     1
    """

    kind: ClassVar[str] = "net"
    takes_signed: ClassVar[bool] = True
    compares_equals: ClassVar[bool] = True

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
