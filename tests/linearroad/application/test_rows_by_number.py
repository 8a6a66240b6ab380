"""The arcs between trips and tolls carry rows by number: what does not belong together is refused, not read."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest

from arterial.linearroad.application.boxes.segment_statistics import SegmentStatistics
from arterial.linearroad.application.boxes.tolls import Tolls
from arterial.linearroad.application.boxes.trips import UNEVEN, Trips
from arterial.linearroad.application.feed import REPORT_SCHEMA
from arterial.network.state import MemoryState
from arterial.network.train import Train


class Road:
    """Trips, statistics and tolls of one shard, with what somebody does to the train between trips and tolls."""

    def __init__(self) -> None:
        self.trips, self.statistics, self.tolls = Trips("trips"), SegmentStatistics("statistics"), Tolls("tolls")
        self.states = {name: MemoryState() for name in ("trips", "statistics", "tolls")}

    def step(self, second: int, vehicles: int, kept: pl.Expr | None = None) -> Mapping[str, Train]:
        reports = pl.DataFrame(
            {name: [0] * vehicles for name in REPORT_SCHEMA.names}
            | {"vid": list(range(vehicles)), "time": [second] * vehicles},
            schema=REPORT_SCHEMA.polars(),
        )
        given = self.trips.process({"in": Train(reports, second)}, self.states["trips"])
        levels = self.statistics.process({"in": given["out"], UNEVEN: given[UNEVEN]}, self.states["statistics"])
        none = pl.DataFrame(schema={"time": pl.Int32, "minute": pl.Int32, "cell": pl.Int32})
        followed = given["out"] if kept is None else Train(given["out"].tuples.filter(kept), second)
        arrived = {"in": followed, "statistics": levels["out"], "accidents": Train(none, second)}
        return self.tolls.process(arrived, self.states["tolls"])


def test_a_report_that_is_missing_between_trips_and_tolls() -> None:
    road = Road()
    assert len(road.step(0, 5)["notices"]) == 5
    road.step(30, 5, pl.col("vid") != 2)
    with pytest.raises(AssertionError, match="not among the 4 quotes of second 30"):
        road.step(60, 5)


def test_trains_of_different_steps() -> None:
    train, other = (Train(REPORT_SCHEMA.empty(), through) for through in (7, 8))
    with pytest.raises(AssertionError, match=r"different spans of time: .*7.*8"):
        Tolls("tolls").process({"in": train, "statistics": train, "accidents": other}, MemoryState())
    with pytest.raises(AssertionError, match="different spans of time"):
        SegmentStatistics("statistics").process({"in": train, UNEVEN: other}, MemoryState())


def test_no_arc_between_them_may_be_cut() -> None:
    for box in (Tolls("tolls"), SegmentStatistics("statistics")):
        assert box.inseparable == frozenset(box.inputs)
