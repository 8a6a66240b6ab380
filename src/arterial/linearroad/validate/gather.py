"""The first stage: what is expected, worked out by expressway and by file of history, and the answers that came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace

import polars as pl

from arterial.errors import ArterialError
from arterial.linearroad.formats.answers import ACCIDENT_ALERT, TABLE_OF_TYPE, TOLL_NOTICE
from arterial.linearroad.formats.dialects import parse, read_chunk
from arterial.linearroad.validate.expected.chains import read_reports
from arterial.linearroad.validate.expected.history import matching_tolls, means_by_xway
from arterial.linearroad.validate.expected.journeys import journeys
from arterial.linearroad.validate.expected.traffic import NEVER, traffic
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
    yield from plan.send_replicas("balance_requests", asked.balances, "vid")
    if plan.today:
        yield from plan.send_replicas("expenditure_requests", asked.expenditures, "vid")
    else:
        yield from plan.send_replicas("expenditures", asked.expenditures, "qid")


def _traffic(task: TrafficOf, plan: Plan, asked: Asked) -> Iterator[Parcel]:
    terms = plan.terms
    reports = read_reports(task.file, task.direction, terms.until)
    found = traffic(reports, task.xway, task.direction, terms.profile)
    del reports
    # From before the window only the accounts of those matter who ask for them, or may get a discount.
    asking = pl.concat([asked.balances["vid"], asked.expenditures["vid"]]).unique().implode()
    matters = pl.lit(terms.profile.discount_from is not None) | pl.col("vid").is_in(asking)
    charged = ((pl.col("toll") > 0) & (pl.col("charged") != NEVER)) | plan.at_notice
    notices = found.notices.filter((pl.col("time") >= terms.first) | (charged & matters))
    yield from plan.send_replicas("notices", _narrow(notices), "vid")
    yield from plan.send_replicas("alerts", _narrow(found.alerts.filter(pl.col("time") >= terms.first)), "vid")
    yield from plan.send_replicas("credits", _narrow(found.credits), "vid")


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
        yield from plan.send_replicas("toll_rows", found, "qid")


def _journeys(task: JourneysOf, plan: Plan, asked: Asked) -> Iterator[Parcel]:
    means = means_by_xway(list(task.files), set(task.xways)) if task.files else {}
    for xway in task.xways:
        some = asked.travels.filter(pl.col("xway") == xway)
        found = some.hstack(journeys(some, means.pop(xway, None), plan.terms.profile))
        yield from plan.send_replicas("travels", found, "qid")


def _narrow(table: pl.DataFrame) -> pl.DataFrame:
    """Columns no wider than they need be: most of what travels are toll notices."""
    small = {"seg": pl.Int16, "dir": pl.Int8, "lav": pl.Int16, "reach": pl.Int16, "nearest": pl.Int16}
    middle = {"time": pl.Int32, "charged": pl.Int32, "cars": pl.Int32, "xway": pl.Int32}
    return table.with_columns(
        pl.col(name).cast(dtype) for name, dtype in {**small, **middle}.items() if name in table.columns
    )
