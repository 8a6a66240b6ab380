"""The second and third stage: vehicles are judged, then requests. Plain functions from parcels to parcels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from arterial.linearroad.formats.answers import (
    ACCIDENT_ALERT,
    ANSWER_SCHEMA,
    BALANCE,
    EXPENDITURE,
    TABLE_OF_TYPE,
    TOLL_NOTICE,
    TRAVEL_TIME,
)
from arterial.linearroad.validate.expected.accounts import (
    balance_steps,
    charges_of,
    discounted,
    last_notice_steps,
    numbered,
    preferred,
)
from arterial.linearroad.validate.judge import (
    judge_alerts,
    judge_balances,
    judge_expenditures,
    judge_notices,
    judge_travels,
)
from arterial.linearroad.validate.parcels import Parcel, unpack
from arterial.linearroad.validate.plan import Plan
from arterial.linearroad.validate.tallies import tally_to
from arterial.linearroad.validate.verdict import Tally

Schema = dict[str, Any]


def _ints(*names: str) -> Schema:
    return dict.fromkeys(names, pl.Int64)


_NOTICES = _ints("vid", "time", "seg", "lav", "toll", "cars", "reach", "charged", "xway", "dir")
_ALERTS = _ints("vid", "time", "seg", "nearest", "reach", "xway", "dir")
_CREDITS = _ints("vid", "time", "xway")
_REQUESTS = _ints("time", "vid", "qid", "xway", "day", "sinit", "send", "dow", "tod")
_STEPS: Schema = {**_ints("number", "since", "until", "balance"), "charge": pl.Boolean}
_GOT: dict[int, Schema] = {
    t: {name: pl.Float64 if name == "emit" else pl.Int64 for name in schema.names}
    for t, schema in ANSWER_SCHEMA.items()
}


def judge_vehicles(parcels: Iterable[Parcel], bucket: int, plan: Plan) -> Iterator[Parcel]:
    """The second stage: notices and alerts of some vehicles; balances are worked out and sent on."""
    here: list[Parcel] = []
    for parcel in parcels:
        if parcel.kind in _BY_VEHICLE:
            here.append(parcel)
        else:
            yield parcel
    terms, profile = plan.terms, plan.terms.profile
    credits = unpack(here, "credits", _CREDITS)
    notices = discounted(unpack(here, "notices", _NOTICES), credits, profile)
    got = {t: unpack(here, f"got_{TABLE_OF_TYPE[t]}", _GOT[t]) for t in (TOLL_NOTICE, ACCIDENT_ALERT)}
    if TOLL_NOTICE in plan.dialect.types:
        yield _tally(judge_notices(notices, got[TOLL_NOTICE], terms), bucket)
    if ACCIDENT_ALERT in plan.dialect.types:
        yield _tally(judge_alerts(unpack(here, "alerts", _ALERTS), got[ACCIDENT_ALERT], terms), bucket)

    charges = charges_of(notices, credits, profile)
    asked = _numbered(unpack(here, "balance_requests", _REQUESTS), bucket)
    steps = last_notice_steps(asked, charges, notices) if plan.at_notice else balance_steps(asked, charges, ["vid"])
    yield from _send_steps("balances", preferred(asked, steps, profile, at_notice=plan.at_notice), steps, plan)
    if plan.today:
        spent = _numbered(unpack(here, "expenditure_requests", _REQUESTS), bucket)
        steps = balance_steps(spent, charges, ["vid", "xway"])
        ends = steps.sort("number", "since").group_by("number").last().select("number", "balance")
        yield from _send_steps("expenditures", spent.join(ends, on="number"), steps, plan)


def judge_requests(parcels: Iterable[Parcel], bucket: int, plan: Plan) -> Iterator[Parcel]:
    """The third stage: the answers to requests, by query id."""
    here: list[Parcel] = []
    for parcel in parcels:
        if parcel.kind in _TO_THE_END:
            yield parcel
        else:
            here.append(parcel)
    terms = plan.terms
    got = {t: unpack(here, f"got_{TABLE_OF_TYPE[t]}", _GOT[t]) for t in (BALANCE, EXPENDITURE, TRAVEL_TIME)}
    if BALANCE in plan.dialect.types:
        expected = unpack(here, "balances", {**_REQUESTS, **_ints("number", "result_time", "balance")})
        steps = unpack(here, "balances_steps", _STEPS)
        yield _tally(judge_balances(expected, steps, got[BALANCE], terms), bucket)
    if EXPENDITURE in plan.dialect.types:
        if plan.today:
            expected = unpack(here, "expenditures", {**_REQUESTS, **_ints("number", "balance")})
            today = unpack(here, "expenditures_steps", _STEPS)
        else:
            asked = unpack(here, "expenditures", _REQUESTS)
            expected, today = _with_tolls(asked, unpack(here, "toll_rows", _TOLL_ROWS), plan), None
        yield _tally(judge_expenditures(expected, today, got[EXPENDITURE], terms), bucket)
    if TRAVEL_TIME in plan.dialect.types:
        expected = unpack(here, "travels", {**_REQUESTS, **_ints("travel_time", "toll")})
        yield _tally(judge_travels(expected, got[TRAVEL_TIME], terms), bucket)


_BY_VEHICLE = frozenset(
    ["notices", "alerts", "credits", "balance_requests", "expenditure_requests", "got_notices", "got_alerts"]
)
_TO_THE_END = frozenset(["error", "piece", "tally"])
_TOLL_ROWS = _ints("order", "vid", "day", "xway", "tolls", "qid")


def _with_tolls(requests: pl.DataFrame, rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Rule 18: the requests with their `balance`; of several rows of one key the last counts."""
    keys = ["vid", "day", "xway"]
    last = rows.sort("order").unique(keys, keep="last").select(*keys, pl.col("tolls").alias("balance"))
    found = requests.join(last, on=keys, how="left")
    unknown = plan.terms.profile.unknown_expenditure
    return found.drop_nulls("balance") if unknown is None else found.with_columns(pl.col("balance").fill_null(unknown))


def _send_steps(kind: str, requests: pl.DataFrame, steps: pl.DataFrame, plan: Plan) -> Iterator[Parcel]:
    """Requests with their right answers, by query id, and the steps after them."""
    yield from plan.send(kind, requests, "qid")
    addressed = steps.join(requests.select("number", "qid"), on="number")
    yield from plan.send(f"{kind}_steps", addressed, "qid")


def _numbered(requests: pl.DataFrame, bucket: int) -> pl.DataFrame:
    """Requests with numbers that no other bucket gives."""
    return numbered(requests).with_columns(pl.col("number") + (bucket << 40))


def _tally(tally: Tally, bucket: int) -> Parcel:
    return Parcel(bucket, "tally", tally_to(tally))
