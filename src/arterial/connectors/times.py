"""Times as people write them: ISO 8601 with or without a zone, and numbers of seconds since 1970 or parts of them.

Every text is judged by itself. The result is UTC in microseconds; what is finer is cut off.
"""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import polars as pl
from numba import njit

from arterial.arrays import Array
from arterial.errors import DataError, near
from arterial.network.schema import FIRST_MICROSECOND, LAST_MICROSECOND

FORMATS = (
    "2026-03-01T06:00:00Z, 2026-03-01 06:00:00.125, 2026-03-01T06:00+01:00, 2026-03-01, or a number of seconds, "
    "milliseconds, microseconds or nanoseconds since 1970"
)
"""What a user may write, for messages."""

UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
"""How many nanoseconds each unit of numbers has."""

NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}

_SECONDS_BELOW = 1e11
"""A larger number cannot be seconds: they would be after the year 5000."""

SECONDS_FROM = 1e8
"""Seconds since 1973. Smaller numbers may be anything: they count from the start of a test, say."""

_YEAR = 31_536_000
"""The seconds of 1970."""

_FIRST = 1000
"""So many numbers are looked at."""

_NO_TIME_OF_DAY = re.compile(r"^\s*\d{4}-\d\d-\d\d[Tt ](24:00|\d\d:\d\d:60)")
"""Midnight as the end of a day, and leap seconds, which are written where one is inserted."""

_BAD, _NAIVE, _WITH_ZONE = 0, 1, 2


def parse_times(
    texts: pl.Series, *, unit: str | None = None, timezone: str | None = None, recognised: bool = False
) -> pl.Series:
    """Texts as timestamps in UTC; null where a text is not a time.

    Numbers count `unit`s since 1970; without one it is what `unit_of` recognises in these texts. If the unit was
    `recognised`, a number that must be of another is no time. A time without a zone is in `timezone`, by default UTC.

    >>> parse_times(pl.Series(["2026-03-01T06:00:00.5+01:00", "2026-03-01", "1772323200", "noon"])).to_list()[0]
    datetime.datetime(2026, 3, 1, 5, 0, 0, 500000)
    """
    times, kinds = _parse_iso(texts)
    found = _localized(pl.Series(texts.name, times).cast(pl.Datetime("us")), kinds == _NAIVE, timezone)
    is_iso = pl.Series(kinds != _BAD)
    if is_iso.all() or texts.null_count() + int(is_iso.sum()) == len(texts):
        return found.set(~is_iso, None) if not is_iso.all() else found
    bare = texts.str.strip_chars()
    if (bare != texts).any():  # blanks that are not of ASCII
        return parse_times(bare, unit=unit, timezone=timezone, recognised=recognised)
    floats = texts.set(is_iso, None).cast(pl.Float64, strict=False)
    numbers = times_of_numbers(floats, unit, exact=texts, recognised=recognised)
    return found.set(~is_iso, None).zip_with(is_iso, numbers)


def times_of_numbers(
    numbers: pl.Series, unit: str | None, *, exact: pl.Series | None = None, recognised: bool = False
) -> pl.Series:
    """Numbers of a unit since 1970 as timestamps; null where a number is not finite or out of range.

    `exact` are the same values as texts or integers: a float cannot hold all nanoseconds. Where the unit is recognised
    by other numbers, and not given, one that must be of another unit is null too (`of_another_unit`).
    """
    recognised = recognised or unit is None
    unit = unit or unit_of(numbers) or "s"
    factor = UNITS[unit] / 1000
    fits = (numbers.is_finite() & ((numbers * factor).abs() < 2.0**63)).fill_null(False)
    if recognised:
        fits &= ~of_another_unit(numbers, unit).fill_null(False)
    fractions = (numbers * factor).set(~fits, None).floor().cast(pl.Int64)
    if exact is None:
        return fractions.cast(pl.Datetime("us"))
    whole = exact.cast(pl.Int64, strict=False).set(~fits, None)
    micros = whole * int(factor) if factor >= 1 else whole // 1000
    return micros.zip_with(micros.is_not_null(), fractions).cast(pl.Datetime("us"))


def of_another_unit(numbers: pl.Series, unit: str) -> pl.Series:
    """Which numbers cannot be of the unit that others have: they would be in 1970, or after the year 5000.

    >>> of_another_unit(pl.Series([1772323200000.0, 1772323200.0, 0.0]), "ms").to_list()
    [False, True, False]
    """
    scale = 1000 ** list(UNITS).index(unit)
    too_large: pl.Series = numbers >= _SECONDS_BELOW * scale
    return too_large | ((numbers >= SECONDS_FROM) & (numbers < _YEAR * scale)) if scale > 1 else too_large


def expected_number(unit: str) -> str:
    """What a message says of a number that is `of_another_unit`."""
    return f"{NAMES[unit]} since 1970, as most of the first numbers are"


def unit_of(numbers: pl.Series) -> str | None:
    """The unit that most of the first numbers must have by their size: `s`, `ms`, `us` or `ns`; None without any."""
    if numbers.dtype == pl.String:
        # Dates, which most texts are, have a dash behind the year; they are passed over before the slow look.
        numbers = numbers.filter(numbers.str.slice(4, 1) != "-").str.strip_chars().cast(pl.Float64, strict=False)
    numbers = numbers.drop_nulls()
    numbers = numbers.filter(numbers.is_finite()) if numbers.dtype.is_float() else numbers
    first = numbers.head(_FIRST).cast(pl.Float64)
    if not len(first):
        return None
    others = {unit: int(of_another_unit(first.abs(), unit).sum()) for unit in UNITS}
    return min(others, key=lambda unit: others[unit])


def check_options(unit: str | None, timezone: str | None, where: str) -> None:
    """Raise unless these are a unit and a time zone."""
    if unit is not None and unit not in UNITS:
        raise DataError(f"{where}: the time unit is {unit!r}; expected one of: {', '.join(UNITS)}{near(unit, UNITS)}")
    if timezone is not None:
        try:
            ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise DataError(
                f"{where}: unknown time zone {timezone!r}; expected a name such as Europe/Berlin or UTC"
            ) from None


def why_no_time(text: str, timezone: str | None) -> str | None:
    """What is expected in the place of a text that looks like a time, and is none; None if it does not look like one.

    >>> why_no_time("2026-03-29 02:30", "Europe/Berlin")
    'a time that Europe/Berlin has: clocks are put forward over this one'
    """
    times, kinds = _parse_iso(pl.Series([text]))
    if kinds[0] == _BAD:
        return "a time of day from 00:00:00 to 23:59:59" if _NO_TIME_OF_DAY.search(text) else None
    if not FIRST_MICROSECOND <= times[0] <= LAST_MICROSECOND or kinds[0] == _WITH_ZONE or timezone is None:
        return "a time of the years 1 to 9999, in UTC"
    here = (
        pl.Series(times)
        .cast(pl.Datetime("us"))
        .dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
    )
    if here.null_count():
        return f"a time that {timezone} has: clocks are put forward over this one"
    return "a time of the years 1 to 9999, in UTC"


def _localized(times: pl.Series, naive: Array, timezone: str | None) -> pl.Series:
    """The times as UTC, of which some were written without a zone.

    An hour that a zone has twice is the first one; a time that a zone leaves out is none.
    """
    if timezone in (None, "UTC") or not naive.any():
        return times
    here = times.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
    return here.dt.convert_time_zone("UTC").dt.replace_time_zone(None).zip_with(pl.Series(naive), times)


def _parse_iso(texts: pl.Series) -> tuple[Array, Array]:
    arrow = texts.rechunk().alias("").to_arrow(compat_level=pl.CompatLevel.oldest())  # no name of Arrow has a zero
    _, offsets, data = arrow.buffers()
    first = arrow.offset
    places = np.frombuffer(offsets, np.int64)[first : first + len(arrow) + 1]
    signs = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    return parse_iso(signs, places)


@njit(cache=True, nogil=True)  # files are read ahead in a thread
def parse_iso(data: Array, offsets: Array) -> tuple[Array, Array]:
    """The texts between offsets as microseconds since 1970, and of each whether it is a time, and has a zone."""
    count = len(offsets) - 1
    times, kinds = np.zeros(count, np.int64), np.zeros(count, np.uint8)
    for row in range(count):
        times[row], kinds[row] = _one(data, offsets[row], offsets[row + 1])
    return times, kinds


@njit(cache=True)
def _one(data: Array, at: int, end: int) -> tuple[int, int]:
    while at < end and (data[at] == 32 or 9 <= data[at] <= 13):
        at += 1
    while at < end and (data[end - 1] == 32 or 9 <= data[end - 1] <= 13):
        end -= 1
    # 2026-03-01T06:00:00, or without signs between: 20260301T060000, which needs its T, as 20260301 is a number
    gap = 1 if at + 4 < end and data[at + 4] == 45 else 0
    day_at = at + 6 + 2 * gap
    year, month, day = _digits(data, at, end, 4), _digits(data, at + 4 + gap, end, 2), _digits(data, day_at, end, 2)
    if year < 1 or month < 1 or month > 12 or day < 1 or day > _days_in(year, month):
        return 0, _BAD
    if gap and data[day_at - 1] != 45:
        return 0, _BAD
    micros = _days_since_1970(year, month, day) * 86_400_000_000
    at = day_at + 2
    if at == end:
        return micros, _NAIVE if gap else _BAD
    if data[at] != 84 and data[at] != 116 and (data[at] != 32 or not gap):  # T, t or a blank
        return 0, _BAD
    hour, minute = _digits(data, at + 1, end, 2), _digits(data, at + 3 + gap, end, 2)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or (gap and data[at + 3] != 58):
        return 0, _BAD
    micros += (hour * 60 + minute) * 60_000_000
    at += 5 + gap
    if at < end and (data[at] == 58 if gap else 48 <= data[at] <= 57):
        second = _digits(data, at + gap, end, 2)
        if second < 0 or second > 59:
            return 0, _BAD
        micros += second * 1_000_000
        at += 2 + gap
        if at < end and (data[at] == 46 or data[at] == 44):
            at += 1
            part, begin = 100_000, at
            while at < end and 48 <= data[at] <= 57:
                micros += (data[at] - 48) * part
                part //= 10
                at += 1
            if at == begin or at - begin > 9:
                return 0, _BAD
    if at == end:
        return micros, _NAIVE
    if data[at] == 32:
        at += 1
    if at + 1 == end and (data[at] == 90 or data[at] == 122):
        return micros, _WITH_ZONE
    if at + 3 == end and data[at] == 85 and data[at + 1] == 84 and data[at + 2] == 67:  # UTC
        return micros, _WITH_ZONE
    if at == end or (data[at] != 43 and data[at] != 45):
        return 0, _BAD
    hours, minutes, left = _digits(data, at + 1, end, 2), 0, end - at
    if left == 5:
        minutes = _digits(data, at + 3, end, 2)
    elif left == 6 and data[at + 3] == 58:
        minutes = _digits(data, at + 4, end, 2)
    elif left != 3:
        return 0, _BAD
    if hours < 0 or hours > 23 or minutes < 0 or minutes > 59:
        return 0, _BAD
    offset = (hours * 60 + minutes) * 60_000_000
    return micros - offset if data[at] == 43 else micros + offset, _WITH_ZONE


@njit(cache=True)
def _digits(data: Array, at: int, end: int, count: int) -> int:
    """The number that so many digits make, -1 if they are not there."""
    if at + count > end:
        return -1
    value = 0
    for place in range(at, at + count):
        sign = data[place]
        if sign < 48 or sign > 57:
            return -1
        value = value * 10 + (int(sign) - 48)
    return value


@njit(cache=True)
def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


@njit(cache=True)
def _days_since_1970(year: int, month: int, day: int) -> int:
    """As in the proleptic Gregorian calendar; years begin in March, so that the leap day is the last."""
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
