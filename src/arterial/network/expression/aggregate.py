"""What a box with windows computes: expressions over aggregates, taken apart into the aggregates and the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from arterial.errors import NetworkError
from arterial.network.expression.function import Function
from arterial.network.expression.parser import parse
from arterial.network.expression.tree import AGGREGATES, Call, Column, Tree, cast, walk
from arterial.network.schema import Field, Schema, Type

Values = tuple[tuple[str, str | Function], ...]
"""Named values over a window: text such as "max(speed)", or an aggregate of the user's own."""

HOLISTIC = frozenset({"count_distinct", "percentile"})
"""Aggregates that need all tuples of the window at once."""


@dataclass(frozen=True)
class Aggregation:
    """The aggregates to compute over a window, and the output columns made of them.

    The result of `calls[i]` is named "@i", the results of a function as they are listed beside it; `outputs` are trees
    over those and the columns of the group.
    """

    calls: tuple[Call, ...]
    functions: tuple[tuple[Function, tuple[str, ...]], ...]
    outputs: tuple[tuple[str, Tree], ...]
    reads: tuple[str, ...]

    @property
    def holistic(self) -> bool:
        """Whether it needs all tuples of a window at once."""
        return bool(self.functions) or any(call.function in HOLISTIC for call in self.calls)

    def schema(self, keys: tuple[Field, ...], time: Field) -> Schema:
        """The columns of a window's tuple: its group, its time, its values."""
        fields = [*keys, time]
        for name, tree in self.outputs:
            if tree.type is None:
                raise NetworkError(f"the value {name!r} has no type; give it one with cast(… as …)")
            fields.append(Field(name, tree.type))
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                raise NetworkError(f"the window's tuple would have two columns {name!r} (group, time and values)")
        return Schema(tuple(fields))


def aggregation(
    values: Values, schema: Schema, keys: tuple[str, ...], time: str, by_tuples: bool = False
) -> Aggregation:
    """Check and take apart the values over windows of tuples of that schema.

    A window by tuples starts at its first tuple, so there window_start() is first(time).
    """
    if not values:
        raise NetworkError('a window needs at least one value, such as total="count(*)"')
    for name, value in values:
        if not isinstance(value, str | Function):
            raise NetworkError(f"the value {name!r} must be an expression as text or a function, got {value!r}")
    return _aggregation(values, schema, keys, time, by_tuples)


@lru_cache(maxsize=1024)
def _aggregation(values: Values, schema: Schema, keys: tuple[str, ...], time: str, by_tuples: bool) -> Aggregation:
    calls: list[Call] = []
    functions: list[tuple[Function, tuple[str, ...]]] = []
    outputs: list[tuple[str, Tree]] = []
    for name, value in values:
        if isinstance(value, Function):
            value.check(schema)
            names = tuple(field.name or name for field in value.produces)
            functions.append((value, names))
            outputs.extend((n, Column(n, field.type)) for n, field in zip(names, value.produces, strict=True))
            continue
        clock = time_field(time, schema[time]).type
        start = Call("first", (cast(Column(time, schema[time]), clock),), clock) if by_tuples else None
        rest = _without_aggregates(parse(value, schema, clock), calls, start)
        for part in walk(rest):
            if isinstance(part, Column) and not part.name.startswith("@") and part.name not in keys:
                grouped = ", ".join(keys) or "none"
                raise NetworkError(
                    f"the value {name!r} = {value!r} reads {part.name!r} outside of an aggregate; "
                    f"expected a column of the group ({grouped}) or a function such as max({part.name})"
                )
        outputs.append((name, rest))
    read = [p.name for call in calls for p in walk(call) if isinstance(p, Column)]
    read += [column for function, _ in functions for column in function.reads]
    return Aggregation(tuple(calls), tuple(functions), tuple(outputs), tuple(dict.fromkeys(read)))


def time_field(name: str, kind: Type) -> Field:
    """The time column of a tuple that a box makes: integers are wide, for the last instant of a window may not fit."""
    return Field(name, Type.INT64 if kind.is_integer else kind)


def _without_aggregates(tree: Tree, calls: list[Call], start: Call | None) -> Tree:
    if not isinstance(tree, Call):
        return tree
    if tree.function == "window_start" and start is not None:
        tree = start
    if tree.function in AGGREGATES:
        if tree not in calls:
            calls.append(tree)
        return Column(f"@{calls.index(tree)}", tree.type)
    return Call(tree.function, tuple(_without_aggregates(a, calls, start) for a in tree.arguments), tree.type)
