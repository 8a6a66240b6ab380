"""Union: merges streams of one schema into one (Aurora §2.1, thesis ch. 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.parts.order import Held, instants, require_alike, require_order
from arterial.boxes.parts.signed import with_sign
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, OUT, SIGN, Box, Stream
from arterial.network.schema import Schema
from arterial.network.signed import lifted
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Union(Box):
    """Merges streams of one schema into one (Aurora §2.1, thesis ch. 5).

    All tuples of its inputs leave in the order of (time, input, position). The inputs have the same columns, the same
    time, and are grouped alike. It waits until all inputs are complete, and holds back what is ahead. If one input is a
    signed stream, so is the output, and every tuple of an input without signs is a row that comes and stays.

    Parameters:
        count: the number of inputs, which are named `in0`, `in1`, ….

    >>> from arterial.testing import show
    >>> ends = lambda s: s.filter("high", "x > 5").union("both", s.filter("low", "x < 5"))
    >>> show(ends, time=[1, 2, 2], x=[4, 5, 9])
    time  x
       1  4
       2  9
    """

    count: int = 2

    kind: ClassVar[str] = "union"
    splits_by_group: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True
    independent: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    @property
    def inputs(self) -> tuple[str, ...]:
        """in0, in1, …"""
        return tuple(f"in{i}" for i in range(self.count))

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """All inputs are alike, and so is the output."""
        if self.count < 1:
            raise NetworkError(f"expected at least one input, got {self.count}")
        for port, stream in inputs.items():
            require_order(stream, f"input {port!r}")
        inputs = self._alike(inputs)
        first = inputs["in0"]
        for port, stream in inputs.items():
            if stream.schema != first.schema:
                raise NetworkError(f"expected {first.schema} as on 'in0', got {stream.schema} on {port!r}")
            if stream.time != first.time:
                raise NetworkError(f"expected the time {first.time!r} as on 'in0', got {stream.time!r} on {port!r}")
        require_alike(dict(inputs), "a Union")
        return {OUT: first}

    def carries(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """Every column, from every input."""
        return {name: tuple((port, name) for port in self.inputs) for name in self.fed_by["in0"].schema.names}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """What all inputs have completed."""
        through = min(train.through for train in trains.values())
        time = self.fed_by["in0"].time
        parts = [Held(state, port, time).next(trains[port], through) for port in self.inputs]
        stream = self._alike(self.fed_by)["in0"]
        if stream.signed:
            parts = [with_sign(part, self.fed_by[port]) for port, part in zip(self.inputs, parts, strict=True)]
            parts = [part.select(stream.schema.names) for part in parts]
        full = [part for part in parts if part.height]
        if len(full) < 2:
            return {OUT: Train(full[0] if full else parts[0], through)}
        tuples = pl.concat(full)
        return {OUT: Train(tuples[np.argsort(instants(tuples, time), kind="stable")], through)}

    def _alike(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The inputs, all with signs if one has them, and the sign where the first signed one has it."""
        signed = next((stream for stream in inputs.values() if stream.signed), None)
        if signed is None:
            return inputs
        made = {port: lifted(stream) for port, stream in inputs.items()}
        order = {name: i for i, name in enumerate(signed.schema.names)}
        for port, stream in inputs.items():
            if not stream.signed and set(made[port].schema.names) == set(order):
                fields = sorted(made[port].schema, key=lambda field: order[field.name])
                if [f.name for f in fields if f.name != SIGN] == list(stream.schema.names):
                    made[port] = replace(made[port], schema=Schema(tuple(fields)))
        return made
