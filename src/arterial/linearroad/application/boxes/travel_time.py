"""Travel time: how long a journey takes and what it costs, by the last ten weeks (VLDB 2004, §3.2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arterial.linearroad.application.boxes.columns import TRAVEL_SCHEMA, arrays, frame
from arterial.linearroad.application.rules import Rules, profile_by
from arterial.linearroad.history.lookup import SegmentLookup
from arterial.linearroad.history.travel_time import JourneyRules
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.state import State
from arterial.network.train import Train

UNKNOWN = -1


@dataclass(frozen=True)
class TravelTime(Box):
    """Walks through the segment history; without a history every journey is unknown (-1, -1)."""

    segments: str | None = None
    xways_apart: int = 0
    profile: str = "spec"
    rules: Rules = ()

    kind: ClassVar[str] = "linear_road.travel_time"
    stateless: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = frozenset({IN})

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Requests in, answers out."""
        return {OUT: Stream(TRAVEL_SCHEMA, "time", keyed_by=())}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """All requests of the train in one call."""
        train = trains[IN]
        asked = arrays(train.tuples)
        rules = JourneyRules.of(profile_by(self.profile, self.rules))
        if self.segments is None:
            # Without a history only a journey through no segment is known.
            here = (asked["sinit"] == asked["send"]) & (not rules.includes_end)
            seconds = toll = np.where(here, 0, UNKNOWN)
        else:
            xway = asked["xway"] % self.xways_apart if self.xways_apart else asked["xway"]
            seconds, toll = SegmentLookup.kept_open(self.segments).travel_times(
                xway,
                asked["sinit"],
                asked["send"],
                asked["dow"],
                asked["tod"],
                rules=rules,
            )
        columns = {"time": asked["time"], "qid": asked["qid"], "travel_time": seconds, "toll": toll}
        return {OUT: Train(frame(TRAVEL_SCHEMA, columns), train.through)}
