"""Evaluates expressions over the columns of a train, with polars."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, reduce

import numpy as np
import polars as pl

from arterial.network.expression import parse
from arterial.network.schema import Schema, Type
from arterial.network.tree import Column, Literal, Tree, reads


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
    if tree.function == "/" and reads(tree.arguments[0]) and not reads(tree.arguments[1]):
        return _divide_by_constant(arguments[0], pl.select(arguments[1]).item())
    if tree.function in ("like", "substr", "replace"):
        return _TEXT[tree.function](arguments[0], *(a.value for a in tree.arguments[1:] if isinstance(a, Literal)))
    return _FUNCTIONS[tree.function](*arguments)


def expression(text: str, schema: Schema) -> pl.Expr:
    """The polars expression of a text over tuples of that schema."""
    return vectorised(parse(text, schema))


def like_pattern(pattern: str) -> str:
    """The regular expression of a `like` pattern: % is any text, _ any one character."""
    signs = {"%": ".*", "_": "."}
    return "(?s)^" + "".join(signs.get(sign) or re.escape(sign) for sign in pattern) + "$"


def _cast(value: pl.Expr, origin: Type | None, to: Type) -> pl.Expr:
    if to is Type.BOOL and origin is not None and origin.is_number:
        return value != 0
    return value.cast(to.polars, strict=False)


def _divide(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return pl.when(right != 0).then(left / right)


def _divide_by_constant(left: pl.Expr, divisor: float | None) -> pl.Expr:
    """True division. Polars would multiply by the reciprocal, except where there is just one tuple: the last bit would
    depend on where a train was cut."""
    if not divisor:
        return pl.lit(None, dtype=pl.Float64())

    def divide(values: pl.Series) -> pl.Series:
        with np.errstate(all="ignore"):
            quotients = pl.Series(values.to_numpy() / divisor)
        return quotients.set(values.is_null(), None) if values.null_count() else quotients

    return left.map_batches(divide, return_dtype=pl.Float64())


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
