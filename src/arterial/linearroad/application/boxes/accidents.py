"""Accidents: two or more vehicles stopped in one place of a travel lane (VLDB 2004, §3.2.2, table 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.linearroad.application.boxes.columns import (
    CELLS_OF_XWAY,
    FOLLOWED_SCHEMA,
    arrays,
    followed_of,
    frame,
    require,
)
from arterial.linearroad.application.feed import ROAD_KEY
from arterial.linearroad.application.kernels.accidents import Accidents as Found
from arterial.linearroad.application.kernels.accidents import find_accidents
from arterial.linearroad.semantics.city import SEGMENTS
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import Train

ACCIDENT_SCHEMA = Schema.of(
    {"time": "int32", "xway": "int32", "dir": "int8", "seg": "int16", "minute": "int32", "cell": "int32"}
)


@dataclass(frozen=True)
class Accidents(Box):
    """From the reports of stopped vehicles to the minutes and segments that have an accident.

    A tuple says that there is an accident in a segment in `minute`, which may be the one after the report's: a stop
    lasts for 30 seconds. The same minute and segment may be reported more than once.
    """

    kind: ClassVar[str] = "linear_road.accidents"
    inseparable: ClassVar[frozenset[str]] = frozenset({IN})
    """A stop is four reports of a vehicle, none of which may be missing, and cells are numbers of their shard."""

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Followed reports of stopped vehicles."""
        require(inputs[IN], FOLLOWED_SCHEMA, ROAD_KEY)
        return {OUT: Stream(ACCIDENT_SCHEMA, "time", keyed_by=ROAD_KEY)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Second by second, so that a tuple has the time of the report that revealed it."""
        train = trains[IN]
        columns = arrays(train.tuples)
        told = []
        for time in np.unique(columns["time"]).tolist():
            first, last = np.searchsorted(columns["time"], [time, time + 1]).tolist()
            found = find_accidents(state, followed_of(columns, slice(first, last)))
            if found.cell.size:
                told.append(_frame(found, time, columns))
        return {OUT: Train(pl.concat(told) if told else ACCIDENT_SCHEMA.empty(), train.through)}


def _frame(found: Found, time: int, columns: Mapping[str, Array]) -> pl.DataFrame:
    # An accident lies on an expressway of one of the reports at hand: its number is among theirs.
    numbers, rows = np.unique(columns["cell"] // CELLS_OF_XWAY, return_index=True)
    xway = columns["xway"][rows[np.searchsorted(numbers, found.cell // CELLS_OF_XWAY)]]
    return frame(
        ACCIDENT_SCHEMA,
        {
            "time": np.full(found.cell.size, time),
            "xway": xway,
            "dir": found.cell // SEGMENTS % 2,
            "seg": found.cell % SEGMENTS,
            "minute": found.minute,
            "cell": found.cell,
        },
    )
