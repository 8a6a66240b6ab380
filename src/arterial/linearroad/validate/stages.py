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
from arterial.linearroad.validate.causes.stages import Vehicles, explain_requests, explain_vehicles
from arterial.linearroad.validate.expected.accounts import (
    at_request,
    balance_steps,
    charges_of,
    discounted,
    last_notice_steps,
    numbered,
    preferred,
)
from arterial.linearroad.validate.expected.expected import REQUEST_COLUMNS
from arterial.linearroad.validate.expected.history import with_tolls
from arterial.linearroad.validate.judge import (
    judge_alerts,
    judge_balances,
    judge_expenditures,
    judge_notices,
    judge_travels,
)
from arterial.linearroad.validate.parcels import Parcel, ints, unpack
from arterial.linearroad.validate.plan import Plan
from arterial.linearroad.validate.tallies import tally_to
from arterial.linearroad.validate.verdict import Tally

Schema = dict[str, Any]


_NOTICES = ints("vid", "time", "seg", "lav", "toll", "cars", "reach", "charged", "xway", "dir")
_ALERTS = ints("vid", "time", "seg", "nearest", "reach", "xway", "dir")
_CREDITS = ints("vid", "time", "xway")
_REQUESTS = ints(*REQUEST_COLUMNS)
_STEPS: Schema = {**ints("number", "since", "until", "balance"), "charge": pl.Boolean}
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
    credits = plan.unpack_replicas(here, "credits", _CREDITS)
    quoted = plan.unpack_replicas(here, "notices", _NOTICES)
    notices = discounted(quoted, credits, profile)
    got = {t: unpack(here, f"got_{TABLE_OF_TYPE[t]}", _GOT[t]) for t in (TOLL_NOTICE, ACCIDENT_ALERT)}
    judged = {}
    if TOLL_NOTICE in plan.dialect.types:
        judged[TOLL_NOTICE] = judge_notices(notices, got[TOLL_NOTICE], terms)
    if ACCIDENT_ALERT in plan.dialect.types:
        judged[ACCIDENT_ALERT] = judge_alerts(plan.unpack_replicas(here, "alerts", _ALERTS), got[ACCIDENT_ALERT], terms)
    yield from (_tally(one.tally, bucket) for one in judged.values())

    charges = charges_of(notices, credits, profile)
    asked = _numbered(plan.unpack_replicas(here, "balance_requests", _REQUESTS), bucket)
    if plan.terms.at_notice:
        steps = last_notice_steps(asked, charges, notices)
    else:
        steps = balance_steps(asked, charges, ["vid"], profile)
    yield from plan.send_steps("balances", preferred(asked, steps, profile, at_notice=plan.terms.at_notice), steps)
    spent = _numbered(plan.unpack_replicas(here, "expenditure_requests", _REQUESTS), bucket)
    spent_steps = balance_steps(spent, charges, ["vid", "xway"], profile, result_time=False)
    if plan.today:
        now = at_request(spent, spent_steps).select("number", "balance")
        yield from plan.send_steps("expenditures", spent.join(now, on="number"), spent_steps)
    if plan.alternatives:
        vehicles = Vehicles(quoted, notices, credits, got[TOLL_NOTICE], asked, steps, spent, spent_steps, judged)
        yield from explain_vehicles(here, vehicles, bucket, plan)


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
    judged = {}
    spent = pl.DataFrame()
    tolls = plan.unpack_replicas(here, "toll_requests", _REQUESTS), plan.unpack_replicas(here, "toll_rows", _TOLL_ROWS)
    if BALANCE in plan.dialect.types:
        expected = unpack(here, "balances", {**_REQUESTS, **ints("number", "result_time", "balance")})
        steps = unpack(here, "balances_steps", _STEPS)
        judged[BALANCE] = judge_balances(expected, steps, got[BALANCE], terms)
    if EXPENDITURE in plan.dialect.types:
        if plan.today:
            expected = unpack(here, "expenditures", {**_REQUESTS, **ints("number", "balance")})
            today = unpack(here, "expenditures_steps", _STEPS)
        else:
            expected, today = with_tolls(*tolls, terms.profile), None
        judged[EXPENDITURE] = judge_expenditures(expected, today, got[EXPENDITURE], terms)
        spent = expected
    if TRAVEL_TIME in plan.dialect.types:
        expected = plan.unpack_replicas(here, "travels", {**_REQUESTS, **ints("travel_time", "toll")})
        judged[TRAVEL_TIME] = judge_travels(expected, got[TRAVEL_TIME], terms)
    yield from (_tally(one.tally, bucket) for one in judged.values())
    if plan.alternatives:
        yield from explain_requests(here, judged, spent, tolls, bucket, plan)


_BY_VEHICLE = frozenset(
    [
        "notices",
        "alerts",
        "credits",
        "balance_requests",
        "expenditure_requests",
        "got_notices",
        "got_alerts",
        "changed_notices",
        "changed_alerts",
        "changed_credits",
    ]
)
_TO_THE_END = frozenset(["error", "piece", "tally", "evidence"])
_TOLL_ROWS = ints("order", "vid", "day", "xway", "tolls", "qid")


def _numbered(requests: pl.DataFrame, bucket: int) -> pl.DataFrame:
    """Requests with numbers that no other bucket gives."""
    return numbered(requests).with_columns(pl.col("number") + (bucket << 40))


def _tally(tally: Tally, bucket: int) -> Parcel:
    return Parcel(bucket, "tally", tally_to(tally))
