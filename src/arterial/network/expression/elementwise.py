"""Functions of single values that both engines call, for two libraries would differ in the last bit or in rare cases.

They get no nulls; null is a result where there is none, as of the logarithm of a negative number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def _guarded(function: Callable[..., float]) -> Callable[..., float | None]:
    """Null where the function is not defined, infinity where the result is too large."""

    def call(*values: float) -> float | None:
        try:
            return function(*values)
        except ValueError:
            return None
        except OverflowError:
            return -math.inf if values[0] < 0 and len(values) == 2 and values[1] % 2 == 1 else math.inf

    return call


def sinh(value: float) -> float:
    """The hyperbolic sine; infinity of the value's sign where it is too large."""
    try:
        return math.sinh(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def lpad(text: str, length: int, fill: str) -> str:
    """The text with the filling before it, or its beginning, in that length; without filling as it is."""
    return _filling(length - len(text), fill) + text[:length]


def rpad(text: str, length: int, fill: str) -> str:
    """The text with the filling behind it, or its beginning, in that length; without filling as it is."""
    return text[:length] + _filling(length - len(text), fill)


def split_part(text: str, separator: str, number: int) -> str:
    """The part of that number, from 1, or from the end if negative; empty if there is none."""
    parts = text.split(separator)
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if number and 0 <= place < len(parts) else ""


def _filling(length: int, fill: str) -> str:
    return (fill * length)[: max(length, 0)]


_OF_FLOATS: dict[str, Callable[..., float]] = {
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "exp": math.exp, "ln": math.log, "log10": math.log10, "log2": math.log2, "atan2": math.atan2, "pow": math.pow,
    "sinh": sinh, "cosh": math.cosh, "tanh": math.tanh,
}  # fmt: skip
FLOATS: dict[str, Callable[..., Any]] = {name: _guarded(function) for name, function in _OF_FLOATS.items()}
TEXTS: dict[str, Callable[..., Any]] = {
    "lpad": lpad,
    "rpad": rpad,
    "split_part": split_part,
    "repeat": lambda text, times: text * times,
    "reverse": lambda text: text[::-1],
    "replace": lambda text, old, new: text.replace(old, new) if old else text,
}
WHOLE: dict[str, Callable[..., Any]] = {"strpos": lambda text, part: text.find(part) + 1}
