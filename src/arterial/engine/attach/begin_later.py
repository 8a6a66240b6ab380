"""Leaves out what a view gave before a time, where the boxes that compute the view must have seen more than that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class BeginLater(Box):
    """Lets the tuples of `since` and later pass, rows of a relation and their changes alike."""

    since: int

    kind: ClassVar[str] = "begin_later"
    stateless: ClassVar[bool] = True
    passes: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The output is like the input."""
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Without the tuples before the time."""
        train = trains[IN]
        instants = pl.col(self.fed_by[IN].time).to_physical()
        return {OUT: Train(train.tuples.filter(instants >= self.since), train.through)}
