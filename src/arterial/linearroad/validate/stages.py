"""The three stages of the judgement, as plain functions: gather, judge vehicles, judge requests.

Spark runs each on its partitions and carries the parcels between them; small inputs run them one after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from arterial.errors import ArterialError
from arterial.linearroad.answers import (
    ACCIDENT_ALERT,
    ANSWER_SCHEMA,
    BALANCE,
    EXPENDITURE,
    TABLE_OF_TYPE,
    TOLL_NOTICE,
    TRAVEL_TIME,
)
from arterial.linearroad.city import EAST
from arterial.linearroad.dialects import Dialect, parse, read_chunk
from arterial.linearroad.events import BALANCE_REQUEST, EXPENDITURE_REQUEST, POSITION_REPORT
from arterial.linearroad.validate.accounts import (
    balance_steps,
    charges_of,
    discounted,
    last_notice_steps,
    numbered,
    preferred,
)
from arterial.linearroad.validate.chains import REPORT_COLUMNS, reports_of
from arterial.linearroad.validate.expected import requests_of
from arterial.linearroad.validate.history import matching_tolls, means_by_xway
from arterial.linearroad.validate.journeys import journeys
from arterial.linearroad.validate.judge import (
    Terms,
    judge_alerts,
    judge_balances,
    judge_expenditures,
    judge_notices,
    judge_travels,
)
from arterial.linearroad.validate.parcels import Parcel, send, unpack
from arterial.linearroad.validate.tallies import tally_to
from arterial.linearroad.validate.traffic import NEVER, traffic
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


@dataclass(frozen=True)
class Plan:
    """What all tasks know."""

    terms: Terms
    dialect: Dialect
    buckets: int

    @property
    def at_notice(self) -> bool:
        """Whether balances are told of the last toll notice."""
        return self.dialect.balance_at == "last_notice"

    @property
    def today(self) -> bool:
        """Whether expenditures are today's (thesis)."""
        return self.terms.profile.expenditure == "today"


@dataclass(frozen=True)
class TrafficOf:
    """Task: what the reports of one expressway and direction cause."""

    file: Path
    xway: int
    direction: int


@dataclass(frozen=True)
class LinesOf:
    """Task: read the answers in a range of an output file."""

    file: Path
    place: int
    start: int
    stop: int


@dataclass(frozen=True)
class TollsOf:
    """Task: find the requested rows of a file of TollHistory."""

    file: Path
    place: int


@dataclass(frozen=True)
class JourneysOf:
    """Task: the journeys on some expressways."""

    files: tuple[Path, ...]
    xways: tuple[int, ...]


Task = TrafficOf | LinesOf | TollsOf | JourneysOf


@dataclass(frozen=True)
class Asked:
    """The requests to history in the window: daily expenditures and travel times."""

    expenditures: pl.DataFrame
    travels: pl.DataFrame


def gather(task: Task, plan: Plan, asked: Asked) -> Iterator[Parcel]:
    """The first stage: expected answers by vehicle or query id, and the answers that came."""
    try:
        match task:
            case TrafficOf():
                yield from _gather_traffic(task, plan)
            case LinesOf():
                yield from _gather_lines(task, plan)
            case TollsOf():
                found = matching_tolls(task.file, asked.expenditures.select("vid", "day", "xway", "qid").unique())
                # A later file comes after all rows of an earlier one.
                found = found.with_columns(pl.col("order") + (task.place << 48))
                yield from send("toll_rows", found, "qid", plan.buckets)
            case JourneysOf():
                yield from _gather_journeys(task, plan, asked.travels)
    except ArterialError as mistake:
        yield Parcel(0, "error", str(mistake).encode())


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


def _gather_traffic(task: TrafficOf, plan: Plan) -> Iterator[Parcel]:
    terms = plan.terms
    scan = pl.scan_parquet(task.file).filter(pl.col("time") < terms.until)
    reported = (pl.col("type") == POSITION_REPORT) & (pl.col("dir") == task.direction)
    frame = scan.filter(reported).select(REPORT_COLUMNS).collect()
    reports = reports_of(frame)
    del frame
    found = traffic(reports, task.xway, task.direction, terms.profile)
    del reports
    # Before the window only what is charged still matters, and to the original dialect every notice.
    matters = (pl.col("time") >= terms.first) | ((pl.col("toll") > 0) & (pl.col("charged") != NEVER)) | plan.at_notice
    yield from send("notices", _narrow(found.notices.filter(matters)), "vid", plan.buckets)
    yield from send("alerts", _narrow(found.alerts.filter(pl.col("time") >= terms.first)), "vid", plan.buckets)
    yield from send("credits", _narrow(found.credits), "vid", plan.buckets)
    if task.direction == EAST:
        # Requests have no direction; one of the two tasks of an expressway sends them.
        kinds = [("balance_requests", BALANCE_REQUEST)]
        if plan.today:
            kinds.append(("expenditure_requests", EXPENDITURE_REQUEST))
        wanted = scan.filter((pl.col("type") != POSITION_REPORT) & (pl.col("time") >= terms.first)).collect()
        for kind, request_type in kinds:
            yield from send(kind, requests_of(wanted, request_type), "vid", plan.buckets)


def _gather_lines(task: LinesOf, plan: Plan) -> Iterator[Parcel]:
    read = parse(read_chunk(task.file, task.start, task.stop), plan.dialect)
    for answer_type, table in read.answers.tables():
        by = "vid" if answer_type in (TOLL_NOTICE, ACCIDENT_ALERT) else "qid"
        frame = pl.DataFrame(pl.from_arrow(table))
        yield from send(f"got_{TABLE_OF_TYPE[answer_type]}", frame, by, plan.buckets)
    told = {
        "file": str(task.file),
        "place": task.place,
        "lines": read.lines,
        "counts": dict(read.fault_counts),
        "faults": [asdict(replace(fault, file=str(task.file))) for fault in read.faults],
    }
    yield Parcel(0, "piece", json.dumps(told).encode())


def _gather_journeys(task: JourneysOf, plan: Plan, asked: pl.DataFrame) -> Iterator[Parcel]:
    means = means_by_xway(list(task.files), set(task.xways)) if task.files else {}
    for xway in task.xways:
        some = asked.filter(pl.col("xway") == xway)
        found = some.hstack(journeys(some, means.pop(xway, None), plan.terms.profile))
        yield from send("travels", found, "qid", plan.buckets)


def _with_tolls(requests: pl.DataFrame, rows: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Rule 18: the requests with their `balance`; of several rows of one key the last counts."""
    keys = ["vid", "day", "xway"]
    last = rows.sort("order").unique(keys, keep="last").select(*keys, pl.col("tolls").alias("balance"))
    found = requests.join(last, on=keys, how="left")
    unknown = plan.terms.profile.unknown_expenditure
    return found.drop_nulls("balance") if unknown is None else found.with_columns(pl.col("balance").fill_null(unknown))


def _send_steps(kind: str, requests: pl.DataFrame, steps: pl.DataFrame, plan: Plan) -> Iterator[Parcel]:
    """Requests with their right answers, by query id, and the steps after them."""
    yield from send(kind, requests, "qid", plan.buckets)
    addressed = steps.join(requests.select("number", "qid"), on="number")
    yield from send(f"{kind}_steps", addressed, "qid", plan.buckets)


def _numbered(requests: pl.DataFrame, bucket: int) -> pl.DataFrame:
    """Requests with numbers that no other bucket gives."""
    return numbered(requests).with_columns(pl.col("number") + (bucket << 40))


def _narrow(table: pl.DataFrame) -> pl.DataFrame:
    """Columns no wider than they need be: most of what travels are toll notices."""
    small = {"seg": pl.Int16, "dir": pl.Int8, "lav": pl.Int16, "reach": pl.Int16, "nearest": pl.Int16}
    middle = {"time": pl.Int32, "charged": pl.Int32, "cars": pl.Int32, "xway": pl.Int32}
    return table.with_columns(
        pl.col(name).cast(dtype) for name, dtype in {**small, **middle}.items() if name in table.columns
    )


def _tally(tally: Tally, bucket: int) -> Parcel:
    return Parcel(bucket, "tally", tally_to(tally))
