"""Tolls where a trip outlasts a gap (profile `walmart`): one pass does what four boxes do in `spec`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from arterial.linearroad.application.boxes.answers import ALERTS, CHARGES, NOTICES, answer_streams, answer_trains
from arterial.linearroad.application.boxes.columns import arrays, reports_of, require
from arterial.linearroad.application.feed import REPORT_SCHEMA, ROAD_KEY
from arterial.linearroad.application.kernels.walmart import answer_reports
from arterial.linearroad.application.rules import Rules, profile_by
from arterial.network.box import IN, Box, Stream
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class LastingTrips(Box):
    """Notices, alerts and charges where a report follows the vehicle's last one, however long ago that was."""

    profile: str = "walmart"
    rules: Rules = ()

    kind: ClassVar[str] = "linear_road.lasting_trips"
    thinnable_by_group: ClassVar[frozenset[str]] = frozenset({IN})

    @property
    def outputs(self) -> tuple[str, ...]:
        """What vehicles are notified of, and what is charged to them."""
        return (NOTICES, ALERTS, CHARGES)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Position reports grouped by road."""
        require(inputs[IN], REPORT_SCHEMA, ROAD_KEY)
        return answer_streams()

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Part by part, none of which crosses a minute."""
        train = trains[IN]
        reports = reports_of(arrays(train.tuples))
        rules = profile_by(self.profile, self.rules)
        answers = [answer_reports(state, part, rules) for part in reports.parts()]
        return answer_trains(answers, train.through)
