"""What Aggregate means: the values of each group from scratch, at the end of every instant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from arterial.boxes.signed.aggregate import Aggregate
from arterial.network.box import IN, OUT
from arterial.network.expression.tree import Call
from arterial.network.schema import Type
from arterial.network.signed import row_columns
from arterial.reference.parts.causes import Because, group_in_words, group_so_far, shown
from arterial.reference.parts.scalar import greatest, least, scalar, wrap
from arterial.reference.parts.signed import Multiset, Row, led_through, places_so_far, signed_because, standing_at
from arterial.reference.parts.stream import Tuples, group_of, instant

Counted = list[tuple[Row, int]]
"""Rows, and how often each stands."""


def aggregate(box: Aggregate, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Every group with rows, with its values; the one group of a stream without groups also without, once it was."""
    return {OUT: led_through(_states(box, inputs[IN]), box.streams(box.fed_by)[OUT])}


def _states(box: Aggregate, tuples: Tuples) -> Iterator[tuple[int, Multiset]]:
    stream, out = box.fed_by[IN], box.streams(box.fed_by)[OUT]
    plan, keys = box._plan(stream), stream.keyed_by
    columns = row_columns(stream) if stream.signed else stream.schema.names
    was_there = False
    for t, rows in standing_at(tuples, stream, columns):
        groups: dict[tuple[Any, ...], Counted] = {}
        for row, count in rows.all():
            groups.setdefault(group_of(row, keys), []).append((row, count))
        groups = {key: some for key, some in groups.items() if sum(count for _, count in some) > 0}
        was_there = was_there or bool(groups)
        if not keys and was_there:
            groups.setdefault((), rows.all())
        now = Multiset(row_columns(out))
        for some in groups.values():
            known: Row = {key: some[0][0][key] for key in keys}
            known |= {f"@{i}": _value(call, some) for i, call in enumerate(plan.calls)}
            now.add({key: known[key] for key in keys} | {n: scalar(tree)(known) for n, tree in plan.outputs}, 1)
        yield t, now


def _value(call: Call, rows: Counted) -> Any:
    if not call.arguments:
        return sum(count for _, count in rows)
    argument = scalar(call.arguments[0])
    values = [(value, count) for row, count in rows if (value := argument(row)) is not None]
    number = sum(count for _, count in values)
    match call.function:
        case "count":
            return number
        case "sum":
            if number <= 0:
                return None
            if call.type is Type.FLOAT64:
                return _float_sum(values)
            return wrap(sum(value * count for value, count in values))
        case "avg":
            return _float_sum(values, number) if number > 0 else None
    standing: dict[Any, int] = {}
    for value, count in values:
        key = group_of({"_": value}, ("_",))[0]
        standing[key] = standing.get(key, 0) + count
    held = {group_of({"_": value}, ("_",))[0]: value for value, _ in values}
    some = [held[key] for key, count in standing.items() if count > 0]
    if call.function == "count_distinct":
        return len(some)
    return least(some) if call.function == "min" else greatest(some)


def _float_sum(values: list[tuple[float, int]], count: int = 1) -> float:
    """The exact sum, divided by the count, rounded once."""
    nan = sum(count for value, count in values if math.isnan(value))
    up = sum(count for value, count in values if value == math.inf)
    down = sum(count for value, count in values if value == -math.inf)
    if nan > 0 or (up > 0 and down > 0):
        return math.nan
    if up > 0 or down > 0:
        return math.inf if up > 0 else -math.inf
    exact = sum((Fraction(value) * count for value, count in values if math.isfinite(value)), Fraction(0))
    try:
        return float(exact / count)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def because(box: Aggregate, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """All changes of the group so far."""
    stream, made = box.fed_by[IN], outputs[OUT][place]
    used = places_so_far(inputs[IN], stream, made, stream.keyed_by, instant(made, box.streams(box.fed_by)[OUT].time))
    texts = "; ".join(f"{name} = {value} = {shown(made[name])}" for name, value in box.values)
    return signed_because({IN: used}, made, f"over the rows that stand{group_in_words(made, stream)} {texts}")


scope = group_so_far
"""All of the group so far."""
