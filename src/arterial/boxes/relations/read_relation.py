"""ReadRelation: adds to each tuple the row of a relation that has its key (thesis §5.2, §5.4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import kernels
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.index import RowIndex
from arterial.boxes.parts.order import Held, instants, require_alike, require_order
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.relations.update_relation import relation_rows, require_key
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.expression.tree import known_column
from arterial.network.relation import DELETED, Relation
from arterial.network.schema import Field, Schema
from arterial.network.state import State
from arterial.network.train import BEGIN, END, Train

CHANGES = "changes"


@dataclass(frozen=True)
class ReadRelation(Box):
    """Adds to each tuple the row of a relation that has its key (thesis §5.2, §5.4.1).

    A read at time t sees every change with time ≤ t; of several changes at one time, the last. So it waits until the
    changes are complete through t. With `before` it sees only changes with time < t, and waits for no others.
    Where there is no row the values are null. The reader is grouped by the key of the relation. A relation that nothing
    updates is a table of constants; any stream can read it. `UpdateRelation` writes one.

    Parameters:
        relation: the relation, made with `net.relation(…)`.
        prefix: comes before the names of the relation's columns.
        updated: whether a box of the network updates the relation; its changes then come by the input `changes`.
        before: whether a change counts only after its time.

    >>> from arterial.testing import show
    >>> limits = lambda s: s.network.relation("limits", {"road": int, "limit": int}, key="road", rows=[(66, 70)])
    >>> show(lambda s: s.read_relation("limited", limits(s)), time=[1, 2], road=[66, 99])
    time  road  limit
       1    66     70
       2    99   null
    """

    relation: Relation
    prefix: str = ""
    updated: bool = True
    before: bool = False

    kind: ClassVar[str] = "read_relation"
    splits_by_group: ClassVar[bool] = True
    instead: ClassVar[str] = "use match with a stream of the relation's rows: a row that goes must be the one that came"
    thinnable: ClassVar[frozenset[str]] = frozenset({IN})

    @property
    def inputs(self) -> tuple[str, ...]:
        """The readers, and the changes of the relation."""
        return (IN, CHANGES) if self.updated else (IN,)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The input and the values."""
        stream, relation = inputs[IN], self.relation
        if self.updated:
            require_order(stream)
            require_key(stream, relation, "input")
            changes = inputs[CHANGES]
            require_key(changes, relation, "input 'changes'")
            require_changes(changes, relation)
            require_alike({IN: stream, CHANGES: changes}, "a ReadRelation")
        else:
            for name in relation.key:
                kind = stream.schema[known_column(name, stream.schema.names)]
                if kind is not relation.schema[name]:
                    raise NetworkError(f"the key {name!r} is {relation.schema[name]} in the relation, got {kind}")
        fields = [*stream.schema]
        for field in relation.values:
            if self.prefix + field.name in stream.schema:
                raise NetworkError(
                    f"the tuple has a column {self.prefix + field.name!r} already; read the relation with a prefix"
                )
            fields.append(Field(self.prefix + field.name, field.type))
        return {OUT: Stream(Schema(tuple(fields)), stream.time, stream.ordered, stream.keyed_by)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """Each tuple with the row of its key at its time."""
        relation = self.relation
        begin = start_rows(relation, state)
        if not self.updated:
            index, train = state.memo.get("index"), trains[IN]
            if not isinstance(index, RowIndex):
                index = state.memo["index"] = RowIndex(relation.key, begin)
            return {OUT: Train(self._with_rows(train.tuples, index.rows, index.find(train.tuples)), train.through)}
        known_through = trains[CHANGES].through
        if self.before and BEGIN < known_through < END:
            known_through += 1
        through = min(trains[IN].through, known_through)
        tuples = Held(state, "in.ahead", self.fed_by[IN].time).next(trains[IN], through)
        time = self.fed_by[CHANGES].time
        changes = Held(state, "changes.ahead", time).next(trains[CHANGES], through)
        table = KeyedTable(state, "rows", begin.schema, relation.key, "@alive", begin)
        if changes.height and not self._comes_first(changes[time], tuples):
            known, new = table.known(tuples), row_versions(relation, changes)
            since = np.concatenate([np.full(known.height, BEGIN), instants(changes, time)])
            made = self._read(tuples, pl.concat([known, new]), since)
            table.change_last(new)
        else:
            table.change_last(row_versions(relation, changes))
            made = self._with_rows(tuples, table.index.rows, table.index.find(tuples))
        return {OUT: Train(made, through)}

    def _comes_first(self, times: pl.Series, tuples: pl.DataFrame) -> bool:
        """Whether the tuples see all changes of these times, such as a table that was loaded before the first."""
        if not tuples.height:
            return True
        first = instants(tuples[:1], self.fed_by[IN].time)[0] - self.before
        last = instants(times[-1:].to_frame(), times.name)[0]
        return bool(last <= first)

    def _with_rows(self, tuples: pl.DataFrame, rows: pl.DataFrame, found: Array) -> pl.DataFrame:
        """The tuples with the rows at those places; -1 is none."""
        places = pl.Series(found, dtype=pl.Int64).set(pl.Series(found < 0, dtype=pl.Boolean), None)
        return tuples.with_columns(
            rows[field.name].gather(places).alias(self.prefix + field.name) for field in self.relation.values
        )

    def _read(
        self, tuples: pl.DataFrame, versions: pl.DataFrame, since: np.ndarray[tuple[int], np.dtype[np.int64]]
    ) -> pl.DataFrame:
        """The tuples with the last version of their row that is not after them."""
        keys = self.relation.key
        slots, count = slots_of(
            codes([pl.concat([tuples[key], versions[key]]) for key in keys], tuples.height + versions.height)
        )
        of_tuples, of_versions = slots[: tuples.height], slots[tuples.height :]
        ends = kernels.bounds(of_versions, count)
        order = kernels.sort_by_slot(of_versions, ends)  # they come in the order of time
        times = instants(tuples, self.fed_by[IN].time) - self.before
        _, upto = kernels.ranges(of_tuples, times, times, ends, since[order])
        rows = order[np.maximum(upto - 1, 0)]
        alive = versions["@alive"].to_numpy() == 1
        return self._with_rows(tuples, versions, np.where((upto > ends[of_tuples]) & alive[rows], rows, -1))


def require_changes(changes: Stream, relation: Relation) -> None:
    """Raise unless the stream is one of changes of the relation."""
    require_order(changes, "input 'changes'")
    needed = [*relation.schema, Field(DELETED, changes.schema[known_column(DELETED, changes.schema.names)])]
    for field in needed:
        if field.name not in changes.schema or changes.schema[field.name] is not field.type:
            raise NetworkError(f"expected changes of the relation {relation.name!r}, got {changes.schema}")


def start_rows(relation: Relation, state: State) -> pl.DataFrame:
    """The rows that the relation begins with, each marked as alive."""
    begin = state.memo.get("begin")
    if not isinstance(begin, pl.DataFrame):
        begin = state.memo["begin"] = relation_rows(relation).with_columns(pl.lit(1, pl.Int8).alias("@alive"))
    return begin


def row_versions(relation: Relation, changes: pl.DataFrame) -> pl.DataFrame:
    """The rows that changes make, each marked as alive or not."""
    return changes.select(*relation.schema.names, (~pl.col(DELETED)).cast(pl.Int8).alias("@alive"))
