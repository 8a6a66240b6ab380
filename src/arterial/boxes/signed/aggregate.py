"""Aggregate: values over what stands of each group, as rows come and go (GPAC §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.net import OF_VALUES, ROWS, SUPPORTED, Elements, accumulators, sums
from arterial.boxes.parts.order import instants, require_order
from arterial.boxes.parts.signed import as_time, in_order_of_telling, last_of_runs, weights
from arterial.boxes.parts.table import KeyedTable
from arterial.boxes.parts.values import Values
from arterial.errors import NetworkError
from arterial.network.box import IN, OUT, SIGN, Box, Stream
from arterial.network.expression import aggregate as windows
from arterial.network.expression.tree import Tree
from arterial.network.expression.vectorised import evaluate
from arterial.network.schema import Field
from arterial.network.signed import lifted, require_rows_only
from arterial.network.state import State
from arterial.network.train import BEGIN, Train

_TOLD = "@told"
_GONE, _STANDS, _IS_TOLD = 0, 1, 2


@dataclass(frozen=True)
class Aggregate(Box):
    """Computes values over the rows that stand in each group, as rows come and go (GPAC §5).

    At the end of each instant at which the values of a group changed, the old values go (-1) and the new ones come (1).
    What leaves is a signed stream of the group, the time, the values and the sign.

    - A group goes with its last row. The one group of a stream that is not grouped stays, once it had a row: its counts
      are then 0 and its other values null, as in SQL. Before the first row there is nothing.
    - Sums of integers wrap around; sums of floats and all means are exact, rounded once.
    - `min`, `max` and `count(distinct …)` keep how often each value stands.
    - On a stream without signs every row stays, so the values are those of all tuples so far.

    Parameters:
        values: pairs of a name and an expression over `count(*)`, `count(x)`, `count(distinct x)`, `sum`, `avg`, `min`
            and `max`. `first`, `last` and `stddev` belong to sequences; see `Latch`. Percentiles belong to windows; see
            `Tumble`.

    >>> from arterial.testing import show
    >>> standing = lambda s: s.latest("now", "car")
    >>> show(lambda s: standing(s).aggregate("all", n="count(*)", top="max(x)"), time=[1, 2], car=[7, 8], x=[4, 9])
    time  n  top  sign
       1  1    4     1
       2  1    4    -1
       2  2    9     1
    """

    values: windows.Values

    kind: ClassVar[str] = "aggregate"
    splits_by_group: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The group, the time, the values, the sign."""
        stream = inputs[IN]
        require_order(stream)
        plan = self._plan(stream)
        if plan.functions:
            raise NetworkError("functions over windows cannot follow rows that go; expected built-in aggregates")
        for call in plan.calls:
            if call.function not in SUPPORTED:
                of = "the tuples of a window" if "percentile" in call.function else "a sequence"
                raise NetworkError(
                    f"{call.function} is of {of} and not of what stands; expected count, count(distinct …), sum, "
                    "avg, min or max"
                )
        require_rows_only(stream, plan.reads, "an aggregate")
        if stream.time in stream.keyed_by:
            raise NetworkError(f"the stream is grouped by its time {stream.time!r}; expected groups that last")
        keys = tuple(Field(key, stream.schema[key]) for key in stream.keyed_by)
        schema = plan.schema(keys, Field(stream.time, stream.schema[stream.time]))
        return {OUT: lifted(Stream(schema, stream.time, True, stream.keyed_by))}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The groups whose values changed."""
        train, out = trains[IN], self.streams(self.fed_by)[OUT]
        changes = _Work(self, state).run(train.tuples) if len(train) else out.schema.empty()
        return {OUT: Train(changes, train.through)}

    def _plan(self, stream: Stream) -> windows.Aggregation:
        return windows.aggregation(self.values, stream.schema, stream.keyed_by, stream.time)


class _Work:
    """The work on one train."""

    def __init__(self, box: Aggregate, state: State) -> None:
        self.stream, self.out = box.fed_by[IN], box.streams(box.fed_by)[OUT]
        self.plan, self.keys, self.state = box._plan(self.stream), box.fed_by[IN].keyed_by, state
        schema = self.stream.schema
        self.columns = {key: schema[key].polars for key in self.keys} | {ROWS: pl.Int64(), _TOLD: pl.Int8()}
        self.columns |= accumulators(self.plan)
        self.table = KeyedTable(state, "groups", self.columns, self.keys, _TOLD)
        self.known = self.table.read()
        arguments: dict[Tree, int] = {}
        for call in self.plan.calls:
            if call.function in OF_VALUES:
                arguments.setdefault(call.arguments[0], len(arguments))
        self.values = {tree: Values(state, i, tree, schema, self.keys) for tree, i in arguments.items()}

    def run(self, tuples: pl.DataFrame) -> pl.DataFrame:
        """The changes, in order; the state is written."""
        groups = self._groups(tuples)
        elements, before = self._elements(tuples, groups[0], groups[1])
        kept, results = self._follow(tuples, groups, elements, before)
        at_ends = elements.groups[elements.is_end]
        results |= {key: column[self.example[at_ends]] for key, column in self.key_columns.items()}
        trees = [tree for _, tree in self.plan.outputs]
        outputs = evaluate(pl.DataFrame(results), trees)
        made = {name: column for (name, _), column in zip(self.plan.outputs, outputs, strict=True)}

        number = kept[ROWS].to_numpy()
        told = number > 0
        if not self.keys:  # the one group stays
            told = np.logical_or.accumulate(told | (before[_TOLD][0] == _IS_TOLD))
        begins = ~elements.is_tuple[elements.is_end]  # what a group had before is an end of its own
        follows = np.flatnonzero(~begins)
        same = np.zeros(len(told), np.bool_)
        matrix = codes(list(made.values()), len(told))
        same[1:] = (matrix[1:] == matrix[:-1]).all(axis=1)
        stays = told[follows] & told[follows - 1] & same[follows]
        minus = follows[told[follows - 1] & ~stays]
        plus = follows[told[follows] & ~stays]
        shown = pl.DataFrame({key: results[key] for key in self.keys} | made)
        changes = shown[np.concatenate([minus - 1, plus])].with_columns(
            as_time(self.times[np.concatenate([minus, plus])], self.out).alias(self.out.time),
            pl.Series(SIGN, np.repeat([-1, 1], [len(minus), len(plus)]), dtype=pl.Int8),
        )
        self._save(kept | {key: results[key] for key in self.keys}, told, begins, ~np.isin(groups[0], at_ends))
        return in_order_of_telling(changes, self.out)

    def _groups(self, tuples: pl.DataFrame) -> list[Array]:
        """The numbers of the groups of what is known, of the tuples, and of the values that are known."""
        parts = [self.known, tuples, *(values.known for values in self.values.values())]
        self.key_columns = {key: pl.concat([part[key] for part in parts]) for key in self.keys}
        sizes = [part.height for part in parts]
        numbers, count = slots_of(codes(list(self.key_columns.values()), sum(sizes)), self.known.height)
        self.example = np.empty(count, np.int64)
        self.example[numbers[::-1]] = np.arange(len(numbers))[::-1]
        return np.split(numbers, np.cumsum(sizes)[:-1])

    def _elements(self, tuples: pl.DataFrame, of_known: Array, of_tuples: Array) -> tuple[Elements, pl.DataFrame]:
        """The tuples in the order of (group, time), behind what each of their groups had before; and that."""
        touched = np.unique(of_tuples)
        row_of_group = np.full(int(touched[-1]) + 1 if len(touched) else 0, -1, np.int64)
        within = of_known < len(row_of_group)
        row_of_group[of_known[within]] = np.flatnonzero(within)
        rows = row_of_group[touched]
        before = self.known.select(list(self.columns))[np.maximum(rows, 0)] if self.known.height else None
        nothing = pl.DataFrame({name: _nothing(kind) for name, kind in self.columns.items() if name not in self.keys})
        fresh = nothing[np.zeros(len(touched), np.int64)]
        if before is None:
            before = fresh
        else:
            mask = pl.Series(rows < 0)
            before = pl.DataFrame({name: before[name].zip_with(~mask, fresh[name]) for name in fresh.columns})
        times = np.concatenate([np.full(len(touched), BEGIN), instants(tuples, self.stream.time)])
        groups = np.concatenate([touched, of_tuples])
        is_tuple = np.arange(len(groups)) >= len(touched)
        order = np.lexsort((is_tuple, times, groups))
        own = np.where(is_tuple, np.arange(len(groups)) - len(touched), np.arange(len(groups)))
        groups, times, is_tuple = groups[order], times[order], is_tuple[order]
        is_end = last_of_runs(groups, times, is_tuple)
        self.times = times[is_end]
        return Elements(groups, is_tuple, own[order], is_end), before

    def _follow(
        self, tuples: pl.DataFrame, groups: list[Array], elements: Elements, before: pl.DataFrame
    ) -> tuple[dict[str, pl.Series], dict[str, pl.Series]]:
        """The accumulators at each end, and the values of the aggregates."""
        weight = weights(tuples, self.stream)
        kept = {ROWS: pl.Series(elements.totals(before[ROWS], weight))}
        results: dict[str, pl.Series] = {ROWS: kept[ROWS]}
        arguments = {call.arguments[0]: None for call in self.plan.calls if call.arguments}
        columns = dict(zip(arguments, evaluate(tuples, list(arguments)), strict=True))
        found = {
            tree: values.follow(tuples, columns[tree], weight, (groups[2 + i], groups[1]), elements)
            for i, (tree, values) in enumerate(self.values.items())
        }
        for i, call in enumerate(self.plan.calls):
            me = f"@{i}"
            if call.function in OF_VALUES:
                results[me] = found[call.arguments[0]].of(call)
            elif call.function == "count":
                counted = columns[call.arguments[0]].is_not_null().to_numpy() if call.arguments else 1
                kept[me] = results[me] = pl.Series(elements.totals(before[me], weight * counted))
            else:
                more, results[me] = sums(i, call, columns[call.arguments[0]], weight, before, elements)
                kept |= more
        return kept, results

    def _save(self, kept: dict[str, pl.Series], told: Array, begins: Array, untouched: Array) -> None:
        """Write what groups have at their last ends."""
        empty = [(kept[name] == _nothing(kind)[0]).to_numpy() for name, kind in accumulators(self.plan).items()]
        stands = ~np.logical_and.reduce([kept[ROWS].to_numpy() == 0, *empty]) | (not self.keys)
        marks = np.where(stands, np.where(told, _IS_TOLD, _STANDS), _GONE)
        rows = pl.DataFrame(kept | {_TOLD: pl.Series(marks, dtype=pl.Int8)}).select(list(self.columns))
        changes = rows[np.flatnonzero(np.append(begins[1:], True))]
        others = self.known.select(list(self.columns)).filter(pl.Series(untouched))
        self.table.write(pl.concat([others, changes.filter(pl.col(_TOLD) != _GONE)]), changes)


def _nothing(kind: pl.DataType) -> pl.Series:
    return pl.Series(["0"]) if kind == pl.String else pl.Series([0], dtype=kind)
