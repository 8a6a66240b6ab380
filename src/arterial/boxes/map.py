"""Map: applies a function to every tuple (Aurora §2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from arterial.boxes.parts.order import require_time, unordered_through
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, SIGN, Box, Stream
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
    """Adds computed columns, or puts them in the place of columns of the same name.

    All expressions see the tuple as it came. `keep` names the columns of the input that stay (all, if None). `time`
    makes another column the time of the stream; a stream whose time was computed has no order any more (see BSort).
    The sign of a signed stream always stays; no column is computed from it or from the time.
    """

    columns: tuple[tuple[str, str | Function], ...]
    keep: tuple[str, ...] | None = None
    time: str | None = None

    kind: ClassVar[str] = "map"
    stateless: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True

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

    def changes(self, stream: Stream) -> frozenset[str]:
        """The columns of the input that do not go on as they are."""
        kept = self._kept(stream)
        return frozenset(n for n in stream.schema.names if n not in kept or not self._unchanged(n, stream.schema))

    def _kept(self, stream: Stream) -> tuple[str, ...]:
        if self.keep is None:
            return stream.schema.names
        return (*self.keep, SIGN) if stream.signed and SIGN not in self.keep else self.keep

    def _check_signed(self, stream: Stream, computed: Mapping[str, Type]) -> None:
        for name in (SIGN, stream.time):
            if name in computed:
                raise NetworkError(f"{name!r} of a signed stream goes along by itself and cannot be computed anew")
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
