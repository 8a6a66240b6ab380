"""Map: applies a function to every tuple (Aurora §2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from arterial.boxes.parts.order import require_time, unordered_through
from arterial.errors import NetworkError
from arterial.network.box import ALL_PORTS, IN, OUT, SIGN, Box, Stream
from arterial.network.expression.function import Function, call_on_columns
from arterial.network.expression.parser import parse
from arterial.network.expression.tree import Column, known_column, reads
from arterial.network.expression.vectorised import evaluate
from arterial.network.schema import Field, Schema, Type
from arterial.network.signed import require_rows_only
from arterial.network.state import State
from arterial.network.train import Train


@dataclass(frozen=True)
class Map(Box):
    """Computes columns of every tuple (Aurora §2.1).

    Each name is a new column, or takes the place of one. All expressions see the tuple as it came.

    - The columns by which the stream is grouped must stay as they are.
    - A stream whose time is computed has no order any more; put a `BSort` behind it.
    - A function gets a polars Series for each column that it reads and returns one for each that it produces, one value
      for each tuple. If it raises, the error names the box and the first such tuple.
    - The sign of a signed stream always stays. No column is computed from it or from the time, and the time stays.

    Parameters:
        columns: pairs of a name and an expression, or a function made with `@function`.
        keep: the columns of the input that stay; None: all of them.
        time: the column that is the time from here on (`time_column` when drawn); None: the time stays.

    >>> from arterial.testing import show
    >>> show(lambda s: s.map("metric", kmh="mph * 1.6", keep=["time"]), time=[1, 2], mph=[50, None])
    time   kmh
       1  80.0
       2  null
    """

    columns: tuple[tuple[str, str | Function], ...]
    keep: tuple[str, ...] | None = None
    time: str | None = None

    kind: ClassVar[str] = "map"
    stateless: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = ALL_PORTS

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The kept and the computed columns."""
        stream = inputs[IN]
        for name in self.keep or ():
            known_column(name, stream.schema.names)
        computed = self._computed(stream.schema)
        if stream.signed:
            self._check_signed(stream, computed)
        kept = self._kept(stream)
        types = {name: stream.schema[name] for name in kept} | computed
        schema = Schema(tuple(Field(name, kind) for name, kind in types.items()))
        for name in stream.keyed_by:
            if name not in schema or not self._unchanged(name, stream.schema):
                raise NetworkError(
                    f"the stream is grouped by {name!r}, which must stay as it is; compute it before the GroupBy"
                )
        time = self.time or stream.time
        known_column(time, schema.names, "the tuple that the Map makes")
        require_time(schema, time)
        same_time = self._origin(time, stream.schema) == stream.time
        return {OUT: Stream(schema, time, stream.ordered and same_time, stream.keyed_by, stream.signed)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """All columns at once."""
        train, schema = trains[IN], self.fed_by[IN].schema
        texts = {name: parse(value, schema) for name, value in self.columns if not isinstance(value, Function)}
        values = dict(zip(texts, evaluate(train.tuples, list(texts.values())), strict=True))
        made: list[pl.Series] = []
        for name, value in self.columns:
            if isinstance(value, Function):
                made.extend(s.alias(s.name or name) for s in call_on_columns(value, self.name, train.tuples))
            else:
                made.append(values[name].alias(name))
        tuples = train.tuples.with_columns(made)
        if self.keep is not None:
            keep = self._kept(self.fed_by[IN])
            tuples = tuples.select(*keep, *(name for name in self._computed(schema) if name not in keep))
        stream = self.streams(self.fed_by)[OUT]
        return {OUT: Train(tuples, train.through if stream.ordered else unordered_through(train.through))}

    def reads(self, stream: Stream) -> frozenset[str]:
        """The columns that others are computed from."""
        return frozenset(
            name
            for _, value in self.columns
            for name in (value.reads if isinstance(value, Function) else reads(parse(value, stream.schema)))
        )

    def changes(self, stream: Stream) -> frozenset[str]:
        """The columns of the input that do not go on as they are."""
        kept = self._kept(stream)
        return frozenset(n for n in stream.schema.names if n not in kept or not self._unchanged(n, stream.schema))

    def copies(self, stream: Stream) -> Mapping[str, str]:
        """What is kept and not computed, and columns that are only renamed."""
        computed = self._computed(stream.schema)
        found = {name: name for name in self._kept(stream) if name not in computed}
        for name, value in self.columns:
            tree = None if isinstance(value, Function) else parse(value, stream.schema)
            if isinstance(tree, Column):
                found[name] = tree.name
        return found

    def computes(self, stream: Stream) -> Mapping[str, str]:
        """Its expressions."""
        return {name: value for name, value in self.columns if not isinstance(value, Function)}

    def _kept(self, stream: Stream) -> tuple[str, ...]:
        if self.keep is None:
            return stream.schema.names
        return (*self.keep, SIGN) if stream.signed and SIGN not in self.keep else self.keep

    def _check_signed(self, stream: Stream, computed: Mapping[str, Type]) -> None:
        for name in (SIGN, stream.time):
            if name in computed:
                raise NetworkError(f"{name!r} of a signed stream stays as it is and cannot be computed")
        if self.time not in (None, stream.time):
            raise NetworkError(
                f"the time of a signed stream is that of its changes, {stream.time!r}, and cannot become {self.time!r}"
            )
        for name, value in self.columns:
            read = value.reads if isinstance(value, Function) else reads(parse(value, stream.schema))
            require_rows_only(stream, read, f"the column {name!r}")

    def _computed(self, schema: Schema) -> dict[str, Type]:
        types: dict[str, Type] = {}
        for name, value in self.columns:
            if isinstance(value, Function):
                value.check(schema)
                produced = {field.name or name: field.type for field in value.produces}
            else:
                kind = parse(value, schema).type
                if kind is None:
                    raise NetworkError(f"the column {name!r} = {value!r} has no type; write cast({value} as …)")
                produced = {name: kind}
            for column in produced:
                if column in types:
                    raise NetworkError(f"the column {column!r} is computed twice")
            types |= produced
        return types

    def _unchanged(self, name: str, schema: Schema) -> bool:
        return self._origin(name, schema) == name

    def _origin(self, name: str, schema: Schema) -> str | None:
        """The input column that the output column is a plain copy of."""
        for column, value in self.columns:
            if isinstance(value, Function):
                if name in [field.name or column for field in value.produces]:
                    return None
            elif column == name:
                tree = parse(value, schema)
                return tree.name if isinstance(tree, Column) else None
        return name
