"""Evaluates expressions over the columns of a train, with polars."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import polars as pl

from arterial.network.expression import elementwise
from arterial.network.expression.tree import Column, Literal, Tree
from arterial.network.schema import Type, within_years

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
"""Text that stands for true and for false, in any case."""
INSTANT = r"^\d{4}-\d{2}-\d{2}([ T]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?)?Z?$"
"""Text that can be a timestamp."""


@lru_cache(maxsize=4096)
def vectorised(tree: Tree) -> pl.Expr:
    """The polars expression that computes the tree for every tuple."""
    if isinstance(tree, Column):
        return pl.col(tree.name)
    if isinstance(tree, Literal):
        if tree.value is None:
            return pl.lit(None, dtype=None if tree.type is None else tree.type.polars)
        assert tree.type is not None
        if tree.type is Type.TIMESTAMP:
            return pl.lit(tree.value, dtype=pl.Int64()).cast(tree.type.polars)
        return pl.lit(tree.value, dtype=tree.type.polars)
    arguments = [vectorised(argument) for argument in tree.arguments]
    if tree.function == "cast":
        assert tree.type is not None
        return _cast(arguments[0], tree.arguments[0].type, tree.type)
    constants = [argument.value for argument in tree.arguments[1:] if isinstance(argument, Literal)]
    if tree.function == "replace" and len(constants) == 2 and None not in constants and constants[0]:
        return arguments[0].str.replace_all(str(constants[0]), str(constants[1]), literal=True)
    if tree.function in _WITH_CONSTANTS:
        return _WITH_CONSTANTS[tree.function](arguments[0], *constants)
    for functions, kind in _ELEMENTWISE:
        if tree.function in functions:
            return _each(functions[tree.function], arguments, kind)
    return _FUNCTIONS[tree.function](*arguments)


def evaluate(tuples: pl.DataFrame, trees: Sequence[Tree], height: int | None = None) -> list[pl.Series]:
    """The values of all trees for every tuple. `height` is their number, where no column says so."""
    height = tuples.height if height is None else height
    names = [tree.name for tree in trees if isinstance(tree, Column)]
    if len(names) == len(trees):
        return [tuples[name].alias(str(i)) for i, name in enumerate(names)]  # nothing to compute, nothing to plan
    expressions = [vectorised(tree).alias(str(i)) for i, tree in enumerate(trees)]
    if len(expressions) > 1:
        try:
            columns = tuples.select(expressions)
        except (pl.exceptions.ShapeError, pl.exceptions.InvalidOperationError):
            pass  # polars takes what it finds to be constant for a column of length one
        else:
            if columns.height == height:
                return columns.get_columns()
    return [_spread(tuples.select(expression).to_series(), height) for expression in expressions]


def truth(tuples: pl.DataFrame, tree: Tree, height: int | None = None) -> pl.Series:
    """For which tuples the tree is true; null is not."""
    (values,) = evaluate(tuples, [tree], height)
    return values.fill_null(False) if values.null_count() else values


def divide(left: pl.Series, right: pl.Series) -> pl.Series:
    """True division of floats, null where the divisor is zero.

    Polars multiplies by the reciprocal where it finds the divisor to be constant, except for a single tuple: the last
    bit would depend on where a train was cut. Numpy always divides.
    """
    numerator, divisor = left.to_numpy(), right.to_numpy()
    with np.errstate(all="ignore"):
        quotients = numerator / divisor
    missing = divisor == 0
    for side in (left, right):
        if side.null_count():
            missing = missing | side.is_null().to_numpy()
    result = pl.Series(quotients)
    return result.set(pl.Series(np.broadcast_to(missing, quotients.shape)), None) if missing.any() else result


def like_pattern(pattern: str) -> str:
    """The regular expression of a `like` pattern: % is any text, _ any one character."""
    signs = {"%": ".*", "_": "."}
    return "(?s)^" + "".join(signs.get(sign) or re.escape(sign) for sign in pattern) + "$"


def _spread(values: pl.Series, height: int) -> pl.Series:
    if len(values) == height:
        return values
    return values.new_from_index(0, height) if height else values.clear()


def _cast(value: pl.Expr, origin: Type | None, to: Type) -> pl.Expr:
    if to is Type.BOOL and origin is not None and origin.is_number:
        return value != 0
    if to is Type.BOOL and origin is Type.STRING:
        word = value.str.to_lowercase()
        return pl.when(word.is_in(TRUE)).then(True).when(word.is_in(FALSE)).then(False)
    if to is Type.TIMESTAMP and origin is Type.STRING:
        return _instant(value)
    if to is Type.STRING and origin is Type.TIMESTAMP:
        text = value.dt.strftime("%Y-%m-%d %H:%M:%S%.6f").str.replace(r"(\.\d*?)0+$", "${1}")
        return text.str.strip_suffix(".")
    if to is Type.TIMESTAMP:
        return value.cast(to.polars, strict=False).map_batches(within_years, return_dtype=to.polars)
    return value.cast(to.polars, strict=False)


def _instant(text: pl.Expr) -> pl.Expr:
    """Text such as 2026-11-15 20:00:00.5 as a timestamp; null where it is none."""
    plain = pl.when(text.str.contains(INSTANT) & ~text.str.starts_with("0000")).then(
        text.str.replace("T", " ").str.strip_suffix("Z")
    )
    forms = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")
    whole = [plain.str.to_datetime(form, time_unit="us", strict=False) for form in forms]
    return pl.coalesce(*whole, (plain + " 00:00").str.to_datetime(forms[1], time_unit="us", strict=False))


def _each(function: Callable[..., Any], arguments: Sequence[pl.Expr], kind: Type) -> pl.Expr:
    """A function of single values, over columns."""

    def call(columns: Sequence[pl.Series]) -> pl.Series:
        height = next((len(column) for column in columns if len(column) != 1), 1)
        rows = zip(*(_spread(column, height).to_list() for column in columns), strict=True)
        return pl.Series([None if None in row else function(*row) for row in rows], dtype=kind.polars)

    return pl.map_batches(list(arguments), call, return_dtype=kind.polars)


def _substr(text: pl.Expr, start: int, length: int | None = None) -> pl.Expr:
    """A start below zero counts from the end; places before the first character are empty."""
    if start > 0:
        return text.str.slice(start - 1, length)
    begin = text.str.len_chars().cast(pl.Int64) + start if start else pl.lit(-1, pl.Int64)
    if length is None:
        return text.str.slice(begin.clip(0))
    return text.str.slice(begin.clip(0), (begin + length).clip(0) - begin.clip(0))


def _regexp_replace(text: pl.Expr, pattern: str, new: str, everywhere: bool) -> pl.Expr:
    template = re.sub(r"\\(\d)", r"${\1}", new.replace("$", "$$"))
    return text.str.replace_all(pattern, template) if everywhere else text.str.replace(pattern, template)


def _regexp_extract(text: pl.Expr, pattern: str, group: int) -> pl.Expr:
    return pl.when(text.is_not_null()).then(text.str.extract(f"({pattern})", 1 + group).fill_null(""))


def _divide(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return pl.map_batches([left, right], lambda sides: divide(sides[0], sides[1]), return_dtype=pl.Float64())


def _case(*arguments: pl.Expr) -> pl.Expr:
    result = arguments[-1]
    for i in range(len(arguments) - 3, -1, -2):
        result = pl.when(arguments[i]).then(arguments[i + 1]).otherwise(result)
    return result


def _greatest(*values: pl.Expr) -> pl.Expr:
    return _best(lambda a, b: pl.when(a.is_null() | (a < b)).then(b).otherwise(a), values)


def _least(*values: pl.Expr) -> pl.Expr:
    return _best(lambda a, b: pl.when(a.is_null() | (b < a)).then(b).otherwise(a), values)


def _best(better: Callable[[Any, Any], pl.Expr], values: Sequence[pl.Expr]) -> pl.Expr:
    """The best of the values, two at a time: one expression of all would have three times the parts for each more."""
    if len(values) < 3:
        return reduce(better, values)
    return pl.fold(values[0], lambda a, b: pl.select(better(a, b)).to_series(), values[1:])


_FUNCTIONS: dict[str, Callable[..., pl.Expr]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "not": lambda a: ~a,
    "neg": lambda a: -a,
    "is_null": lambda a: a.is_null(),
    "case": _case,
    "coalesce": lambda *values: pl.coalesce(*values),
    "greatest": _greatest,
    "least": _least,
    "abs": lambda a: a.abs(),
    "floor": lambda a: a.floor(),
    "ceil": lambda a: a.ceil(),
    "round": lambda a: a.round(0, mode="half_to_even"),
    "sqrt": lambda a: pl.when(a >= 0).then(a.sqrt()),
    "length": lambda a: a.str.len_chars().cast(pl.Int64),
    "lower": lambda a: a.str.to_lowercase(),
    "upper": lambda a: a.str.to_uppercase(),
    "year": lambda a: a.dt.year().cast(pl.Int64),
    "month": lambda a: a.dt.month().cast(pl.Int64),
    "day": lambda a: a.dt.day().cast(pl.Int64),
    "dayofyear": lambda a: a.dt.ordinal_day().cast(pl.Int64),
    "concat": lambda a, b: a + b,
    "starts_with": lambda a, b: a.str.starts_with(b),
    "ends_with": lambda a, b: a.str.ends_with(b),
    "contains": lambda a, b: a.str.contains(b, literal=True),
}
_WITH_CONSTANTS: dict[str, Callable[..., pl.Expr]] = {
    "like": lambda a, pattern: a.str.contains(like_pattern(pattern)),
    "substr": _substr,
    "trim": lambda a, signs: a.str.strip_chars(signs),
    "ltrim": lambda a, signs: a.str.strip_chars_start(signs),
    "rtrim": lambda a, signs: a.str.strip_chars_end(signs),
    "strftime": lambda a, form: a.dt.strftime(form.replace("%f", "%6f")),
    "regexp_matches": lambda a, pattern: a.str.contains(pattern),
    "regexp_replace": _regexp_replace,
    "regexp_extract": _regexp_extract,
}
"""Functions whose arguments after the first are constants."""
_ELEMENTWISE = (
    (elementwise.FLOATS, Type.FLOAT64),
    (elementwise.TEXTS, Type.STRING),
    (elementwise.WHOLE, Type.INT64),
)
