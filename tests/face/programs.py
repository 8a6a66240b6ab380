"""Small programs as users write them: they import nothing but the public face."""

from __future__ import annotations

NETWORK = """
from __future__ import annotations

import arterial as art

net = art.Network("speeding")
reports = net.source("reports", {"time": int, "vehicle": int, "speed": int})


@art.function(reads=["speed"], produces="int64")
def too_much(speed):
    return speed - LIMIT


LIMIT = 100


def above(limit):
    return art.function(reads=["speed"], produces="bool")(lambda speed: speed > limit)


reports.filter("fast", above(LIMIT)).map("over", over=too_much, keep=["time", "vehicle"]).output("alerts")
"""
"""A network with a function of its own, one that refers to a global, and a closure."""

BOX = '''
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl


@dataclass(frozen=True)
class Twice(art.Box):
    """Gives every tuple twice."""

    kind: ClassVar[str] = "twice"
    stateless: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, art.Stream]) -> Mapping[str, art.Stream]:
        return {"out": inputs["in"]}

    def process(self, trains: Mapping[str, art.Train], state: art.State) -> Mapping[str, art.Train]:
        train = trains["in"]
        return {"out": art.Train(pl.concat([train.tuples, train.tuples]).sort("time"), train.through)}


class Counting(art.Source):
    """So many tuples, one a second."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def begin(self) -> art.Progress:
        return art.Progress({"second": 0})

    def plan(self, before: art.Progress, ask: art.Ask) -> art.Progress:
        return art.Progress({"second": self.seconds}, art.END)

    def read(self, before: art.Progress, after: art.Progress, part: art.Part) -> pl.DataFrame:
        seconds = range(before.position["second"], after.position["second"])
        mine = [second for second in seconds if part.index == second * part.count // self.seconds]
        return pl.DataFrame(
            {"time": mine, "vehicle": [1] * len(mine), "speed": [90 + second for second in mine]},
            schema={"time": pl.Int64, "vehicle": pl.Int64, "speed": pl.Int64},
        )


class Printing(art.Sink):
    """Prints what arrives, on the driver."""

    to_driver: ClassVar[bool] = True

    def write(self, delivery: art.Delivery) -> None:
        for values in delivery.train.tuples.to_dicts():
            print(values)


twice = reports.box(Twice("twice")).filter("few", "speed > 110")
twice.output("pairs")
'''
"""A box, a source and a sink of a user's own; it follows NETWORK."""
