"""Segment statistics: vehicles and latest average velocity of every segment (VLDB 2004, §3.2.1, table 2)."""

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
    meet,
    require,
)
from arterial.linearroad.application.boxes.trips import UNEVEN, UNEVEN_SCHEMA
from arterial.linearroad.application.feed import ROAD_KEY
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.reports import part_rows
from arterial.linearroad.application.kernels.statistics import NO_LAV, Levels, gather
from arterial.linearroad.application.kernels.uneven import Uneven
from arterial.linearroad.semantics.city import MINUTE_SECONDS, SEGMENTS, minute_of
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import Train

LEVEL_SCHEMA = Schema.of(
    {
        "time": "int32",
        "xway": "int32",
        "dir": "int8",
        "seg": "int16",
        "minute": "int32",
        "cell": "int32",
        "lav": "int16",
        "cars": "int32",
    }
)


@dataclass(frozen=True)
class SegmentStatistics(Box):
    """At the beginning of each minute: LAV over the five minutes before, and the cars of the last, by segment.

    Segments without a report in those minutes are left out.
    """

    kind: ClassVar[str] = "linear_road.segment_statistics"
    inseparable: ClassVar[frozenset[str]] = frozenset({IN, UNEVEN})
    """The corrections are of exactly the reports that were counted, and cells are numbers of their shard."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Followed reports, and the corrections of the minute before."""
        return (IN, UNEVEN)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """What `Trips` gives."""
        require(inputs[IN], FOLLOWED_SCHEMA, ROAD_KEY)
        require(inputs[UNEVEN], UNEVEN_SCHEMA, ROAD_KEY)
        return {OUT: Stream(LEVEL_SCHEMA, "time", keyed_by=ROAD_KEY)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Part by part; the first of a minute emits the statistics that are valid in it."""
        meet(trains)
        train, uneven = trains[IN], arrays(trains[UNEVEN].tuples)
        columns = arrays(train.tuples)
        xways = _known_xways(state, columns["cell"], columns["xway"])
        told = []
        for rows in part_rows(columns["time"]):
            minute = minute_of(int(columns["time"][rows.start]))
            followed = followed_of(columns, rows, _corrections(uneven, minute))
            levels = gather(state, followed)
            if levels is not None:
                told.append(_frame(levels, int(columns["time"][rows.start]), xways))
        return {OUT: Train(pl.concat(told) if told else LEVEL_SCHEMA.empty(), train.through)}


def _frame(levels: Levels, time: int, xways: Array) -> pl.DataFrame:
    cell = np.flatnonzero(levels.lav != NO_LAV).astype(np.int32)
    return frame(
        LEVEL_SCHEMA,
        {
            "time": np.full(cell.size, time),
            "xway": xways[cell // CELLS_OF_XWAY],
            "dir": cell // SEGMENTS % 2,
            "seg": cell % SEGMENTS,
            "minute": np.full(cell.size, levels.minute),
            "cell": cell,
            "lav": levels.lav[cell],
            "cars": levels.cars[cell],
        },
    )


def _corrections(uneven: Mapping[str, Array], minute: int) -> Uneven:
    """The corrections that came with the first reports of a minute."""
    rows = uneven["time"] // MINUTE_SECONDS + 1 == minute
    return Uneven(*(uneven[name][rows] for name in UNEVEN_SCHEMA.names[3:]))


def _known_xways(state: State, cell: Array, xway: Array) -> Array:
    """The shard's expressways in the order of their numbers."""
    chunk = chunks.read(state, "xways")
    known: Array = np.empty(0, np.int32) if chunk is None else chunk["xway"]
    many = int(cell.max()) // CELLS_OF_XWAY + 1 if cell.size else 0
    if many <= known.size:
        return known
    more = np.zeros(many, np.int32)
    more[: known.size] = known
    more[cell // CELLS_OF_XWAY] = xway
    state.put("xways", "", {"xway": more})
    return more
