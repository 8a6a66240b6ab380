"""Evaluates expressions on one tuple, in plain Python: this is what they mean."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from arterial.network.expression import elementwise
from arterial.network.expression.parser import parse
from arterial.network.expression.tree import Column, Literal, Tree
from arterial.network.schema import FIRST_MICROSECOND, LAST_MICROSECOND, Schema, Type

Tuple = Mapping[str, Any]
EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


@lru_cache(maxsize=4096)
def scalar(tree: Tree) -> Callable[[Tuple], Any]:
    """The function that computes the tree for a tuple."""
    if isinstance(tree, Column):
        name = tree.name
        return lambda t: t[name]
    if isinstance(tree, Literal):
        value = instant_to_value(tree.value, Type.TIMESTAMP) if tree.type is Type.TIMESTAMP else tree.value
        return lambda t: value
    arguments = [scalar(argument) for argument in tree.arguments]
    if tree.function == "cast":
        of, to = arguments[0], tree.type
        assert to is not None
        return lambda t: None if (v := of(t)) is None else cast_value(v, to)
    if tree.function in _LAZY:
        lazy = _LAZY[tree.function]
        return lambda t: lazy(t, arguments)
    function = _FUNCTIONS[tree.function]
    if tree.type is Type.INT64:
        return lambda t: None if None in (vs := [a(t) for a in arguments]) else wrap(function(*vs))
    return lambda t: None if None in (vs := [a(t) for a in arguments]) else function(*vs)


def evaluate(text: str, schema: Schema, values: Tuple) -> Any:
    """The value of an expression for one tuple."""
    return scalar(parse(text, schema))(values)


def wrap(value: int | None) -> int | None:
    """An integer as 64 bits hold it."""
    return None if value is None else (value + 2**63) % 2**64 - 2**63


def less(a: Any, b: Any) -> bool:
    """Whether a comes before b; NaN comes after every other number."""
    if isinstance(a, float) and math.isnan(a):
        return False
    if isinstance(b, float) and math.isnan(b):
        return True
    return bool(a < b)


def least(values: Iterable[Any]) -> Any:
    """The first of the least values that are not null, or null."""
    best = None
    for value in values:
        if value is not None and (best is None or less(value, best)):
            best = value
    return best


def greatest(values: Iterable[Any]) -> Any:
    """The first of the greatest values that are not null, or null."""
    best = None
    for value in values:
        if value is not None and (best is None or less(best, value)):
            best = value
    return best


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same; NaN is the same as NaN."""
    return not less(a, b) and not less(b, a)


def cast_value(value: Any, to: Type) -> Any:
    """The value as that type, or None where it does not fit."""
    if isinstance(value, datetime):
        if to is Type.STRING:
            text = value.isoformat(sep=" ")
            return text.rstrip("0") if value.microsecond else text
        return value_to_instant(value) if to is Type.INT64 else value
    if to is Type.TIMESTAMP:
        if isinstance(value, str):
            return _parse_instant(value)
        return instant_to_value(value, to) if FIRST_MICROSECOND <= value <= LAST_MICROSECOND else None
    if to is Type.STRING:
        return value if isinstance(value, str) else str(value).lower()
    if to is Type.BOOL and isinstance(value, str):
        return {"true": True, "t": True, "yes": True, "y": True, "1": True}.get(
            value.lower(), False if value.lower() in ("false", "f", "no", "n", "0") else None
        )
    if to is Type.BOOL:
        return value != 0
    if isinstance(value, str):
        return _parse_number(value, to)
    if to is Type.FLOAT64:
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return _fitting(int(value), to)


def value_to_instant(value: Any) -> int:
    """A time as a number: seconds as they are, timestamps in microseconds."""
    return (value - EPOCH) // _MICROSECOND if isinstance(value, datetime) else int(value)


def instant_to_value(instant: Any, kind: Type) -> Any:
    """A number as a time of that type."""
    if instant is None:
        return None
    return EPOCH + timedelta(microseconds=instant) if kind is Type.TIMESTAMP else instant


_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


def _fitting(value: int, to: Type) -> int | None:
    half = 2 ** (_BITS[to] - 1)
    return value if -half <= value < half else None


def _parse_number(text: str, to: Type) -> Any:
    if to is not Type.FLOAT64:
        return _fitting(int(text), to) if re.fullmatch(r"[+-]?[0-9]+", text) else None
    number = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(inf|infinity|nan)"
    return float(text) if re.fullmatch(number, text, re.IGNORECASE) else None


def _parse_instant(text: str) -> datetime | None:
    """A date, or a date and a time to the minute, second or microsecond."""
    date = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    if not re.fullmatch(date + r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?Z?", text):
        return None
    whole, _, fraction = text.removesuffix("Z").replace("T", " ").partition(".")
    try:
        return datetime.fromisoformat(whole).replace(microsecond=int((fraction or "0").ljust(6, "0")))
    except ValueError:
        return None


def _and(t: Tuple, arguments: list[Callable[[Tuple], Any]]) -> bool | None:
    values = [a(t) for a in arguments]
    return False if False in values else None if None in values else True


def _or(t: Tuple, arguments: list[Callable[[Tuple], Any]]) -> bool | None:
    values = [a(t) for a in arguments]
    return True if True in values else None if None in values else False


def _case(t: Tuple, arguments: list[Callable[[Tuple], Any]]) -> Any:
    for i in range(0, len(arguments) - 1, 2):
        if arguments[i](t):
            return arguments[i + 1](t)
    return arguments[-1](t)


def _coalesce(t: Tuple, arguments: list[Callable[[Tuple], Any]]) -> Any:
    return next((v for a in arguments if (v := a(t)) is not None), None)


def _greatest(t: Tuple, arguments: list[Callable[[Tuple], Any]]) -> Any:
    return greatest(a(t) for a in arguments)


def _least(t: Tuple, arguments: list[Callable[[Tuple], Any]]) -> Any:
    return least(a(t) for a in arguments)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda a: math.copysign(float(function(a)), a) if math.isfinite(a) else a


def _like(text: str, pattern: str) -> bool:
    signs = {"%": ".*", "_": "."}
    expected = "".join(signs.get(sign) or re.escape(sign) for sign in pattern)
    return re.fullmatch(expected, text, re.DOTALL) is not None


def _substr(text: str, start: int, length: int | None = None) -> str:
    """Places count from 1, below zero from the end; there is nothing before the first."""
    begin = start + len(text) + 1 if start < 0 else start
    end = len(text) + 1 if length is None else begin + length
    return "".join(sign for place, sign in enumerate(text, 1) if begin <= place < end)


def _regexp(pattern: str) -> re.Pattern[str]:
    """`$` is the very end of the text, not also before a last line break."""
    return re.compile(re.sub(r"(\\.|\[[^\]]*\])|\$", lambda found: found[1] or r"\Z", pattern))


def _regexp_replace(text: str, pattern: str, new: str, everywhere: bool) -> str:
    def replacement(found: re.Match[str]) -> str:
        return re.sub(r"\\([0-9])", lambda group: found[int(group[1])] or "", new)

    return _regexp(pattern).sub(replacement, text, count=0 if everywhere else 1)


def _regexp_extract(text: str, pattern: str, group: int) -> str:
    found = _regexp(pattern).search(text)
    return (found[group] or "") if found else ""


def _strftime(time: datetime, form: str) -> str:
    """A year has four digits, also the first ones, which C writes shorter."""
    return time.strftime(re.sub(r"%(.)", lambda code: f"{time.year:04}" if code[1] == "Y" else code[0], form))


_LAZY: dict[str, Callable[[Tuple, list[Callable[[Tuple], Any]]], Any]] = {
    "and": _and,
    "or": _or,
    "case": _case,
    "coalesce": _coalesce,
    "greatest": _greatest,
    "least": _least,
    "is_null": lambda t, arguments: arguments[0](t) is None,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b != 0 else None,
    "//": lambda a, b: a // b if b != 0 else None,
    "%": lambda a, b: a % b if b != 0 else None,
    "=": equal,
    "<>": lambda a, b: not equal(a, b),
    "<": less,
    "<=": lambda a, b: not less(b, a),
    ">": lambda a, b: less(b, a),
    ">=": lambda a, b: not less(a, b),
    "not": lambda a: not a,
    "neg": lambda a: -a,
    "abs": abs,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "round": _whole(round),
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else a if math.isnan(a) else None,
    "length": len,
    "lower": str.lower,
    "upper": str.upper,
    "trim": str.strip,
    "ltrim": str.lstrip,
    "rtrim": str.rstrip,
    "year": lambda a: a.year,
    "month": lambda a: a.month,
    "day": lambda a: a.day,
    "dayofyear": lambda a: a.timetuple().tm_yday,
    "strftime": _strftime,
    "regexp_matches": lambda a, pattern: _regexp(pattern).search(a) is not None,
    "regexp_replace": _regexp_replace,
    "regexp_extract": _regexp_extract,
    "concat": lambda a, b: a + b,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda a, b: b in a,
    "like": _like,
    "substr": _substr,
    **elementwise.FLOATS,
    **elementwise.TEXTS,
    **elementwise.WHOLE,
}
