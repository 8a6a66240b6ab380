"""Functions of dates and times in expressions. A timestamp counts microseconds in UTC, so most are arithmetic."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from arterial.errors import near
from arterial.network.duration import units
from arterial.network.expression.binder import Binder
from arterial.network.expression.tree import Call, Literal, Tree, cast
from arterial.network.schema import FIRST_MICROSECOND, LAST_MICROSECOND, Type

SECOND = 1_000_000
_LENGTHS = {"second": SECOND, "minute": 60 * SECOND, "hour": 3600 * SECOND, "day": 86_400 * SECOND}
_FINE = {"microsecond": 1, "millisecond": 1_000}
"""Parts of the minute; those of the second would lose the seconds, and DuckDB keeps them."""
_CYCLES = {"second": 60, "minute": 60, "hour": 24}
_WEEKDAYS = {"dayofweek": (4, 0), "weekday": (4, 0), "isodow": (3, 1)}
"""What to add to the days since 1970, a Thursday, before and after taking the remainder by 7."""
_CALENDAR = ("year", "month", "day", "dayofyear")
PARTS: dict[type[exp.Expression], str] = {
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfYear: "dayofyear", exp.Quarter: "quarter",
    exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second", exp.DayOfWeek: "dayofweek",
    exp.DayOfWeekIso: "isodow", exp.TimeToUnix: "epoch", exp.Week: "week", exp.WeekOfYear: "week",
}  # fmt: skip
OF_MINUTES = tuple(_FINE)
_PART_NAMES = (*_CALENDAR, "quarter", "week", *_CYCLES, *_FINE, *_WEEKDAYS, "epoch")
_OTHERS = ("date_trunc", "date_part", "date_diff", "extract", "strftime", "to_timestamp", "epoch_ms")
NAMES = " ".join((*_PART_NAMES, *_OTHERS, "dayname", "monthname"))
_UNITS = (*_FINE, *_LENGTHS, "week", "month", "quarter", "year")
_SHORT = {
    "us": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "m": "minute", "min": "minute",
    "h": "hour", "hr": "hour", "d": "day", "w": "week", "mon": "month", "y": "year", "yr": "year",
}  # fmt: skip
_CODES = "YmdHMSfjaAbBy%"
"""The codes of strftime that mean the same everywhere."""


class Times(Binder):
    """Reads functions of dates and times."""

    def _part(self, name: str, part: Any) -> Tree:
        name = {"dow": "dayofweek", "doy": "dayofyear"}.get(name, name)
        if name not in _PART_NAMES:
            raise self._error(f"there is no part {name!r} of a time; expected one of {', '.join(_PART_NAMES)}")
        time = self._time(part, name)
        count = cast(time, Type.INT64)
        if name in _CALENDAR:
            return Call(name, (time,), Type.INT64)
        if name == "quarter":
            return _plus(_whole("//", _plus(Call("month", (time,), Type.INT64), -1), 3), 1)
        if name == "week":  # the week of its Thursday, as in ISO 8601
            thursday = cast(_plus(cast(self._trunc("week", time), Type.INT64), 3 * _LENGTHS["day"]), Type.TIMESTAMP)
            return _plus(_whole("//", _plus(Call("dayofyear", (thursday,), Type.INT64), -1), 7), 1)
        if name in _FINE:
            return _whole("//", _whole("%", count, _LENGTHS["minute"]), _FINE[name])
        if name in _CYCLES:
            return _whole("%", _whole("//", count, _LENGTHS[name]), _CYCLES[name])
        if name in _WEEKDAYS:
            before, after = _WEEKDAYS[name]
            return _plus(_whole("%", _plus(_whole("//", count, _LENGTHS["day"]), before), 7), after)
        return Call("/", (cast(count, Type.FLOAT64), Literal(float(SECOND), Type.FLOAT64)), Type.FLOAT64)

    def _on_dayname(self, part: exp.Dayname) -> Tree:
        return Call("strftime", (self._time(part.this, "dayname"), Literal("%A", Type.STRING)), Type.STRING)

    def _on_monthname(self, part: exp.Monthname) -> Tree:
        return Call("strftime", (self._time(part.this, "monthname"), Literal("%B", Type.STRING)), Type.STRING)

    def _on_datediff(self, part: exp.DateDiff) -> Tree:
        """How many borders of the unit lie between two times; of weeks, how many whole ones do."""
        given = part.args.get("unit")
        if given is None:
            raise self._error("expected date_diff('unit', from, to)")
        unit = given.name.lower()
        unit = _SHORT.get(unit.removesuffix("s") if unit not in _SHORT else unit, unit.removesuffix("s"))
        if unit not in _UNITS:
            raise self._error(f"date_diff knows {', '.join(_UNITS)}, got {given.name.lower()!r}{near(unit, _UNITS)}")
        sides = [self._time(one, "date_diff") for one in (part.expression, part.this)]
        begin, end = (self._number_of("day" if unit == "week" else unit, side) for side in sides)
        between = Call("-", (end, begin), Type.INT64)
        return self._nearer_zero(between, 7) if unit == "week" else between

    def _number_of(self, unit: str, time: Tree) -> Tree:
        """Which unit it is that a time lies in, counted from any one."""
        count = cast(time, Type.INT64)
        if unit in ("year", "quarter", "month"):
            months = _plus(Call("month", (time,), Type.INT64), -1)
            months = Call("+", (_times(Call("year", (time,), Type.INT64), 12), months), Type.INT64)
            return _whole("//", months, {"year": 12, "quarter": 3, "month": 1}[unit])
        return _whole("//", count, {**_LENGTHS, **_FINE}[unit])

    def _on_extract(self, part: exp.Extract) -> Tree:
        return self._part(part.this.name.lower(), part.expression)

    def _on_timestamptrunc(self, part: exp.TimestampTrunc | exp.DateTrunc) -> Tree:
        unit, time = part.args.get("unit"), self._time(part.this, "date_trunc")
        if unit is None:
            raise self._error("date_trunc needs a unit")
        return self._trunc(unit.name.lower(), time)

    def _on_datetrunc(self, part: exp.DateTrunc) -> Tree:
        return self._on_timestamptrunc(part)

    def _trunc(self, unit: str, time: Tree) -> Tree:
        count, day = cast(time, Type.INT64), _LENGTHS["day"]
        if unit in _LENGTHS:
            return cast(_times(_whole("//", count, _LENGTHS[unit]), _LENGTHS[unit]), Type.TIMESTAMP)
        days = _whole("//", count, day)
        if unit == "week":
            back: Tree = _whole("%", _plus(days, 3), 7)
        elif unit in ("month", "quarter"):
            back = _plus(Call("day", (time,), Type.INT64), -1)
        elif unit == "year":
            back = _plus(Call("dayofyear", (time,), Type.INT64), -1)
        else:
            units_known = (*_LENGTHS, "week", "month", "quarter", "year")
            raise self._error(f"date_trunc knows {', '.join(units_known)}, got {unit!r}{near(unit, units_known)}")
        start = cast(_times(Call("-", (days, back), Type.INT64), day), Type.TIMESTAMP)
        if unit != "quarter":
            return start
        months = _whole("%", _plus(Call("month", (time,), Type.INT64), -1), 3)
        within = Call("-", (cast(start, Type.INT64), _times(months, 28 * day)), Type.INT64)
        return self._trunc("month", cast(within, Type.TIMESTAMP))  # 28 days a month lead into the quarter's first

    def _on_timetostr(self, part: exp.TimeToStr) -> Tree:
        form = self._text_constant(part.args.get("format"), "the format of strftime")
        for code in re.findall(r"%(.?)", form):
            if code not in _CODES or not code:
                raise self._error(f"strftime knows {', '.join('%' + c for c in _CODES)}, got {'%' + code!r}")
        return Call("strftime", (self._time(part.this, "strftime"), Literal(form, Type.STRING)), Type.STRING)

    def _on_unixtotime(self, part: exp.UnixToTime) -> Tree:
        scale = part.args.get("scale")
        if scale is not None and scale.name == "3":
            return self._epoch_ms(part.this)
        if scale is not None:
            raise self._error("expected to_timestamp(seconds)")
        seconds = self._number(part.this)
        if seconds.type is Type.FLOAT64:
            count = Call("*", (seconds, Literal(float(SECOND), Type.FLOAT64)), Type.FLOAT64)
            return cast(cast(Call("round", (count,), Type.FLOAT64), Type.INT64), Type.TIMESTAMP)
        return self._instant_of(seconds, SECOND)

    def _epoch_ms(self, part: Any) -> Tree:
        """Of a time its milliseconds since 1970, rounded; of a number the time."""
        value = self._as_instant(self.tree(part))
        if value.type is not None and value.type.is_integer:
            return self._instant_of(value, _FINE["millisecond"])
        if value.type not in (Type.TIMESTAMP, None):
            raise self._error(f"epoch_ms needs a timestamp, or milliseconds as an integer, got {value.type}")
        count = cast(cast(value, Type.TIMESTAMP), Type.INT64)
        away = self._case(self._comparison("<", count, Literal(0, Type.INT64)), _plus(count, -500), _plus(count, 500))
        return self._nearer_zero(away, 1_000)

    def _instant_of(self, number: Tree, by: int) -> Tree:
        """A number as a time; null where it is too large, before the product would wrap around to another time."""
        count = cast(number, Type.INT64)
        low, high = (Literal(edge // by, Type.INT64) for edge in (FIRST_MICROSECOND, LAST_MICROSECOND))
        fits = Call("and", (self._comparison(">=", count, low), self._comparison("<=", count, high)), Type.BOOL)
        return cast(self._case(fits, _times(count, by), Literal(None, Type.INT64)), Type.TIMESTAMP)

    def _nearer_zero(self, count: Tree, by: int) -> Tree:
        """A quotient of which the fraction is cut off."""
        below = Call("neg", (_whole("//", Call("neg", (count,), Type.INT64), by),), Type.INT64)
        return self._case(self._comparison("<", count, Literal(0, Type.INT64)), below, _whole("//", count, by))

    def _shifted(self, sign: int, time: Any, interval: exp.Interval) -> Tree:
        """A time and an interval of fixed length."""
        text = f"{interval.this.name} {interval.unit.name if interval.unit is not None else ''}"
        length = units(text, Type.TIMESTAMP, "the interval")
        moved = _plus(cast(self._time(time, "an interval"), Type.INT64), sign * length)
        return cast(moved, Type.TIMESTAMP)


def _whole(function: str, tree: Tree, number: int) -> Tree:
    return Call(function, (tree, Literal(number, Type.INT64)), Type.INT64)


def _plus(tree: Tree, number: int) -> Tree:
    return _whole("+", tree, number)


def _times(tree: Tree, number: int) -> Tree:
    return _whole("*", tree, number)
