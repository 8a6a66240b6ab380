"""Follow: follows a way through a relation for each tuple, row by row (thesis §5.2; VLDB 2004 §3.2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.joins.previous import with_values
from arterial.boxes.parts.index import RowIndex
from arterial.boxes.parts.order import Held, instants, require_alike, require_order
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.windows.cut import check_count
from arterial.boxes.relations.read_relation import CHANGES, require_changes, row_versions, start_rows
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.expression.parser import parse, predicate
from arterial.network.expression.tree import Tree, known_column, reads
from arterial.network.expression.vectorised import evaluate, truth
from arterial.network.relation import Relation
from arterial.network.schema import Schema
from arterial.network.state import State
from arterial.network.train import Train

_ROW = "@row"


@dataclass(frozen=True)
class Follow(Box):
    """Follows a way through a relation for each tuple, row by row (thesis §5.2; a recursive query in SQL).

    Columns begin with values that are computed from the tuple. Then, until a predicate over both is true, the row of
    their key is looked up, and new values are computed from the tuple, the columns and the row. The tuple leaves with
    the columns as they are at the end: the length of a journey by legs, the price of a part by its parts, the head of
    an office by its members.

    - Where there is no row its values are null.
    - A tuple at time t sees every change of the relation with time ≤ t, as in `ReadRelation`.
    - If the relation is updated or loaded, the stream is grouped by some columns of its key, or not at all: a way stays
      within its group, whose rows are in one place. A relation of constants can be followed by any stream.

    Parameters:
        relation: the relation. Each column of its key is one of the tuple or one that is followed.
        begin: pairs of the name of a new column and an expression over the tuple.
        each: for each of these columns an expression over the tuple, the columns and the row, as they were before.
        until: a predicate over the tuple and the columns.
        most: a way ends as it is after so many rows.
        updated: whether a box of the network updates the relation; its changes then come by the input `changes`.

    >>> from arterial.testing import show
    >>> roads = lambda s: s.network.relation("roads", {"at": int, "to": int, "km": int}, "at", [(1, 5, 10), (5, 3, 7)])
    >>> start, leg = {"at": "home", "far": "0"}, {"at": '"to"', "far": "far + km"}
    >>> show(lambda s: s.follow("way", roads(s), start, leg, "at = 3"), time=[1, 2], home=[1, 3])
    time  home  at  far
       1     1   3   17
       2     3   3    0
    """

    relation: Relation
    begin: tuple[tuple[str, str], ...]
    each: tuple[tuple[str, str], ...]
    until: str
    most: int = 1000
    updated: bool = True

    kind: ClassVar[str] = "follow"
    splits_by_group: ClassVar[bool] = True
    instead: ClassVar[str] = "put it before the box that makes the signs"
    thinnable: ClassVar[frozenset[str]] = frozenset({IN})

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tuples, and the changes of the relation."""
        return (IN, CHANGES) if self.updated else (IN,)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The input and the columns that are followed."""
        stream, relation = inputs[IN], self.relation
        check_count(self.most, "most")
        schema = self._columns(stream)
        for name in relation.key:
            kind = schema[known_column(name, schema.names, "the tuple and what is followed")]
            if kind is not relation.schema[name]:
                raise NetworkError(
                    f"the key {name!r} of the relation {relation.name!r} is {relation.schema[name]}, got {kind}; "
                    "write cast(… as …)"
                )
        self._each(stream)
        predicate(self.until, schema)
        if self.updated:
            require_order(stream)
            require_changes(inputs[CHANGES], relation)
            require_alike({IN: stream, CHANGES: inputs[CHANGES]}, "a Follow")
            for name in stream.keyed_by:
                known_column(name, relation.key, f"the key of the relation {relation.name!r}")
                if name not in stream.schema or name in dict(self.begin):
                    raise NetworkError(f"a way stays in its group, so {name!r} cannot be followed")
        return {OUT: Stream(schema, stream.time, stream.ordered, stream.keyed_by)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Each tuple at the end of its way."""
        relation, stream = self.relation, self.fed_by[IN]
        begin = start_rows(relation, state)
        if not self.updated:
            index = state.memo.get("index")
            if not isinstance(index, RowIndex):
                index = state.memo["index"] = RowIndex(relation.key, begin)
            return {OUT: Train(self._follow(trains[IN].tuples, index), trains[IN].through)}
        through = min(train.through for train in trains.values())
        tuples = Held(state, "in.ahead", stream.time).next(trains[IN], through)
        time = self.fed_by[CHANGES].time
        changes = Held(state, "changes.ahead", time).next(trains[CHANGES], through)
        table = KeyedTable(state, "rows", begin.schema, relation.key, "@alive", begin)
        made, done = [], 0
        since, times = instants(changes, time), instants(tuples, stream.time)
        for instant in np.unique(since):
            first = int(np.searchsorted(times, instant))
            made.append(self._follow(tuples.slice(done, first - done), table.index))
            table.change_last(row_versions(relation, changes.filter(pl.Series(since == instant))))
            done = first
        made.append(self._follow(tuples.slice(done), table.index))
        return {OUT: Train(pl.concat(made), through)}

    def _follow(self, tuples: pl.DataFrame, index: RowIndex) -> pl.DataFrame:
        stream = self.fed_by[IN]
        schema, begin, each = self._columns(stream), self._begin(stream), self._each(stream)
        end = predicate(self.until, schema)
        started = evaluate(tuples, list(begin.values()))
        wanted = {name for tree in (*each.values(), end) for name in reads(tree)} | {*self.relation.key, *begin}
        there = tuples.with_columns(column.alias(name) for name, column in zip(begin, started, strict=True))
        there = there.select([name for name in schema.names if name in wanted]).with_row_index(_ROW)
        values = {field.name: field.type.polars for field in self.relation.values}
        missing = pl.DataFrame({name: [None] for name in values}, values)
        rows = pl.concat([index.rows.select(list(values)), missing], rechunk=False)
        ended: list[pl.DataFrame] = []
        for _ in range(self.most):
            # By place: for the few tuples of a round, polars plans a filter longer than it takes to do it.
            over = truth(there, end).to_numpy()
            if over.any():
                ended.append(there[np.flatnonzero(over)])
                there = there[np.flatnonzero(~over)]
            if not there.height:
                break
            found = index.find(there)
            beside = pl.DataFrame([*there, *rows[np.where(found < 0, rows.height - 1, found)]])
            after = dict(zip(each, evaluate(beside, list(each.values())), strict=True))
            there = pl.DataFrame([after[c.name].alias(c.name) if c.name in after else c for c in there])
        ended.append(there)
        ends = pl.concat(ended).select(_ROW, *begin).sort(_ROW).drop(_ROW)
        return pl.concat([tuples, ends], how="horizontal").select(schema.names)

    def _begin(self, stream: Stream) -> dict[str, Tree]:
        return {name: parse(text, stream.schema) for name, text in self.begin}

    def _columns(self, stream: Stream) -> Schema:
        """The columns of the tuple, and those that are followed."""
        return with_values(stream.schema, self._begin(stream))

    def _each(self, stream: Stream) -> dict[str, Tree]:
        """What the columns become with each row."""
        columns = self._columns(stream)
        for field in self.relation.values:
            if field.name in columns:
                raise NetworkError(
                    f"the tuple has a column {field.name!r}, and so has the relation; rename it in a Map"
                )
        schema = Schema((*columns, *self.relation.values))
        for name, _ in self.begin:
            if name not in dict(self.each):
                raise NetworkError(f"the column {name!r} needs an expression in `each`; {name!r} itself lets it stay")
        trees = {}
        for name, text in self.each:
            known_column(name, [column for column, _ in self.begin], "what is followed")
            tree = parse(text, schema)
            if tree.type is not columns[name]:
                raise NetworkError(
                    f"the column {name!r} begins as {columns[name]}, got {tree.type} from {text!r}; "
                    f"write cast(… as {columns[name]})"
                )
            trees[name] = tree
        return trees
