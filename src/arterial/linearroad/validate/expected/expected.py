"""The whole expectation for an input that fits in memory; the Spark job distributes the same parts over expressways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl
import pyarrow as pa

from arterial.linearroad.formats.events import (
    BALANCE_REQUEST,
    EXPENDITURE_REQUEST,
    POSITION_REPORT,
    TRAVEL_TIME_REQUEST,
)
from arterial.linearroad.semantics.city import EAST, WEST
from arterial.linearroad.semantics.profiles import SPEC, Profile
from arterial.linearroad.validate.expected.accounts import (
    at_request,
    balance_steps,
    charges_of,
    discounted,
    last_notice_steps,
    numbered,
    preferred,
)
from arterial.linearroad.validate.expected.chains import reports_of
from arterial.linearroad.validate.expected.journeys import journeys, means_of
from arterial.linearroad.validate.expected.traffic import Traffic, traffic

REQUEST_COLUMNS = ("time", "vid", "qid", "xway", "day", "sinit", "send", "dow", "tod")


@dataclass(frozen=True)
class Expectation:
    """What must come out, type by type, and for balances all that may.

    `balances` and `expenditures` have a `number`; `balance_steps` (and for the thesis `expenditure_steps`) are by it.
    """

    notices: pl.DataFrame
    alerts: pl.DataFrame
    balances: pl.DataFrame
    balance_steps: pl.DataFrame
    expenditures: pl.DataFrame
    expenditure_steps: pl.DataFrame | None
    travels: pl.DataFrame


def expected(
    events: pa.Table,
    tolls: pa.Table | None = None,
    segments: pa.Table | None = None,
    profile: Profile = SPEC,
    *,
    balance_at: Literal["request", "last_notice"] = "request",
) -> Expectation:
    """Every right answer to the events, which are in time order; histories have the columns of the stored tables."""
    frame = pl.DataFrame(pl.from_arrow(events))
    parts = list(_all_traffic(frame, profile))
    notices, alerts, credits = (
        pl.concat([getattr(part, name) for part in parts]) for name in ("notices", "alerts", "credits")
    )
    notices = discounted(notices, credits, profile)
    charges = charges_of(notices, credits, profile)

    asked = numbered(requests_of(frame, BALANCE_REQUEST))
    at_notice = balance_at == "last_notice"
    by_vehicle = ["vid"]
    steps = (
        last_notice_steps(asked, charges, notices) if at_notice else balance_steps(asked, charges, by_vehicle, profile)
    )
    balances = preferred(asked, steps, profile, at_notice=at_notice)

    spent = numbered(requests_of(frame, EXPENDITURE_REQUEST))
    spent_steps = None
    if profile.expenditure == "today":
        spent_steps = balance_steps(spent, charges, ["vid", "xway"], profile, result_time=False)
        spent = spent.join(at_request(spent, spent_steps).select("number", "balance"), on="number")
    else:
        spent = expenditures(spent, tolls, profile)
    wanted = requests_of(frame, TRAVEL_TIME_REQUEST)
    return Expectation(notices, alerts, balances, steps, spent, spent_steps, travels(wanted, segments, profile))


def requests_of(frame: pl.DataFrame, request_type: int) -> pl.DataFrame:
    """The requests of one type, all integers of 64 bits."""
    return frame.filter(pl.col("type") == request_type).select(pl.col(REQUEST_COLUMNS).cast(pl.Int64))


def expenditures(requests: pl.DataFrame, tolls: pa.Table | None, profile: Profile) -> pl.DataFrame:
    """Rule 18: the requests with their `balance`; one without an answer is left out."""
    history = pl.DataFrame(schema={"vid": pl.Int64, "day": pl.Int64, "xway": pl.Int64, "balance": pl.Int64})
    if tolls is not None:
        history = pl.DataFrame(pl.from_arrow(tolls)).select(
            pl.col("vid", "day", "xway").cast(pl.Int64), pl.col("tolls").cast(pl.Int64).alias("balance")
        )
    keys = ["vid", "day", "xway"]
    found = requests.join(history.unique(keys, keep="last", maintain_order=True), on=keys, how="left")
    if profile.unknown_expenditure is None:
        return found.drop_nulls("balance")
    return found.with_columns(pl.col("balance").fill_null(profile.unknown_expenditure))


def travels(requests: pl.DataFrame, segments: pa.Table | None, profile: Profile) -> pl.DataFrame:
    """Rule 19: the requests with their `travel_time` and `toll`."""
    done = []
    for (xway,), some in requests.group_by("xway", maintain_order=True):
        means = None
        if segments is not None:
            rows = segments.filter(pa.compute.equal(segments["xway"], xway))
            means = means_of([rows]) if rows.num_rows else None
        done.append(some.hstack(journeys(some, means, profile)))
    empty = requests.clear().hstack(journeys(requests.clear(), None, profile))
    return pl.concat([empty, *done])


def _all_traffic(frame: pl.DataFrame, profile: Profile) -> list[Traffic]:
    reports = frame.filter(pl.col("type") == POSITION_REPORT)
    xways = reports["xway"].unique().sort().to_list() or [0]
    return [
        traffic(reports_of(reports.filter(xway=xway, dir=direction)), xway, direction, profile)
        for xway in xways
        for direction in (EAST, WEST)
    ]
