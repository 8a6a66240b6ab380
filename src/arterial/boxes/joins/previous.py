"""Previous: adds to each tuple what the tuple before it in its group was (Aurora §2.1, windows of tuples)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.parts import kernels
from arterial.boxes.parts.order import instants, require_order
from arterial.boxes.parts.table import KeyedTable
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.parser import parse
from arterial.network.expression.tree import Tree, reads
from arterial.network.expression.vectorised import evaluate
from arterial.network.schema import Field, Schema
from arterial.network.state import State
from arterial.network.train import BEGIN, Train

_TIME, _ALIVE = "@time", "@alive"


@dataclass(frozen=True)
class Previous(Box):
    """Adds to each tuple what the tuple before it in its group was (Aurora §2.1; `lag` in SQL).

    - Where there is no tuple before, or only one that is longer ago than `within`, the values are null.
    - State is one row for each group; with `within`, of the groups that had a tuple in that time.

    Parameters:
        values: pairs of the name of a new column and an expression, computed from the tuple before.
        within: how long ago the tuple before may be; None: any time.

    >>> from arterial.testing import show
    >>> steps = lambda s: s.group_by("car").previous("before", was="seg", within="30 s")
    >>> show(steps, time=[0, 30, 90], car=[7, 7, 7], seg=[4, 5, 6])
    time  car  seg   was
       0    7    4  null
      30    7    5     4
      90    7    6  null
    """

    values: tuple[tuple[str, str], ...]
    within: Duration | None = None

    kind: ClassVar[str] = "previous"
    splits_by_group: ClassVar[bool] = True
    instead: ClassVar[str] = "put it before the box that makes the signs"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The input and the values of the tuple before."""
        stream = inputs[IN]
        require_order(stream)
        self._within(stream)
        if not self.values:
            raise NetworkError("expected values of the tuple before, such as was='seg', got none")
        return {OUT: Stream(with_values(stream.schema, self._trees(stream)), stream.time, True, stream.keyed_by)}

    def reads(self, stream: Stream) -> frozenset[str]:
        """What the values are computed from, and the group."""
        return frozenset(name for tree in self._trees(stream).values() for name in reads(tree)) | set(stream.keyed_by)

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Each tuple beside the one before."""
        stream, train = self.fed_by[IN], trains[IN]
        keys, tuples, within = stream.keyed_by, train.tuples, self._within(stream)
        trees = self._trees(stream)
        values = {name: tree.type.polars for name, tree in trees.items() if tree.type is not None}
        schema = {key: stream.schema[key].polars for key in keys} | {_TIME: pl.Int64(), **values, _ALIVE: pl.Int8()}
        table = KeyedTable(state, "last", schema, keys, _ALIVE)
        over = None
        if within is not None and train.through > BEGIN + within:
            over = pl.col(_TIME) <= train.through - within
        if not tuples.height:
            table.change(pl.DataFrame(schema=schema), over)
            return {
                OUT: Train(
                    tuples.with_columns(pl.lit(None, kind).alias(name) for name, kind in values.items()), train.through
                )
            }
        times = instants(tuples, stream.time)
        groups = table.groups(tuples, None if within is None else pl.col(_TIME) < int(times[0]) - within)
        known = groups.known
        computed = evaluate(tuples, list(trees.values()))
        new = pl.DataFrame(
            [
                *(tuples[key] for key in keys),
                pl.Series(_TIME, times),
                *(column.alias(name) for name, column in zip(trees, computed, strict=True)),
                pl.repeat(1, tuples.height, dtype=pl.Int8, eager=True).alias(_ALIVE),
            ]
        )
        rows = pl.concat([known, new])
        before, last = kernels.rows_before(groups.everyone, groups.count, known.height)
        missing = before < 0
        if within is not None:
            missing |= times - rows[_TIME].to_numpy()[before] > within
        places = pl.Series(before, dtype=pl.Int64).set(pl.Series(missing), None)
        made = tuples.with_columns(rows[name].gather(places) for name in trees)
        # In the order of the train: which rows are known that are over depends on what is remembered.
        order = np.argsort(last)
        table.change(rows[last[order]], over, groups.slots[order])
        return {OUT: Train(made, train.through)}

    def _trees(self, stream: Stream) -> dict[str, Tree]:
        return {name: parse(text, stream.schema) for name, text in self.values}

    def _within(self, stream: Stream) -> int | None:
        return None if self.within is None else units(self.within, stream.schema[stream.time], "within", least=0)


def with_values(schema: Schema, trees: Mapping[str, Tree]) -> Schema:
    """The columns of the tuple, and behind them those of some expressions over it."""
    fields = list(schema)
    for name, tree in trees.items():
        if name in [field.name for field in fields]:
            raise NetworkError(f"the tuple has a column {name!r} already; choose another name")
        if tree.type is None:
            raise NetworkError(f"the column {name!r} has no type; write cast(… as …)")
        fields.append(Field(name, tree.type))
    return Schema(tuple(fields))
