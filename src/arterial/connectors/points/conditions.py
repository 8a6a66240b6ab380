"""Conditions on the columns of a table that leave out files and row groups without opening or reading them.

A condition never decides about a tuple: it only says that no tuple of a range of values can be wanted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from arterial.connectors.points.contents import Range


@dataclass(frozen=True)
class Condition:
    """A column is from `least` to `greatest`, both included, and one of `values`; what is None is no bound."""

    column: str
    least: Any = None
    greatest: Any = None
    values: tuple[Any, ...] | None = None
    """In order."""

    def may_hold(self, range: Range) -> bool:
        """Whether a value of that range may satisfy it."""
        least, greatest = range
        if (self.least is not None and greatest < self.least) or (self.greatest is not None and least > self.greatest):
            return False
        if self.values is None:
            return True
        at = bisect_left(self.values, least)
        return at < len(self.values) and bool(self.values[at] <= greatest)


def matching(conditions: Iterable[Condition], columns: Iterable[str]) -> pl.Expr:
    """The tuples that satisfy all conditions on these columns; others cannot be wanted."""
    known, tests = set(columns), [pl.lit(True)]
    for one in conditions:
        if one.column in known:
            value = pl.col(one.column).to_physical()
            tests += [] if one.least is None else [value >= one.least]
            tests += [] if one.greatest is None else [value <= one.greatest]
            tests += [] if one.values is None else [value.is_in(list(one.values))]
    return pl.all_horizontal(tests)


def may_match(conditions: Iterable[Condition], ranges: Mapping[str, Range]) -> bool:
    """Whether tuples with columns of these ranges may satisfy all conditions; an unknown range may hold anything.

    >>> may_match([Condition("seg", 4, 6)], {"seg": (7, 99)})
    False
    """
    for condition in conditions:
        if condition.column in ranges and not _may_hold(condition, ranges[condition.column]):
            return False
    return True


def _may_hold(condition: Condition, range: Range) -> bool:
    try:
        return condition.may_hold(range)
    except TypeError:  # a text against a number: the filter itself will judge
        return True
