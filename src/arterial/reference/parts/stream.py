"""What the interpreter's boxes share: tuples as dictionaries, their times, their groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from arterial.network.expression.function import Function, call_on_columns
from arterial.network.schema import Schema
from arterial.reference.parts.scalar import Tuple, scalar, value_to_instant

Tuples = list[dict[str, Any]]


def instant(values: Tuple, time: str) -> int:
    """The time of a tuple as a number."""
    return value_to_instant(values[time])


def by_time(tuples: Iterable[dict[str, Any]], time: str) -> Tuples:
    """The tuples in the order of their time; ties stay as they are."""
    return sorted(tuples, key=lambda t: instant(t, time))


def group_of(values: Tuple, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """The group of a tuple. Null is a value; -0.0 is 0.0; NaN is NaN."""
    return tuple(_identity(values[key]) for key in keys)


def grouped(tuples: Tuples, keys: tuple[str, ...]) -> dict[tuple[Any, ...], Tuples]:
    """The tuples of each group, in their order."""
    groups: dict[tuple[Any, ...], Tuples] = {}
    for values in tuples:
        groups.setdefault(group_of(values, keys), []).append(values)
    return groups


def value_order(value: Any) -> tuple[Any, ...]:
    """A key that sorts values: null first, NaN last."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, value)


def call(function: Function, box: str, values: Tuple, schema: Schema) -> tuple[Any, ...]:
    """A user's function on one tuple. It is written for columns, so it gets columns of one value."""
    import polars as pl

    row = pl.DataFrame([dict(values)], schema=schema.polars())
    return tuple(column[0] for column in call_on_columns(function, box, row))


def condition(predicate: str | Function, box: str, schema: Schema) -> Callable[[Tuple], bool]:
    """A predicate on tuples of that schema; null is false."""
    if isinstance(predicate, Function):
        return lambda values: bool(call(predicate, box, values, schema)[0])
    from arterial.network.expression.parser import predicate as parse_predicate

    test = scalar(parse_predicate(predicate, schema))
    return lambda values: bool(test(values))


def _identity(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value
