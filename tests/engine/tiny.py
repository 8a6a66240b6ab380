"""Small boxes of the engine's own tests: just enough to see places, shuffles, state and failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import Train

SCHEMA = Schema.of({"time": "int64", "key": "int32", "value": "int64"})


@dataclass(frozen=True)
class Enter(Box):
    """A source."""

    kind = "tiny.enter"
    stateless = True
    schema: Schema = SCHEMA

    @property
    def inputs(self) -> tuple[str, ...]:
        return ()

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: Stream(self.schema, "time")}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        return {OUT: trains["arrivals"]}


@dataclass(frozen=True)
class Leave(Box):
    """An output."""

    kind = "tiny.leave"
    stateless = True

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        return {}


@dataclass(frozen=True)
class Keep(Box):
    """A stateless filter: values that are not a multiple of something."""

    kind = "tiny.keep"
    stateless = True
    passes = True
    not_of: int = 3

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        train = trains[IN]
        return {OUT: Train(train.tuples.filter(pl.col("value") % self.not_of != 0), train.through)}


@dataclass(frozen=True)
class Add(Box):
    """A stateless map: adds to the value; fails on one value."""

    kind = "tiny.add"
    stateless = True
    more: int = 1
    poison: int | None = None

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        train = trains[IN]
        if self.poison is not None and (train.tuples["value"] == self.poison).any():
            raise ValueError(f"{self.poison} is poison")
        return {OUT: Train(train.tuples.with_columns(pl.col("value") + self.more), train.through)}


@dataclass(frozen=True)
class Refuse(Box):
    """Fails on a value of any column."""

    kind = "tiny.refuse"
    stateless = True
    passes = True
    column: str = "value"
    poison: int = 0

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        if (trains[IN].tuples[self.column] == self.poison).any():
            raise ValueError(f"{self.poison} is poison")
        return {OUT: trains[IN]}


@dataclass(frozen=True)
class By(Box):
    """A GroupBy."""

    kind = "tiny.by"
    passes = True
    regroups = True
    key: tuple[str, ...] = ("key",)
    again: bool = False

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: Stream(inputs[IN].schema, "time", keyed_by=self.key)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        train = trains[IN]
        return {OUT: Train(train.tuples.sort("time", "key", "value"), train.through) if self.again else train}


@dataclass(frozen=True)
class Running(Box):
    """A stateful box: the value becomes the running sum within the group, or of the whole stream."""

    kind = "tiny.running"
    by: str = "key"
    poison: int | None = None

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs[IN]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        train = trains[IN]
        sums = {}
        if (kept := state.get("sums")) is not None:
            sums = dict(zip(kept["key"].to_list(), kept["sum"].to_list(), strict=True))
        values = []
        for key, value in zip(train.tuples[self.by].to_list(), train.tuples["value"].to_list(), strict=True):
            if value == self.poison:
                raise ValueError(f"{value} is poison")
            sums[key] = sums.get(key, 0) + value
            values.append(sums[key])
        if values:
            state.put("sums", "", pl.DataFrame({"key": list(sums), "sum": list(sums.values())}))
        return {OUT: Train(train.tuples.with_columns(value=pl.Series(values, dtype=pl.Int64)), train.through)}


@dataclass(frozen=True)
class Both(Box):
    """A stateful box of two inputs: puts them one after the other, and counts."""

    kind = "tiny.both"

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("left", "right")

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        return {OUT: inputs["left"]}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        left, right = trains["left"], trains["right"]
        tuples = pl.concat([left.tuples, right.tuples]).sort("time", maintain_order=True)
        return {OUT: Train(tuples, min(left.through, right.through))}


def chain(*boxes: Box, name: str = "chain") -> NetworkValue:
    """A network of boxes one after the other."""
    arcs = [Arc(Port(one.name, one.outputs[0]), Port(other.name, other.inputs[0])) for one, other in pairwise(boxes)]
    return NetworkValue(name, boxes, tuple(arcs))


def arc(begin: str, end: str) -> Arc:
    """An arc from "box.port" to "box.port"; the ports are `out` and `in` where none is named."""
    one, _, out = begin.partition(".")
    other, _, into = end.partition(".")
    return Arc(Port(one, out or OUT), Port(other, into or IN))


def trains(tuples: pl.DataFrame, seconds: int, end: int = 2**63 - 1) -> list[dict[str, Train]]:
    """The tuples as trains of so many seconds each for the source `in`."""
    latest = int(tuples["time"].max() or 0)
    cut = []
    for begin in range(0, latest + 1, seconds):
        through = begin + seconds - 1
        part = tuples.filter(pl.col("time").is_between(begin, through))
        cut.append({"in": Train(part, through if through < latest else end)})
    return cut


def numbers(count: int, keys: int = 7, per_second: int = 5) -> pl.DataFrame:
    """Some tuples."""
    order = pl.int_range(count, eager=True)
    return pl.DataFrame(
        {
            "time": order // per_second,
            "key": ((order * 7919) % keys).cast(pl.Int32),
            "value": (order * 31) % 101,
        }
    )
