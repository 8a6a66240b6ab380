"""Aggregates over what stands of a signed stream: values of each group at the end of every instant that touched it.

A running count or sum of integers is exact both ways. A sum of floats is kept exactly, as an integer multiple of the
smallest float, and rounded when it is emitted: so it depends neither on the order in which rows came and went nor on
rows that have gone. What needs the values themselves is in `_values`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts import exact
from arterial.boxes.parts.signed import running
from arterial.boxes.parts.windows.accumulate import is_whole_mean, numbers_of
from arterial.network.expression.aggregate import Aggregation
from arterial.network.expression.tree import Call
from arterial.network.schema import Type

ROWS = "@n"
SUPPORTED = frozenset({"count", "count_distinct", "sum", "avg", "min", "max"})
OF_VALUES = frozenset({"count_distinct", "min", "max"})
"""Those that need to know how often each value stands."""
FINEST = 1074
"""Every float is a whole multiple of 2 to the power of minus this."""


def accumulators(plan: Aggregation) -> dict[str, pl.DataType]:
    """The columns that are kept of a group beside its key and its number of rows."""
    columns: dict[str, pl.DataType] = {}
    for i, call in enumerate(plan.calls):
        if call.function == "count":
            columns[f"@{i}"] = pl.Int64()
        elif is_whole_mean(call):
            columns |= {f"@{i}.{part}": pl.Int64() for part in ("upper", "lower", "n")}
        elif call.function in ("sum", "avg"):
            columns |= {f"@{i}": pl.String() if is_float(call) else pl.Int64(), f"@{i}.n": pl.Int64()}
            if is_float(call):
                columns |= {f"@{i}.{what}": pl.Int64() for what in ("nan", "up", "down")}
    return columns


def is_float(call: Call) -> bool:
    """Whether a sum or a mean is over floats."""
    return call.type is Type.FLOAT64 and not is_whole_mean(call)


@dataclass(frozen=True)
class Elements:
    """What happens to groups, in the order of (group, time): first what each group had before, then its tuples.

    `rows` are rows of the groups before or, where `is_tuple`, of the tuples. At the `ends`, which are the last elements
    of their instants, values are emitted.
    """

    groups: Array
    is_tuple: Array
    rows: Array
    is_end: Array

    @property
    def ends(self) -> Array:
        """Where the ends are."""
        return np.flatnonzero(self.is_end)

    def totals(self, before: pl.Series, deltas: Array) -> Array:
        """A sum for each end, from what groups had and what each tuple adds."""
        amounts = np.zeros(len(self.groups), np.int64)
        amounts[~self.is_tuple] = before.to_numpy()[self.rows[~self.is_tuple]]
        amounts[self.is_tuple] = deltas[self.rows[self.is_tuple]]
        return running(amounts, self.groups)[self.is_end]


def sums(
    i: int, call: Call, values: pl.Series, weights: Array, before: pl.DataFrame, elements: Elements
) -> tuple[dict[str, pl.Series], pl.Series]:
    """The accumulators of a sum or a mean at each end, and its value."""
    valid = values.is_not_null().to_numpy()
    numbers = numbers_of(values)
    counts = elements.totals(before[f"@{i}.n"], weights * valid)
    kept = {f"@{i}.n": pl.Series(counts)}
    if is_whole_mean(call):
        upper, lower = (
            elements.totals(before[f"@{i}.{half}"], weights * np.where(valid, part, 0))
            for half, part in zip(("upper", "lower"), exact.halves(numbers), strict=True)
        )
        kept |= {f"@{i}.upper": pl.Series(upper), f"@{i}.lower": pl.Series(lower)}
        return kept, exact.mean(upper, lower, counts)
    if not is_float(call):
        whole = elements.totals(before[f"@{i}"], weights * np.where(valid, numbers, 0))
        return kept | {f"@{i}": pl.Series(whole)}, pl.Series(whole).set(pl.Series(counts <= 0), None)
    signs = {
        "nan": valid & np.isnan(numbers),
        "up": valid & (numbers == np.inf),
        "down": valid & (numbers == -np.inf),
    }
    special = {what: elements.totals(before[f"@{i}.{what}"], weights * at) for what, at in signs.items()}
    finite = np.where(valid & np.isfinite(numbers), numbers, 0.0)
    totals = _exact_totals(finite, weights, before[f"@{i}"].to_list(), elements)
    parts = np.maximum(counts, 1).tolist() if call.function == "avg" else [1] * len(totals)
    total = np.array([_rounded(one, n) for one, n in zip(totals, parts, strict=True)], np.float64)
    total[special["up"] > 0] = np.inf
    total[special["down"] > 0] = -np.inf
    total[(special["nan"] > 0) | ((special["up"] > 0) & (special["down"] > 0))] = np.nan
    kept |= {f"@{i}": pl.Series([f"{one:x}" for one in totals], dtype=pl.String)}
    kept |= {f"@{i}.{what}": pl.Series(count) for what, count in special.items()}
    return kept, pl.Series(total).set(pl.Series(counts <= 0), None)


def _exact_totals(numbers: Array, weights: Array, before: list[str], elements: Elements) -> list[int]:
    mantissas, exponents = np.frexp(numbers)
    whole = (np.ldexp(mantissas, 53).astype(np.int64)).tolist()
    shifts = (exponents.astype(np.int64) - 53 + FINEST).tolist()
    signs = weights.tolist()
    found: list[int] = []
    total = 0
    for tuple_, row, end in zip(
        elements.is_tuple.tolist(), elements.rows.tolist(), elements.is_end.tolist(), strict=True
    ):
        if not tuple_:
            total = int(before[row], 16)
        elif whole[row]:
            shift = shifts[row]
            part = whole[row] << shift if shift >= 0 else whole[row] >> -shift  # the bits shifted out are zero
            total += signs[row] * part
        if end:
            found.append(total)
    return found


def _rounded(total: int, count: int) -> float:
    """The total divided by the count, rounded once."""
    try:
        return total / (count << FINEST)
    except OverflowError:
        return math.inf if total > 0 else -math.inf
