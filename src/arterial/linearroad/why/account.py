"""Why a toll was charged or not, and what a balance or an expenditure is made of (rules 16–18)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from arterial.linearroad.formats.events import BALANCE_REQUEST, EXPENDITURE_REQUEST
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.expected.accounts import (
    ACCURATE_SECONDS,
    at_request,
    balance_steps,
    numbered,
    preferred,
)
from arterial.linearroad.validate.expected.expected import requests_of
from arterial.linearroad.validate.expected.history import history_files, matching_tolls, with_tolls
from arterial.linearroad.validate.expected.traffic import NEVER
from arterial.linearroad.why.concerned import Way
from arterial.linearroad.why.words import Answer, Figures, Reason, moment

Row = dict[str, Any]


def charge_reason(way: Way, notice: Row) -> Reason:
    """Rule 16: when the toll of a notice was charged, or why not."""
    charged, toll, seg = notice["charged"], notice["toll"], notice["seg"]
    if charged == NEVER:
        after = way.own.filter(pl.col("time") > notice["time"])
        last = "it did not report again from this road" if not after.height else f"its trip ended in segment {seg}"
        nothing = "there was nothing to charge anyway" if toll == 0 else "the toll was not charged"
        return Reason("16", f"{nothing}: a toll is charged when the vehicle reports from the next segment, and {last}")
    to = way.own.filter(pl.col("time") == charged)["seg"].to_list()
    where = f"from segment {to[0]}" if to else "from the next segment"
    if toll == 0:
        return Reason("16", f"it reported {where} at second {charged:,}; a toll of 0 is no charge")
    return Reason("16", f"the toll was charged at second {charged:,}, when it reported {where}")


def balance_answer(request: Row, events: pl.DataFrame, charges: pl.DataFrame, profile: Profile) -> Answer:
    """Rule 17: the charges that a balance is made of."""
    asked = _asked(request, events, BALANCE_REQUEST)
    steps = balance_steps(asked, charges, ["vid"], profile)
    answer = preferred(asked, steps, profile, at_notice=False).row(0, named=True)
    charged = charges.filter(pl.col("time") <= request["time"])
    reasons = [
        Reason(
            "17",
            f"the sum of all that was charged through second {request['time']:,}: {answer['balance']:,}"
            if charged.height
            else f"nothing was charged through second {request['time']:,}",
        ),
        _result_time(request["time"], answer["result_time"], profile),
    ]
    values = {name: answer[name] for name in ("time", "qid", "result_time", "balance")}
    says = f"{answer['balance']:,} at second {answer['result_time']:,} (request {request['qid']})"
    return Answer("account balance", says, values, tuple(reasons), _charges_table(charged))


def expenditure_answer(
    request: Row, events: pl.DataFrame, charges: pl.DataFrame, profile: Profile, tolls: Path | None
) -> Answer:
    """Rule 18: what was spent on a day, or today."""
    asked = _asked(request, events, EXPENDITURE_REQUEST)
    key = f"vehicle {request['vid']}, day {request['day']}, expressway {request['xway']}"
    if profile.expenditure == "today":
        here = charges.filter(pl.col("xway") == request["xway"])
        steps = balance_steps(asked, here, ["vid", "xway"], profile, result_time=False)
        spent = at_request(asked, steps)["balance"][0]
        text = f"the sum of what was charged today on expressway {request['xway']}: {spent:,}"
        table = _charges_table(here.filter(pl.col("time") <= request["time"]))
        return _expenditure(request, spent, Reason("18", text), table)
    if tolls is None:
        text = f"TollHistory has the answer for {key}; give it with --tolls to see it"
        return _expenditure(request, None, Reason("18", text))
    rows = pl.concat([matching_tolls(file, asked) for file in history_files(tolls, "tolls")])
    found = with_tolls(asked, rows, profile)
    spent = found["balance"][0] if found.height else None
    what = f"TollHistory has {rows.height:,} row for {key}" if rows.height else f"TollHistory has no row for {key}"
    said = "so there is no answer" if spent is None else f"so it is {spent:,}"
    return _expenditure(request, spent, Reason("18", f"{what}, {said}"))


def _expenditure(request: Row, spent: int | None, reason: Reason, figures: tuple[Figures, ...] = ()) -> Answer:
    values = {"time": request["time"], "qid": request["qid"], "day": request["day"], "xway": request["xway"]}
    says = f"request {request['qid']}" if spent is None else f"{spent:,} (request {request['qid']})"
    return Answer(
        "daily expenditure", says, values if spent is None else {**values, "balance": spent}, (reason,), figures
    )


def _asked(request: Row, events: pl.DataFrame, kind: int) -> pl.DataFrame:
    asked = requests_of(events, kind).filter((pl.col("time") == request["time"]) & (pl.col("qid") == request["qid"]))
    return numbered(asked.head(1))


def _result_time(asked: int, result: int, profile: Profile) -> Reason:
    if result != asked:
        return Reason("17", f"its time is that of the last charge, {moment(result)}")
    if profile.balance_result_time == "last_charge":
        return Reason("17", f"its time is that of the request: there was no charge in the {ACCURATE_SECONDS} s before")
    return Reason("17", "its time is that of the request")


def _charges_table(charges: pl.DataFrame) -> tuple[Figures, ...]:
    rows = []
    total = 0
    for row in charges.iter_rows(named=True):
        total += row["amount"]
        what = "credit" if row["seg"] is None else f"toll of segment {row['seg']}, quoted at second {row['quoted']:,}"
        rows.append((row["time"], row["xway"], what, row["amount"], total))
    heads = ("second", "expressway", "for", "amount", "balance")
    return (Figures("What was charged", heads, tuple(rows)),) if rows else ()
