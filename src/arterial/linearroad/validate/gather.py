"""The first stage: what is expected, worked out by expressway and by file of history, and the answers that came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace

import polars as pl

from arterial.errors import ArterialError
from arterial.linearroad.formats.answers import ACCIDENT_ALERT, TABLE_OF_TYPE, TOLL_NOTICE
from arterial.linearroad.formats.dialects import parse, read_chunk
from arterial.linearroad.validate.causes.changes import changes_of
from arterial.linearroad.validate.expected.accounts import seconds_after
from arterial.linearroad.validate.expected.chains import read_reports
from arterial.linearroad.validate.expected.history import matching_tolls, means_by_xway
from arterial.linearroad.validate.expected.journeys import journeys
from arterial.linearroad.validate.expected.traffic import NEVER, Road
from arterial.linearroad.validate.parcels import Parcel
from arterial.linearroad.validate.plan import Asked, JourneysOf, LinesOf, Plan, RequestsOf, Task, TollsOf, TrafficOf


def gather(task: Task, plan: Plan, asked: Asked) -> Iterator[Parcel]:
    """Expected answers, requests and the answers that came, by vehicle or query id; a user's mistake as a message."""
    try:
        match task:
            case RequestsOf():
                yield from _requests(plan, asked)
            case TrafficOf():
                yield from _traffic(task, plan, asked)
            case LinesOf():
                yield from _lines(task, plan)
            case TollsOf():
                yield from _tolls(task, plan, asked)
            case JourneysOf():
                yield from _journeys(task, plan, asked)
    except ArterialError as mistake:
        yield Parcel(0, "error", str(mistake).encode())


def _requests(plan: Plan, asked: Asked) -> Iterator[Parcel]:
    yield from plan.send("balance_requests", asked.balances, "vid")
    modes = {plan.terms.profile.expenditure, *(tried.profile.expenditure for tried in plan.alternatives)}
    if "today" in modes:
        yield from plan.send("expenditure_requests", asked.expenditures, "vid")
    if "history" in modes:
        yield from plan.send("toll_requests", asked.expenditures, "qid")


def _traffic(task: TrafficOf, plan: Plan, asked: Asked) -> Iterator[Parcel]:
    terms = plan.terms
    # A balance may come true after the last second that is judged.
    reports = read_reports(task.file, task.direction, terms.until + seconds_after(terms.profile))
    road = Road(reports, task.xway, task.direction)
    found = road.traffic(terms.profile)
    del reports
    if not plan.alternatives:
        road.forget()
    # From before the window only the accounts of those matter who ask for them, or may get a discount.
    asking = pl.concat([asked.balances["vid"], asked.expenditures["vid"]]).unique()
    matters = pl.lit(terms.profile.discount_from is not None) | pl.col("vid").is_in(asking.implode())
    charged = ((pl.col("toll") > 0) & (pl.col("charged") != NEVER)) | plan.terms.at_notice
    notices = found.notices.filter((pl.col("time") >= terms.first) | (charged & matters))
    yield from plan.send("notices", _narrow(notices), "vid")
    yield from plan.send("alerts", _narrow(found.alerts.filter(pl.col("time") >= terms.first)), "vid")
    yield from plan.send("credits", _narrow(found.credits), "vid")
    for tried, *tables in changes_of(road, found, plan.alternatives, terms.first, asking):
        for kind, table in zip(("changed_notices", "changed_alerts", "changed_credits"), tables, strict=True):
            yield from plan.send(kind, _narrow(table.with_columns(alt=pl.lit(tried.number, pl.Int8))), "vid")


def _lines(task: LinesOf, plan: Plan) -> Iterator[Parcel]:
    read = parse(read_chunk(task.file, task.start, task.stop), plan.dialect)
    for answer_type, table in read.answers.tables():
        by = "vid" if answer_type in (TOLL_NOTICE, ACCIDENT_ALERT) else "qid"
        yield from plan.send(f"got_{TABLE_OF_TYPE[answer_type]}", pl.DataFrame(pl.from_arrow(table)), by)
    told = {
        "file": str(task.file),
        "place": task.place,
        "lines": read.lines,
        "counts": dict(read.fault_counts),
        "faults": [asdict(replace(fault, file=str(task.file))) for fault in read.faults],
    }
    yield Parcel(0, "piece", json.dumps(told).encode())


def _tolls(task: TollsOf, plan: Plan, asked: Asked) -> Iterator[Parcel]:
    keys = asked.expenditures.select("vid", "day", "xway", "qid").unique()
    for place, file in enumerate(task.files, start=task.place):
        # A later file comes after all rows of an earlier one.
        found = matching_tolls(file, keys).with_columns(pl.col("order") + (place << 40))
        yield from plan.send("toll_rows", found, "qid")


def _journeys(task: JourneysOf, plan: Plan, asked: Asked) -> Iterator[Parcel]:
    means = means_by_xway(list(task.files), set(task.xways)) if task.files else {}
    for xway in task.xways:
        some = asked.travels.filter(pl.col("xway") == xway)
        mean = means.pop(xway, None)
        found = some.hstack(journeys(some, mean, plan.terms.profile))
        yield from plan.send("travels", found, "qid")
        for tried in plan.alternatives:
            other = some.hstack(journeys(some, mean, tried.profile))
            changed = other.filter(pl.any_horizontal(other[name] != found[name] for name in ("travel_time", "toll")))
            changed = changed.with_columns(alt=pl.lit(tried.number, pl.Int8))
            yield from plan.send("changed_travels", changed, "qid")


def _narrow(table: pl.DataFrame) -> pl.DataFrame:
    """Columns no wider than they need be: most of what travels are toll notices."""
    small = {"seg": pl.Int16, "dir": pl.Int8, "lav": pl.Int16, "reach": pl.Int16, "nearest": pl.Int16}
    middle = {"time": pl.Int32, "charged": pl.Int32, "cars": pl.Int32, "xway": pl.Int32}
    return table.with_columns(
        pl.col(name).cast(dtype) for name, dtype in {**small, **middle}.items() if name in table.columns
    )
