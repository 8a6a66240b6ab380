"""A user's program: it imports only from the public face, has strict types, and runs. See test_public.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

import arterial as art
from arterial.moving import gpac_in
from arterial.sql import Catalog, StreamEntry, compile_sql
from arterial.testing import check_box, check_network


@art.function(reads=["speed"], produces="int64")
def over(speed: pl.Series) -> pl.Series:
    return speed - 100


@dataclass(frozen=True)
class Last(art.Box):
    """The tuple before, of the whole stream."""

    column: str
    kind: ClassVar[str] = "last"

    def streams(self, inputs: Mapping[str, art.Stream]) -> Mapping[str, art.Stream]:
        return {"out": inputs["in"]}

    def process(self, trains: Mapping[str, art.Train], state: art.State) -> Mapping[str, art.Train]:
        train = trains["in"]
        last = state.get("last")
        tuples = pl.concat([last, train.tuples]) if isinstance(last, pl.DataFrame) else train.tuples
        state.put("last", "", tuples.tail(1))
        shifted = tuples.with_columns(pl.col(self.column).shift(1)).tail(len(train))
        return {"out": art.Train(shifted, train.through)}


class Printing(art.Sink):
    def write(self, delivery: art.Delivery) -> None:
        print(delivery.output, delivery.train.tuples.to_dicts())


def alerts(stream: art.StreamHandle) -> art.StreamHandle:
    fast = stream.filter("fast", "speed > 100").map("over", over=over, keep=["time", "vehicle"])
    return fast.output("alerts", qos=art.Delay(good=1, zero=5))


def draw() -> art.Network:
    net = art.Network("speeding")
    reports = net.source("reports", art.Schema.of({"time": int, "vehicle": int, "speed": int}), disorder="2 s")
    alerts(reports)
    reports.box(Last("last", "speed")).output("before")
    limits: art.RelationHandle = net.relation("limits", {"vehicle": int, "limit": int}, key="vehicle", rows=[(1, 90)])
    reports.read_relation("with_limit", limits).output("limited")
    return net


def near_the_bridge() -> art.Network:
    net = art.Network("bridge")
    trucks = net.source("trucks", {"object": int, "time": int, "x": float, "y": float})
    gpac_in(trucks, "inside", region=(0.0, 0.0, 10.0, 10.0)).output("answer")
    return net


def query() -> art.Network:
    schema = art.Schema.of({"object": int, "time": int, "x": float, "y": float})
    catalog = Catalog({"trucks": StreamEntry(schema, "time", "object", "x", "y")})
    return compile_sql("SELECT object FROM trucks GPAC-IN (0, 0, 10, 10)", catalog)


def main(folder: Path) -> None:
    net = draw()
    tuples = [{"time": i, "vehicle": i % 2, "speed": 90 + 5 * i} for i in range(6)]
    check_network(
        net.value, {"reports": tuples}, meanings={"last": lambda box, inputs: {"out": previous(inputs["in"])}}
    )
    stream = art.Stream(art.Schema.of({"time": int, "speed": int}), "time")
    check_box(Last("mine", "speed"), {"in": [{"time": i, "speed": i} for i in range(5)]}, {"in": stream})
    outputs: art.Outputs = art.collect(net, reports=pl.DataFrame(tuples))
    frame: pl.DataFrame = outputs["alerts"]
    assert frame["over"].to_list() == [5, 10, 15]
    run: art.Run = art.run(
        net,
        reports=pl.DataFrame(tuples),
        alerts=folder / "alerts.parquet",
        before=Printing(),
        local=True,
        settings=art.Settings(shards=2),
    )
    assert run.wait(60)
    assert run["alerts"].height == 3
    assert run.outputs["limited"].height == 6
    trucks = [{"object": 1, "time": 1, "x": 5.0, "y": 5.0}, {"object": 1, "time": 3, "x": 50.0, "y": 5.0}]
    for moving in (near_the_bridge(), query()):
        assert art.collect(moving, trucks=trucks)["answer"]["sign"].to_list() == [1, -1]
    try:
        art.collect(net, report=[])
    except art.ArterialError as mistake:
        print(mistake)


def previous(tuples: list[dict[str, object]]) -> list[dict[str, object]]:
    speeds = [None, *(values["speed"] for values in tuples)]
    return [{**values, "speed": speed} for values, speed in zip(tuples, speeds, strict=False)]


if __name__ == "__main__":
    import sys

    main(Path(sys.argv[1]))
