"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arterial.connectors.frames import frame_from
from arterial.connectors.times import check_options, parse_times, times_of_numbers, unit_of, why_no_time
from arterial.connectors.values import TimeOptions, from_columns, from_texts
from arterial.errors import DataError
from arterial.network.schema import Schema

SIX = datetime(2026, 3, 1, 6)


def parsed(*texts: str | None, **options: str) -> list[datetime | None]:
    return parse_times(pl.Series(list(texts), dtype=pl.String), **options).to_list()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-01T06:00:00Z", SIX),
        ("2026-03-01t06:00:00z", SIX),
        (" 2026-03-01 06:00:00 ", SIX),
        ("2026-03-01 06:00", SIX),
        ("2026-03-01 06:00:00 UTC", SIX),
        ("2026-03-01T07:30+01:30", SIX),
        ("2026-03-01T05:00:00 -0100", SIX),
        ("2026-03-01T04:00:00-02", SIX),
        ("2026-03-01T06:00:00.123456789Z", SIX.replace(microsecond=123456)),
        ("2026-03-01T06:00:00,5", SIX.replace(microsecond=500000)),
        ("20260301T060000Z", SIX),
        ("20260301t0600", SIX),
        ("20260301T073000.5+0130", SIX.replace(microsecond=500000)),
        ("2026-03-01", datetime(2026, 3, 1)),
        ("2024-02-29", datetime(2024, 2, 29)),
        ("1969-12-31T23:59:59.999999Z", datetime(1969, 12, 31, 23, 59, 59, 999999)),
        ("1772344800", SIX),
        ("1772344800.25", SIX.replace(microsecond=250000)),
        ("1772344800000", SIX),
        ("1772344800000000", SIX),
        ("1772344800123456789", SIX.replace(microsecond=123456)),
        ("-1", datetime(1969, 12, 31, 23, 59, 59)),
    ],
)
def test_each_format(text: str, time: datetime) -> None:
    assert parsed(text) == [time]


@pytest.mark.parametrize(
    "text",
    ["noon", "", "2026-02-29", "2026-13-01", "2026-03-01T24:00", "2026-03-01T06:60", "2026-03-01T06:00:00.",
     "2026-03-01T06:00:00.1234567891", "2026-03-01T06:00:00+25:00", "2026-03-01T", "2026-03-01T06:00:00Zx",
     "0000-01-01", "2026/03/01", "nan", "inf", "1e300", "20260301T", "20260301T06:00:00", "20260301 060000",
     "2026-0301T06:00", "20260301T0600000"],
)  # fmt: skip
def test_what_is_no_time(text: str) -> None:
    assert parsed(text) == [None]


def test_every_text_is_judged_by_itself() -> None:
    assert parsed("2026-03-01T06:00:00Z", "x", None, "2026-03-01", "1772344800") == [
        SIX, None, None, datetime(2026, 3, 1), SIX,
    ]  # fmt: skip


def test_times_without_a_zone() -> None:
    assert parsed("2026-07-01 12:00", "2026-07-01T12:00Z", timezone="Europe/Berlin") == [
        datetime(2026, 7, 1, 10),
        datetime(2026, 7, 1, 12),
    ]
    # An hour that comes twice is the first; one that is left out is no time.
    assert parsed("2026-10-25 02:30", "2026-03-29 02:30", timezone="Europe/Berlin") == [
        datetime(2026, 10, 25, 0, 30),
        None,
    ]


def test_units() -> None:
    numbers = ("5", "1772344800", "1772344800000", "1772344800000000", "1.8e18", "x")
    assert [unit_of(pl.Series([text])) for text in numbers] == ["s", "s", "ms", "us", "ns", None]
    assert parsed("5", unit="ms") == [datetime(1970, 1, 1, 0, 0, 0, 5000)]
    assert times_of_numbers(pl.Series([1.5, None, float("nan")]), "s").to_list() == [
        datetime(1970, 1, 1, 0, 0, 1, 500000), None, None,
    ]  # fmt: skip
    with pytest.raises(DataError, match="time unit is 'min'"):
        check_options("min", None, "here")
    with pytest.raises(DataError, match="unknown time zone 'Mars'"):
        check_options(None, "Mars", "here")


def test_a_number_of_another_unit_is_no_time() -> None:
    seconds, millis, micros = "1772344800", "1772344800000", "1772344800000000"
    assert parsed(millis, millis, seconds, "0", "-5") == [
        SIX, SIX, None, datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 995000),
    ]  # fmt: skip
    assert parsed(seconds, seconds, millis, micros) == [SIX, SIX, None, None]
    assert parsed(micros, micros, seconds, millis) == [SIX, SIX, None, None]
    # One that is not like the others does not decide.
    assert unit_of(pl.Series([*["1772344800"] * 10, "9" * 15])) == "s"
    # Who says the unit gets what he says.
    assert parsed(millis, seconds, unit="ms") == [SIX, datetime(1970, 1, 21, 12, 19, 4, 800000)]


def test_times_of_no_year_are_none() -> None:
    """UTC of the first and last hours may be of a year that no text has, and that Python does not know."""
    options, column = TimeOptions(), Schema.of({"time": "timestamp"})
    texts = ["0001-01-01T00:00+01:00", "0001-01-01T00:00Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59-01:00"]
    values = from_texts(pl.DataFrame({"time": texts}), column, options)["time"]
    assert values.to_list() == [None, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), None]
    for unit, number in (("us", 253_402_300_800_000_000), ("us", -62_135_596_800_000_001), ("ms", 2**53)):
        given = pl.DataFrame({"time": pl.Series([0, number]).cast(pl.Datetime(unit))})  # type: ignore[arg-type]
        assert from_columns(given, column, options)["time"].to_list() == [datetime(1970, 1, 1), None]
    assert from_columns(pl.DataFrame({"time": [2**53]}), column, TimeOptions(unit="s"))["time"].to_list() == [None]
    for where in ([{"time": texts[3]}], given):
        with pytest.raises(DataError, match=r"years 1 to 9999|expected a time"):
            frame_from(where, column, "here")


def test_what_is_wrong_with_a_time_that_looks_right() -> None:
    assert why_no_time("2026-03-29 02:30", "Europe/Berlin") == (
        "a time that Europe/Berlin has: clocks are put forward over this one"
    )
    assert why_no_time("0001-01-01", "Europe/Berlin") == "a time of the years 1 to 9999, in UTC"
    assert why_no_time("9999-12-31T23:00-02:00", None) == "a time of the years 1 to 9999, in UTC"
    assert why_no_time("noon", "Europe/Berlin") is None
    for text in ("2016-12-31T23:59:60Z", "2026-03-01 24:00:00"):
        assert why_no_time(text, None) == "a time of day from 00:00:00 to 23:59:59"


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.integers(-14 * 60, 14 * 60))
def test_as_python_reads_it(time: datetime, minutes: int) -> None:
    sign, hours, rest = "-" if minutes < 0 else "+", *divmod(abs(minutes), 60)
    text = f"{time.isoformat()}{sign}{hours:02}:{rest:02}"
    expected = (time.replace(tzinfo=UTC) - timedelta(minutes=minutes)).replace(tzinfo=None)
    assert parsed(text) == [expected]
    assert parsed(time.isoformat(" ")) == [time]


def test_what_is_not_finite_says_nothing_about_the_unit() -> None:
    assert parsed("inf", "nan", "1772344800000") == [None, None, SIX]
    assert unit_of(pl.Series([float("inf")])) is None
