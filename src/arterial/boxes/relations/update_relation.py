"""UpdateRelation: writes a relation, a named table with a key, from a stream (thesis §5.2, §5.4.1).

What it gives is the stream of changes; whoever reads the relation is fed by it, so a network stays without cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.boxes.parts.order import require_order
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.windows.accumulate import SIZE, accumulator_schema
from arterial.boxes.parts.windows.running import latest, run
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.expression.aggregate import Aggregation
from arterial.network.expression.parser import parse, predicate
from arterial.network.expression.tree import AGGREGATES, Call, Tree, known_column, walk
from arterial.network.expression.vectorised import evaluate, truth
from arterial.network.relation import DELETED, Relation
from arterial.network.schema import Field, Schema, Type
from arterial.network.state import State
from arterial.network.train import Train

RUNNING = ("count", "sum", "min", "max", "first", "last")


@dataclass(frozen=True)
class UpdateRelation(Box):
    """Writes a relation, a named table with a key, from a stream (thesis §5.2, §5.4.1).

    Every tuple writes the row of its key. What leaves is the stream of changes: the key, the values, the time, and
    `deleted`. A `ReadRelation` is fed by it, so the network has no cycle; an update that depends on a read of the same
    relation would be one, and is refused. A relation has one UpdateRelation: lead several streams into it with a
    `Union`, and draw it before its readers.

    Parameters:
        relation: the relation, made with `net.relation(…)`; the stream is grouped by its key.
        values: pairs of a column of the relation and an expression over the tuple, or one of `count`, `sum`, `min`,
            `max`, `first`, `last` over all tuples of the key, from the rows that the relation begins with.
        delete: a tuple for which this predicate is true removes the row and is not counted; what follows begins again.

    >>> from arterial.testing import show
    >>> accounts = lambda s: s.network.relation("accounts", {"car": int, "paid": int}, key="car", rows=[(7, 100)])
    >>> pay = lambda s: s.group_by("car").update_relation("pay", accounts(s), paid="sum(x)")
    >>> show(pay, time=[1, 2], car=[7, 8], x=[4, 9])
    car  paid  time  deleted
      7   104     1    False
      8     9     2    False
    """

    relation: Relation
    values: tuple[tuple[str, str], ...]
    delete: str | None = None

    kind: ClassVar[str] = "update_relation"
    splits_by_group: ClassVar[bool] = True
    instead: ClassVar[str] = "keep what stands with an output, or use aggregate or distinct"

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The changes: key, values, time, and whether the row was deleted."""
        stream, relation = inputs[IN], self.relation
        require_order(stream)
        require_key(stream, relation, "input")
        given = [name for name, _ in self.values]
        for name in given:
            known_column(
                name, [field.name for field in relation.values], f"the relation {relation.name!r} beside its key"
            )
        for field in relation.values:
            if (count := given.count(field.name)) != 1:
                raise NetworkError(
                    f"the column {field.name!r} of the relation {relation.name!r} needs one value, got {count}"
                )
        for name, text in self.values:
            tree = self._tree(text, stream)
            wanted = relation.schema[name]
            if tree.type is not wanted:
                raise NetworkError(
                    f"the column {name!r} of the relation {relation.name!r} is {wanted}, "
                    f"got {tree.type} from {text!r}; write cast(… as {wanted}) or change the relation"
                )
        if self.delete is not None:
            predicate(self.delete, stream.schema)
        for name in (stream.time, DELETED):
            if name in relation.schema:
                raise NetworkError(
                    f"the relation {relation.name!r} must not have a column {name!r}: the changes have it"
                )
        return {OUT: changes_stream(relation, stream)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """A change for each tuple."""
        stream, train, relation = self.fed_by[IN], trains[IN], self.relation
        trees = {name: self._tree(text, stream) for name, text in self.values}
        running = {name: tree for name, tree in trees.items() if isinstance(tree, Call) and tree.function in AGGREGATES}
        if self.delete is None:
            deleted = np.zeros(train.tuples.height, np.bool_)
        else:
            deleted = truth(train.tuples, predicate(self.delete, stream.schema)).to_numpy()
        if not running:
            return {OUT: Train(self._changes(stream, train.tuples, None, trees, [], deleted), train.through)}
        plan = Aggregation(tuple(running.values()), (), (), ())
        schema = accumulator_schema(plan, stream.schema, relation.key)
        schema.pop("@window")
        begin = state.memo.get("begin")
        if begin is None:
            begin = state.memo["begin"] = _accumulators(relation, running, schema)
        table = KeyedTable(state, "rows", schema, relation.key, SIZE, begin)
        tuples = train.tuples
        known = table.known(tuples)
        after, groups, count = run(plan, relation.key, known, tuples, deleted)
        after = after.select(list(schema))
        made = self._changes(stream, tuples, after, trees, list(running), deleted)
        if tuples.height:
            table.change(latest(known, after, groups, count))
        return {OUT: Train(made, train.through)}

    def _changes(
        self,
        stream: Stream,
        tuples: pl.DataFrame,
        after: pl.DataFrame | None,
        trees: Mapping[str, Tree],
        running: list[str],
        deleted: np.ndarray[tuple[int], np.dtype[np.bool_]],
    ) -> pl.DataFrame:
        names = [name for name in trees if name not in running]
        computed = evaluate(tuples, [trees[name] for name in names])
        plain = [column.alias(f"@new.{name}") for name, column in zip(names, computed, strict=True)]
        both = tuples.with_columns(plain)
        if after is not None:
            both = both.hstack([column.alias(f"@run.{column.name}") for column in after])
        both = both.with_columns(pl.Series("@deleted", deleted))
        values = []
        for field in self.relation.values:
            value = pl.col(f"@new.{field.name}")
            if field.name in running:
                me = f"@run.@{running.index(field.name)}"
                summed = f"{me}.n" in both.columns
                value = pl.when(pl.col(f"{me}.n") > 0).then(pl.col(me)) if summed else pl.col(me)
            values.append(pl.when(~pl.col("@deleted")).then(value).alias(field.name))
        return both.select(*self.relation.key, *values, stream.time, pl.col("@deleted").alias(DELETED))

    def _tree(self, text: str, stream: Stream) -> Tree:
        tree = parse(text, stream.schema, stream.schema[stream.time])
        inside = [p for p in walk(tree) if isinstance(p, Call) and p.function in AGGREGATES]
        if inside and not (inside == [tree] and inside[0].function in RUNNING):
            raise NetworkError(
                f"expected an expression over the tuple, or one of {', '.join(RUNNING)} alone, got {text!r}"
            )
        return tree


def require_key(stream: Stream, relation: Relation, what: str) -> None:
    """Raise unless the stream is grouped by the key of the relation."""
    if stream.keyed_by != relation.key:
        raise NetworkError(
            f"expected an {what} grouped by the key of the relation {relation.name!r} ({', '.join(relation.key)}), "
            f"got one grouped by ({', '.join(stream.keyed_by)}); put a GroupBy before it"
        )
    for name in relation.key:
        if stream.schema[name] is not relation.schema[name]:
            raise NetworkError(
                f"the key {name!r} of the relation {relation.name!r} is {relation.schema[name]}, "
                f"got {stream.schema[name]}; cast it in a Map before the GroupBy"
            )


def changes_stream(relation: Relation, stream: Stream) -> Stream:
    """The type of the stream of changes that the tuples of a stream make to a relation."""
    keys = [Field(name, relation.schema[name]) for name in relation.key]
    more = [Field(stream.time, stream.schema[stream.time]), Field(DELETED, Type.BOOL)]
    return Stream(Schema((*keys, *relation.values, *more)), stream.time, True, relation.key)


def relation_rows(relation: Relation) -> pl.DataFrame:
    """The rows that the relation begins with."""
    return pl.DataFrame(list(relation.rows), schema=relation.schema.polars(), orient="row")


def _accumulators(relation: Relation, running: Mapping[str, Tree], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    rows = relation_rows(relation)
    columns = [pl.col(name) for name in relation.key]
    columns.append(pl.lit(1, pl.Int64).alias(SIZE))
    for i, name in enumerate(running):
        if f"@{i}.n" in schema:
            columns.append(pl.col(name).fill_null(0).alias(f"@{i}"))
            columns.append(pl.col(name).is_not_null().cast(pl.Int64).alias(f"@{i}.n"))
        else:
            empty = 0 if isinstance((tree := running[name]), Call) and tree.function == "count" else None
            columns.append(
                pl.col(name).fill_null(empty).alias(f"@{i}") if empty is not None else pl.col(name).alias(f"@{i}")
            )
    return rows.select(columns).select(list(schema))
