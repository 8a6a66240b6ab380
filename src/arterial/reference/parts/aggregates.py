"""Aggregates over a list of tuples, one tuple after the other. Nulls are left out; of nothing an aggregate is null."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from arterial.network.expression.aggregate import Aggregation
from arterial.network.expression.function import call_on_window
from arterial.network.expression.tree import Call, share_of
from arterial.network.schema import Schema
from arterial.reference.parts.scalar import greatest, least, scalar, wrap
from arterial.reference.parts.stream import Tuples, group_of, value_order


def window_values(
    box: str, plan: Aggregation, keys: tuple[str, ...], schema: Schema, tuples: Tuples, start: Any = None
) -> dict[str, Any]:
    """The values over the tuples of one window of one group."""
    known: dict[str, Any] = {key: tuples[-1][key] for key in keys}
    for i, call in enumerate(plan.calls):
        known[f"@{i}"] = start if call.function == "window_start" else aggregate(call, tuples)
    for function, names in plan.functions:
        import polars as pl

        window = pl.DataFrame(tuples, schema=schema.polars())
        known |= dict(zip(names, call_on_window(function, box, window), strict=True))
    return {name: scalar(tree)(known) for name, tree in plan.outputs}


def aggregate(call: Call, tuples: Tuples) -> Any:
    """One aggregate over a list of tuples."""
    if not call.arguments:
        return len(tuples)
    argument = scalar(call.arguments[0])
    if call.function in _PERCENTILES:
        values = [value for t in tuples if (value := argument(t)) is not None]
        return _PERCENTILES[call.function](sorted(values, key=value_order), share_of(call))
    return _AGGREGATES[call.function]([value for t in tuples if (value := argument(t)) is not None])


def _sum(values: list[Any]) -> Any:
    if not values:
        return None
    total = type(values[0])(0)
    for value in values:
        total = total + value
        if isinstance(total, int):
            total = wrap(total)
    return total


def _avg(values: list[Any]) -> float | None:
    """Integers have an exact sum; that of floats is rounded tuple by tuple."""
    if values and isinstance(values[0], int):
        return int(sum(values)) / len(values)
    return float(_sum(values)) / len(values) if values else None


def _stddev(values: list[float]) -> float | None:
    """Of a sample, by Welford's method."""
    count, mean, squares = 0, 0.0, 0.0
    for value in values:
        count += 1
        delta = value - mean
        mean += delta / count
        squares += delta * (value - mean)
    if count < 2:
        return None
    return math.sqrt(squares / (count - 1)) if not math.isnan(squares) else math.nan


def _percentile(values: list[float], share: float) -> float | None:
    """Between the two values next to the place, in proportion."""
    if not values:
        return None
    place = share * (len(values) - 1)
    below, above = values[math.floor(place)], values[math.ceil(place)]
    part = place - math.floor(place)
    return below if part == 0 or below == above else below + (above - below) * part


def _approx_percentile(values: list[float], share: float) -> float | None:
    """The middle of the bucket of the value at the place: there are 64 from one power of two to the next."""
    if not values:
        return None
    value = values[math.floor(share * (len(values) - 1))]
    if value == 0 or not math.isfinite(value):
        return value
    mantissa, exponent = math.frexp(abs(value))
    middle = 0.5 + (math.floor((mantissa - 0.5) * 128) + 0.5) / 128
    return math.copysign(math.ldexp(middle, exponent), value)


_PERCENTILES = {"percentile": _percentile, "approx_percentile": _approx_percentile}
_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "count_distinct": lambda values: len({group_of({"_": value}, ("_",)) for value in values}),
    "sum": _sum,
    "avg": _avg,
    "min": least,
    "max": greatest,
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
    "stddev": _stddev,
}
