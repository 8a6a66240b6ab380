"""Match: the join of what stands on two streams, as rows come and go on both (GPAC §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.joins.join import LEFT, RIGHT, both_sides, of_both_sides, require_one_of_each
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.order import Held, instants, require_in_step
from arterial.boxes.parts.signed import as_time, in_order_of_telling, repeated, weights
from arterial.boxes.parts.table import KeyedTable
from arterial.errors import NetworkError
from arterial.network.box import OUT, SIGN, Box, Stream
from arterial.network.expression.parser import predicate
from arterial.network.expression.tree import Call, Column, Tree, reads, walk
from arterial.network.expression.vectorised import evaluate, truth
from arterial.network.schema import Field, Schema
from arterial.network.signed import lifted, row_columns
from arterial.network.state import State
from arterial.network.train import BEGIN, Train

_N = "@n"


@dataclass(frozen=True)
class Match(Box):
    """Pairs the rows that stand on two streams, as rows come and go on both (GPAC §5).

    A pair comes (1) when its later row comes, and goes (-1) when one of both goes. It is the join of two tables that
    change; `Join` is that of tuples near in time.

    - A pair has the left columns, then the right ones beside the group's and the time, with `right_` before a name that
      both have, then the sign. Its time, in the left stream's time column, is that of the change.
    - Equalities between both sides are looked up by hash; the rest of `on` is tried on what they leave. Null equals
      nothing.
    - Both streams are grouped alike, or not at all. Grouped, it runs in every shard, and null is a group.
    - A stream without signs is a table that only grows. Both sides are kept whole. Equal rows make as many equal pairs.

    Parameters:
        on: a predicate over `left.x` and `right.y`, without times and signs; None: all pairs of a group.

    >>> from arterial.testing import show
    >>> van = lambda s: s.filter("vans", "kind = 'van'").latest("now", "kind")
    >>> met = lambda s: van(s).match("met", s.filter("buses", "kind = 'bus'"), on="left.road = right.road")
    >>> show(met, time=[1, 2, 3], kind=["van", "bus", "van"], road=[66, 66, 99])
    time  kind  road  right_kind  right_road  sign
       2   van    66         bus          66     1
       3   van    66         bus          66    -1
    """

    on: str | None = None

    kind: ClassVar[str] = "match"
    splits_by_group: ClassVar[bool] = True
    takes_signed: ClassVar[bool] = True

    @property
    def inputs(self) -> tuple[str, ...]:
        """Two streams."""
        return (LEFT, RIGHT)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The columns of both, one time, one sign."""
        left, right = inputs[LEFT], inputs[RIGHT]
        require_in_step({LEFT: left, RIGHT: right}, "a Match")
        rows = seen_rows(left, right)
        if self.on is not None:
            tree = predicate(self.on, both_sides(left.schema, right.schema))
            for name in reads(tree):
                if name not in rows:
                    raise NetworkError(
                        f"{self.on!r} reads {name!r}, a time or a sign; rows that stand have neither, "
                        "only the columns beside them"
                    )
        fields = [field for field in left.schema if not (left.signed and field.name == SIGN)]
        fields += [Field(name, right.schema[old]) for old, name in pair_names(left, right)]
        require_one_of_each(fields, "Match")
        return {OUT: lifted(Stream(Schema(tuple(fields)), left.time, True, left.keyed_by))}

    def carries(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """The columns of both sides."""
        return of_both_sides(self.fed_by[LEFT], self.fed_by[RIGHT])

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The pairs that come and go."""
        out = self.streams(self.fed_by)[OUT]
        through = min(train.through for train in trains.values())
        ready = {
            port: Held(state, f"{port}.ahead", self.fed_by[port].time).next(trains[port], through)
            for port in self.inputs
        }
        if not ready[LEFT].height and not ready[RIGHT].height:
            return {OUT: Train(out.schema.empty(), through)}
        sides = [_Side(state, port, self.fed_by[port], ready[port]) for port in self.inputs]
        changes = self._changes(sides[0], sides[1], out)
        for side in sides:
            side.save()
        return {OUT: Train(changes, through)}

    def _changes(self, left: _Side, right: _Side, out: Stream) -> pl.DataFrame:
        i, j = self._candidates(left, right)
        names = pair_names(left.stream, right.stream)
        weight = left.weights[i] * right.weights[j]
        times = np.maximum(left.times[i], right.times[j])
        pairs = left.rows[i]
        if names:
            pairs = pairs.hstack(right.rows.select(pl.col(old).alias(new) for old, new in names)[j])
        # A row may come and go in one instant, and two pairs may be equal: what counts is the sum.
        columns = [pl.Series(times), *pairs.get_columns()]
        numbers, count = slots_of(codes(columns, pairs.height))
        total = np.zeros(count, np.int64)
        np.add.at(total, numbers, weight)
        first = np.empty(count, np.int64)
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        lasting = np.flatnonzero(total)
        kept = pairs[first[lasting]].with_columns(as_time(times[first[lasting]], out).alias(out.time))
        return in_order_of_telling(repeated(kept, total[lasting]), out)

    def _candidates(self, left: _Side, right: _Side) -> tuple[Array, Array]:
        """The pairs of which one at least is new, and for which the predicate is true."""
        schema = both_sides(self.fed_by[LEFT].schema, self.fed_by[RIGHT].schema)
        equal: tuple[tuple[Tree, Tree], ...] = ()
        rest: Tree | None = None
        if self.on is not None:
            equal, rest = taken_apart(predicate(self.on, schema))
        lefts = left.keys([pair[0] for pair in equal], LEFT)
        rights = right.keys([pair[1] for pair in equal], RIGHT)
        both = [pl.concat([a, b]) for a, b in zip(lefts, rights, strict=True)]
        slots, _ = slots_of(codes(both, left.rows.height + right.rows.height))
        groups = len(left.stream.keyed_by)  # there null is a value; in an equality it is none
        missing = np.zeros(len(slots), np.bool_)
        for column in both[groups:]:
            missing |= column.is_null().to_numpy()
        parts = []
        for side, begin in ((left, 0), (right, left.rows.height)):
            here = np.flatnonzero(~missing[begin : begin + side.rows.height])
            key = slots[begin : begin + side.rows.height][here]
            parts.append(pl.DataFrame({"key": key, "row": here, "new": here >= side.known.height}))
        found = [
            parts[0].filter("new").join(parts[1], on="key"),
            parts[0].filter(~pl.col("new")).join(parts[1].filter("new"), on="key"),
        ]
        pairs = pl.concat(found)
        i, j = pairs["row"].to_numpy(), pairs["row_right"].to_numpy()
        if rest is None:
            return i, j
        columns = {}
        for name in reads(rest):
            port, _, field = name.partition(".")
            columns[name] = left.rows[field].gather(i) if port == LEFT else right.rows[field].gather(j)
        true = truth(pl.DataFrame(columns), rest, len(i)).to_numpy()
        return i[true], j[true]


class _Side:
    """The rows of one input: those that stand, then those that came, each with its time and weight."""

    def __init__(self, state: State, port: str, stream: Stream, came: pl.DataFrame) -> None:
        self.stream = stream
        names = row_columns(stream)
        kinds = stream.schema.polars()
        schema = {name: kinds[name] for name in names} | {_N: pl.Int64()}
        self.table = KeyedTable(state, f"{port}.rows", schema, names, _N)
        self.known = self.table.read()
        self.rows = pl.concat([self.known.select(names), came.select(names)])
        self.times = np.concatenate([np.full(self.known.height, BEGIN), instants(came, stream.time)])
        self.weights = np.concatenate([self.known[_N].to_numpy(), weights(came, stream)])

    def keys(self, trees: list[Tree], port: str) -> list[pl.Series]:
        """What must be equal to the other side's: the group, and the expressions."""
        named = self.rows.rename({name: f"{port}.{name}" for name in self.rows.columns})
        columns = [self.rows[key] for key in self.stream.keyed_by]
        return columns + (evaluate(named, trees) if trees else [])

    def save(self) -> None:
        """Let stand what came, and no longer what went."""
        new = self.rows.height - self.known.height
        if not new:
            return
        numbers, count = slots_of(codes(self.rows.get_columns(), self.rows.height), self.known.height)
        total = np.zeros(count, np.int64)
        np.add.at(total, numbers, self.weights)
        first = np.empty(count, np.int64)
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        stands = self.rows[first].with_columns(pl.Series(_N, total))
        touched = np.unique(numbers[self.known.height :])
        self.table.write(stands.filter(pl.col(_N) != 0), stands[touched])


def seen_rows(left: Stream, right: Stream) -> frozenset[str]:
    """The columns that the predicate of a Match can read."""
    return frozenset(
        f"{side}.{name}" for side, stream in ((LEFT, left), (RIGHT, right)) for name in row_columns(stream)
    )


def pair_names(left: Stream, right: Stream) -> list[tuple[str, str]]:
    """The right row's columns that a pair has, and what they are called there."""
    taken = {name for name in left.schema.names if not (left.signed and name == SIGN)}
    return [
        (name, f"right_{name}" if name in taken else name) for name in row_columns(right) if name not in left.keyed_by
    ]


@lru_cache(maxsize=256)
def taken_apart(tree: Tree) -> tuple[tuple[tuple[Tree, Tree], ...], Tree | None]:
    """The equalities of a conjunction, as expressions of the left and of the right side, and what else it asks for."""
    equal: list[tuple[Tree, Tree]] = []
    rest: Tree | None = None
    for part in _conjuncts(tree):
        pair = _sides_of_equality(part)
        if pair is not None:
            equal.append(pair)
        else:
            rest = part if rest is None else Call("and", (rest, part), tree.type)
    return tuple(equal), rest


def _conjuncts(tree: Tree) -> list[Tree]:
    if isinstance(tree, Call) and tree.function == "and":
        return [part for argument in tree.arguments for part in _conjuncts(argument)]
    return [tree]


def _sides_of_equality(tree: Tree) -> tuple[Tree, Tree] | None:
    if not (isinstance(tree, Call) and tree.function == "="):
        return None
    a, b = tree.arguments
    sides = [{part.name.partition(".")[0] for part in walk(side) if isinstance(part, Column)} for side in (a, b)]
    if sides == [{LEFT}, {RIGHT}]:
        return a, b
    return (b, a) if sides == [{RIGHT}, {LEFT}] else None
