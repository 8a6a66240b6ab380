"""Daily expenditure: what a vehicle paid on an expressway on a day (VLDB 2004, §3.2.3, table 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arterial.linearroad.application.boxes.columns import EXPENDITURE_SCHEMA, arrays, frame
from arterial.linearroad.history.lookup import TollLookup
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class DailyExpenditure(Box):
    """Looks requests up in the toll history; without a history every key is unknown.

    `unknown` is the answer to an unknown key; None means that it gets no answer. Vehicles and expressways that are
    replicas are looked up as what they are replicas of.
    """

    tolls: str | None = None
    unknown: int | None = 0
    vids_apart: int = 0
    xways_apart: int = 0

    kind: ClassVar[str] = "linear_road.daily_expenditure"
    stateless: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = frozenset({IN})

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Requests in, answers out."""
        return {OUT: Stream(EXPENDITURE_SCHEMA, "time", keyed_by=())}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """All requests of the train in one call."""
        train = trains[IN]
        asked = arrays(train.tuples)
        if self.tolls is None:
            balance, known = np.zeros(len(train), np.int64), np.zeros(len(train), np.bool_)
        else:
            balance, known = TollLookup.kept_open(self.tolls).tolls(
                asked["vid"], asked["day"], asked["xway"], vids_apart=self.vids_apart, xways_apart=self.xways_apart
            )
        if self.unknown is not None:
            balance = np.where(known, balance, self.unknown)
        answers = frame(EXPENDITURE_SCHEMA, {"time": asked["time"], "qid": asked["qid"], "balance": balance})
        return {OUT: Train(answers.filter(known) if self.unknown is None else answers, train.through)}
