"""Trips: every report meets its predecessor (VLDB 2004, §3.2.1: the report of the same vehicle 30 seconds before)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.linearroad.application.boxes.columns import (
    FOLLOWED_SCHEMA,
    arrays,
    frame,
    reports_of,
    require,
)
from arterial.linearroad.application.feed import REPORT_SCHEMA, ROAD_KEY
from arterial.linearroad.application.kernels.base.reports import part_rows
from arterial.linearroad.application.kernels.trips import follow
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import Train

UNEVEN = "uneven"
UNEVEN_SCHEMA = Schema.of(
    {
        "time": "int32",
        "xway": "int32",
        "dir": "int8",
        "cell": "int32",
        "trips": int,
        "doubled": int,
        "reports": int,
        "speed_sum": int,
    }
)


@dataclass(frozen=True)
class Trips(Box):
    """Adds to each report its predecessor's segment, speed and row, and whether the vehicle is stopped.

    `uneven` has, when a minute is over, the vehicles that had several trips in one segment in it: the segment's
    statistics must not count them more than once.
    """

    kind: ClassVar[str] = "linear_road.trips"
    thinnable_by_group: ClassVar[frozenset[str]] = frozenset({IN})

    @property
    def outputs(self) -> tuple[str, ...]:
        """The followed reports, and the corrections of the minute before."""
        return (OUT, UNEVEN)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Position reports grouped by road."""
        require(inputs[IN], REPORT_SCHEMA, ROAD_KEY)
        return {
            OUT: Stream(FOLLOWED_SCHEMA, "time", keyed_by=ROAD_KEY),
            UNEVEN: Stream(UNEVEN_SCHEMA, "time", keyed_by=ROAD_KEY),
        }

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Part by part, none of which crosses a minute: the end of one needs a look back."""
        train = trains[IN]
        columns = arrays(train.tuples)
        reports = reports_of(columns)
        found, corrections = [], []
        for rows in part_rows(columns["time"]):
            followed = follow(state, reports.rows(rows.start, rows.stop))
            stopped = np.zeros(rows.stop - rows.start, np.bool_)
            stopped[followed.stopped] = True
            found.append(
                {
                    "cell": followed.cell,
                    "place": followed.place,
                    "pred": followed.pred,
                    "prev_seg": followed.prev_seg,
                    "prev_speed": followed.prev_speed,
                    "stopped": stopped,
                }
            )
            if followed.uneven is not None and followed.uneven.cell.size:
                many = followed.uneven.cell.size
                corrections.append(
                    frame(
                        UNEVEN_SCHEMA,
                        {
                            "time": np.full(many, columns["time"][rows.start]),
                            "xway": np.full(many, columns["xway"][rows.start]),
                            "dir": np.full(many, columns["dir"][rows.start]),
                            **{name: getattr(followed.uneven, name) for name in UNEVEN_SCHEMA.names[3:]},
                        },
                    )
                )
        if not found:
            return {
                OUT: Train(FOLLOWED_SCHEMA.empty(), train.through),
                UNEVEN: Train(UNEVEN_SCHEMA.empty(), train.through),
            }
        added = {
            name: np.concatenate([part[name] for part in found]) if len(found) > 1 else found[0][name]
            for name in found[0]
        }
        uneven = pl.concat(corrections) if corrections else UNEVEN_SCHEMA.empty()
        return {
            OUT: Train(frame(FOLLOWED_SCHEMA, {**columns, **added}), train.through),
            UNEVEN: Train(uneven, train.through),
        }
