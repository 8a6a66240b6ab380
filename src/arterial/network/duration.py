"""Durations: "1 minute", "30 seconds", or a number of seconds; counted in the unit of a stream's time column."""

from __future__ import annotations

import re
from fractions import Fraction

from arterial.errors import NetworkError
from arterial.network.schema import Type

Duration = str | int | float
"""A text such as "1 minute" or "500 ms", or a number of seconds."""

_SECONDS = {
    "us": Fraction(1, 1_000_000), "microsecond": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1000), "millisecond": Fraction(1, 1000),
    "s": Fraction(1), "sec": Fraction(1), "second": Fraction(1),
    "min": Fraction(60), "minute": Fraction(60),
    "h": Fraction(3600), "hour": Fraction(3600),
    "d": Fraction(86400), "day": Fraction(86400), "week": Fraction(604800),
}  # fmt: skip
_UNITS_A_SECOND = {Type.TIMESTAMP: 1_000_000}
LONGEST = 2**60
"""What is kept for so many units of a time column is kept for ever."""


def units(duration: Duration, time: Type, what: str, least: int = 1) -> int:
    """The duration in units of a time column of that type: seconds for integers, microseconds for timestamps.

    >>> units("1 minute", Type.INT64, "every")
    60
    """
    count = _seconds(duration, what) * _UNITS_A_SECOND.get(time, 1)
    if count.denominator != 1:
        raise NetworkError(f"{what} is {duration!r}, but the time column counts whole seconds ({time})")
    if count < least:
        raise NetworkError(f"{what} must be {'more than' if least else 'at least'} 0, got {duration!r}")
    if count > LONGEST:
        raise NetworkError(f"{what} must be at most {LONGEST} units of the time column ({time}), got {duration!r}")
    return int(count)


def as_duration(count: int, time: Type) -> str:
    """Units of a time column as a duration.

    >>> as_duration(2_500_000, Type.TIMESTAMP)
    '2500 ms'
    """
    if time is not Type.TIMESTAMP:
        return f"{count} s"
    name, size = next((name, size) for name, size in (("s", 1_000_000), ("ms", 1000), ("us", 1)) if count % size == 0)
    return f"{count // size} {name}"


def check_duration(duration: object, what: str) -> None:
    """Raise unless it is a duration."""
    _seconds(duration, what)


def _seconds(duration: object, what: str) -> Fraction:
    if isinstance(duration, int | float) and not isinstance(duration, bool):
        try:
            return Fraction(str(duration))
        except ValueError:
            pass
    elif isinstance(duration, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", duration.lower())
        if match:
            unit = match[2] if match[2] in _SECONDS else match[2].removesuffix("s")
            if unit in _SECONDS:
                return Fraction(match[1]) * _SECONDS[unit]
    raise NetworkError(f"{what} must be a duration such as '1 minute', '30 s' or a number of seconds, got {duration!r}")
