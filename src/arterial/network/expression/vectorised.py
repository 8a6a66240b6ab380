"""Evaluates expressions over the columns of a train, with polars."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce

import numpy as np
import polars as pl

from arterial.network.expression.tree import Column, Literal, Tree
from arterial.network.schema import Type


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
    if tree.function in ("like", "substr", "replace"):
        return _TEXT[tree.function](arguments[0], *(a.value for a in tree.arguments[1:] if isinstance(a, Literal)))
    return _FUNCTIONS[tree.function](*arguments)


def evaluate(tuples: pl.DataFrame, trees: Sequence[Tree], height: int | None = None) -> list[pl.Series]:
    """The values of all trees for every tuple. `height` is their number, where no column says so."""
    height = tuples.height if height is None else height
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
    return value.cast(to.polars, strict=False)


def _divide(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return pl.map_batches([left, right], lambda sides: divide(sides[0], sides[1]), return_dtype=pl.Float64())


def _case(*arguments: pl.Expr) -> pl.Expr:
    result = arguments[-1]
    for i in range(len(arguments) - 3, -1, -2):
        result = pl.when(arguments[i]).then(arguments[i + 1]).otherwise(result)
    return result


def _greatest(*values: pl.Expr) -> pl.Expr:
    return reduce(lambda a, b: pl.when(a.is_null() | (a < b)).then(b).otherwise(a), values)


def _least(*values: pl.Expr) -> pl.Expr:
    return reduce(lambda a, b: pl.when(a.is_null() | (b < a)).then(b).otherwise(a), values)


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
    "trim": lambda a: a.str.strip_chars(" "),
    "concat": lambda a, b: a + b,
    "starts_with": lambda a, b: a.str.starts_with(b),
    "ends_with": lambda a, b: a.str.ends_with(b),
    "contains": lambda a, b: a.str.contains(b, literal=True),
}
_TEXT: dict[str, Callable[..., pl.Expr]] = {
    "like": lambda a, pattern: a.str.contains(like_pattern(pattern)),
    "substr": lambda a, start, length=None: a.str.slice(start - 1, length),
    "replace": lambda a, old, new: a.str.replace_all(old, new, literal=True),
}
