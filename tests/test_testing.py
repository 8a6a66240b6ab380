"""The public helpers: a box of a user's own is checked in three lines, and a wrong one is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from arterial import Network
from arterial.errors import DataError, NetworkError
from arterial.network.box import Box, Stream
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import Train
from arterial.testing import Clock, DisagreementError, check_box, check_network, frame, run

STREAM = Stream(Schema.of({"vehicle": int, "time": int, "pos": int}), "time", keyed_by=("vehicle",))
TUPLES = [{"vehicle": i % 3, "time": i // 2, "pos": i * i} for i in range(40)]


@dataclass(frozen=True)
class Deltas(Box):
    """The difference of a column to the tuple before, of each group."""

    column: str
    forgets: bool = False
    kind: ClassVar[str] = "deltas"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {"out": inputs["in"]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        key = list(self.fed_by["in"].keyed_by)
        last = None if self.forgets else state.get("last")
        new = trains["in"].tuples
        tuples = pl.concat([last, new]) if isinstance(last, pl.DataFrame) else new
        state.put("last", "", tuples.group_by(key, maintain_order=True).last().select(tuples.columns))
        deltas = tuples.with_columns(pl.col(self.column).diff().over(key))
        return {"out": Train(deltas.tail(new.height), trains["in"].through)}


def meaning(box: Deltas, inputs: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    last: dict[int, int] = {}
    made = []
    for values in inputs["in"]:
        before = last.get(values["vehicle"])
        last[values["vehicle"]] = values[box.column]
        made.append(values | {box.column: None if before is None else values[box.column] - before})
    return {"out": made}


def test_a_right_box() -> None:
    check_box(Deltas("d", "pos"), {"in": TUPLES}, {"in": STREAM})
    check_box(Deltas("d", "pos"), {"in": TUPLES}, {"in": STREAM}, meaning=meaning)


def test_a_box_that_forgets_between_trains() -> None:
    with pytest.raises(DisagreementError, match="one train in one shard"):
        check_box(Deltas("d", "pos", forgets=True), {"in": TUPLES}, {"in": STREAM})


@dataclass(frozen=True)
class Numbered(Box):
    """Gives each vehicle a number that depends on what the worker remembers; what leaves is right all the same."""

    kind: ClassVar[str] = "numbered"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {"out": inputs["in"]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        state.memo["trains"] = state.memo.get("trains", 0) + 1
        state.put("numbers", "last", {"number": np.array([state.memo["trains"]])})
        return {"out": trains["in"]}


def test_a_box_whose_state_depends_on_its_memo() -> None:
    with pytest.raises(DisagreementError, match=r"box 'numbered'.* the chunk 'last' of the table 'numbers' in slot"):
        check_box(Numbered("numbered"), {"in": TUPLES}, {"in": STREAM})


@dataclass(frozen=True)
class Late(Box):
    """Uses what it remembers of an earlier train as if it were of the last one."""

    kind: ClassVar[str] = "late"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {"out": inputs["in"]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        known = state.get("count")
        count = 0 if known is None else int(known["count"][0])
        count = state.memo.get("count", state.earlier_memo.get("count", count)) + len(trains["in"])
        state.memo["count"] = count
        state.put("count", "", {"count": np.array([count])})
        return {"out": trains["in"]}


def test_a_box_that_takes_an_earlier_memo_for_the_last() -> None:
    with pytest.raises(DisagreementError, match=r"box 'late'.* the chunk '' of the table 'count' in slot"):
        check_box(Late("late"), {"in": TUPLES}, {"in": STREAM})


def test_the_clock() -> None:
    clock = Clock(10)
    clock.advance(2.5)
    assert clock() == 12.5


def test_misspelt_sources_columns_and_inputs_are_errors() -> None:
    net = Network("n")
    net.source("reports", {"time": int, "speed": int}).output("out")
    good = [{"time": 1, "speed": 2}]
    for call in (run, check_network):
        with pytest.raises(NetworkError, match="no source 'report'; it has: reports; did you mean 'reports'"):
            call(net, {"report": good})
        with pytest.raises(DataError, match=r"source 'reports': tuple 1 has an unknown column 'sped'.*mean 'speed'"):
            call(net, {"reports": [*good, {"time": 2, "sped": 2}]})
        with pytest.raises(DataError, match=r"source 'reports': .*expected .time int64, speed int64"):
            call(net, {"reports": [{"time": 1, "speed": "fast"}]})
    assert run(net, {"reports": [{"time": 1}]})["out"] == [{"time": 1, "speed": None}]
    with pytest.raises(DataError, match="unknown column 'place'"):
        frame([{"place": 1}], STREAM.schema)
    for inputs, streams in (({"inn": TUPLES}, {"in": STREAM}), ({"in": TUPLES}, {"in": STREAM, "other": STREAM})):
        with pytest.raises(
            NetworkError, match=r"box 'd': expected (tuples|streams) for its inputs in; got them for in"
        ):
            check_box(Deltas("d", "pos"), inputs, streams)
