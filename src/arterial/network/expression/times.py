"""Functions of dates and times in expressions. A timestamp counts microseconds in UTC, so most are arithmetic."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from arterial.errors import near
from arterial.network.duration import units
from arterial.network.expression.binder import Binder
from arterial.network.expression.tree import Call, Literal, Tree, cast
from arterial.network.schema import Type

SECOND = 1_000_000
_LENGTHS = {"second": SECOND, "minute": 60 * SECOND, "hour": 3600 * SECOND, "day": 86_400 * SECOND}
_CYCLES = {"second": 60, "minute": 60, "hour": 24}
_WEEKDAYS = {"dayofweek": (4, 0), "weekday": (4, 0), "isodow": (3, 1)}
"""What to add to the days since 1970, a Thursday, before and after taking the remainder by 7."""
_CALENDAR = ("year", "month", "day", "dayofyear")
PARTS: dict[type[exp.Expression], str] = {
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.DayOfYear: "dayofyear", exp.Quarter: "quarter",
    exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second", exp.DayOfWeek: "dayofweek",
    exp.DayOfWeekIso: "isodow", exp.TimeToUnix: "epoch",
}  # fmt: skip
_PART_NAMES = (*_CALENDAR, "quarter", *_CYCLES, *_WEEKDAYS, "epoch")
NAMES = " ".join((*_PART_NAMES, "date_trunc", "date_part", "extract", "strftime", "to_timestamp"))
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
        if name in _CYCLES:
            return _whole("%", _whole("//", count, _LENGTHS[name]), _CYCLES[name])
        if name in _WEEKDAYS:
            before, after = _WEEKDAYS[name]
            return _plus(_whole("%", _plus(_whole("//", count, _LENGTHS["day"]), before), 7), after)
        return Call("/", (cast(count, Type.FLOAT64), Literal(float(SECOND), Type.FLOAT64)), Type.FLOAT64)

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
        if part.args.get("scale") is not None:
            raise self._error("expected to_timestamp(seconds)")
        seconds = self._number(part.this)
        if seconds.type is Type.FLOAT64:
            count = Call("*", (seconds, Literal(float(SECOND), Type.FLOAT64)), Type.FLOAT64)
            return cast(cast(Call("round", (count,), Type.FLOAT64), Type.INT64), Type.TIMESTAMP)
        return cast(_times(cast(seconds, Type.INT64), SECOND), Type.TIMESTAMP)

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
