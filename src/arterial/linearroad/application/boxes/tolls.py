"""Tolls: toll notifications, accident alerts and assessments (VLDB 2004, §3.2.1 and §3.2.2, tables 1, 2 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arterial.arrays import Array
from arterial.linearroad.application.boxes.accidents import ACCIDENT_SCHEMA
from arterial.linearroad.application.boxes.answers import ALERTS, CHARGES, NOTICES, answer_streams, answer_trains
from arterial.linearroad.application.boxes.columns import (
    CELLS_OF_XWAY,
    FOLLOWED_SCHEMA,
    arrays,
    followed_of,
    meet,
    require,
)
from arterial.linearroad.application.boxes.segment_statistics import LEVEL_SCHEMA
from arterial.linearroad.application.feed import ROAD_KEY
from arterial.linearroad.application.kernels.accidents import Accidents
from arterial.linearroad.application.kernels.base import chunks
from arterial.linearroad.application.kernels.base.reports import part_rows
from arterial.linearroad.application.kernels.statistics import NO_LAV, Levels
from arterial.linearroad.application.kernels.tolls import toll
from arterial.linearroad.application.rules import Rules, profile_by
from arterial.network.box import IN, Box, Stream
from arterial.network.state import State
from arterial.network.train import Train

STATISTICS, ACCIDENTS = "statistics", "accidents"


@dataclass(frozen=True)
class Tolls(Box):
    """Notifies vehicles that enter a segment of its toll and accidents ahead; charges them for the one they left."""

    profile: str = "spec"
    rules: Rules = ()

    kind: ClassVar[str] = "linear_road.tolls"
    inseparable: ClassVar[frozenset[str]] = frozenset({IN, STATISTICS, ACCIDENTS})
    """Reports name their predecessors by row among all of a second, and cells by numbers of their shard."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Followed reports, the statistics of each minute, the accidents."""
        return (IN, STATISTICS, ACCIDENTS)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What vehicles are notified of, and what is charged to them."""
        return (NOTICES, ALERTS, CHARGES)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """What the boxes before it give."""
        require(inputs[IN], FOLLOWED_SCHEMA, ROAD_KEY)
        require(inputs[STATISTICS], LEVEL_SCHEMA, ROAD_KEY)
        require(inputs[ACCIDENTS], ACCIDENT_SCHEMA, ROAD_KEY)
        return answer_streams()

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Part by part: a minute's tolls depend on earlier minutes only."""
        meet(trains)
        train = trains[IN]
        columns, levels, accidents = (arrays(trains[port].tuples) for port in (IN, STATISTICS, ACCIDENTS))
        opened = chunks.read(state, "opened")
        before = 0 if opened is None else chunks.stamp_of(opened)
        rules = profile_by(self.profile, self.rules)
        answers = []
        for rows in part_rows(columns["time"]):
            followed = followed_of(columns, rows)
            minute = followed.minute
            now = (accidents["time"] >= columns["time"][rows.start]) & (
                accidents["time"] <= columns["time"][rows.stop - 1]
            )
            told = Accidents(accidents["minute"][now], accidents["cell"][now])
            new = _levels(levels, minute, followed.cells) if minute != before else None
            answers.append(toll(state, followed, new, told, rules))
            before = minute
        if answers:
            chunks.write(state, "opened", "", before, {})
        return answer_trains(answers, train.through)


def _levels(levels: Mapping[str, Array], minute: int, cells: int) -> Levels:
    """The statistics of a minute by cell; where there are none, no vehicle reported."""
    rows = levels["minute"] == minute
    cell = levels["cell"][rows]
    cells = max(cells, int(cell.max()) // CELLS_OF_XWAY * CELLS_OF_XWAY + CELLS_OF_XWAY if cell.size else 0)
    lav, cars = np.full(cells, NO_LAV, np.int16), np.zeros(cells, np.int32)
    lav[cell], cars[cell] = levels["lav"][rows], levels["cars"][rows]
    return Levels(minute, lav, cars)
