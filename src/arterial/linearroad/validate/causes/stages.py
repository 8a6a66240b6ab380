"""The search for causes in the second and third stage: what alternatives would have answered, beside what came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import polars as pl

from arterial.linearroad.formats.answers import ACCIDENT_ALERT, BALANCE, EXPENDITURE, TOLL_NOTICE, TRAVEL_TIME
from arterial.linearroad.semantics.profiles import Profile
from arterial.linearroad.validate.causes.changes import ALERT_COLUMNS, KEY, NOTICE_COLUMNS, notice_changes, patched
from arterial.linearroad.validate.causes.evidence import Search
from arterial.linearroad.validate.expected.accounts import balance_steps, charges_of, discounted, last_notice_steps
from arterial.linearroad.validate.expected.expected import REQUEST_COLUMNS
from arterial.linearroad.validate.expected.history import with_tolls
from arterial.linearroad.validate.judge import Judged
from arterial.linearroad.validate.parcels import Parcel, ints, unpack
from arterial.linearroad.validate.plan import Plan
from arterial.linearroad.validate.right import (
    right_alerts,
    right_balances,
    right_expenditures,
    right_notices,
    right_travels,
)

_STEP = ["number", "since", "until", "balance"]


_FLAG = pl.Boolean
_CHANGED_NOTICES = {"alt": pl.Int64, **ints(*NOTICE_COLUMNS), "told": _FLAG, "owed": _FLAG, "gone": _FLAG}
_CHANGED_ALERTS = {"alt": pl.Int64, **ints(*ALERT_COLUMNS), "gone": _FLAG}
_CHANGED_CREDITS = ints("alt", "vid", "time", "xway")
_CHANGED_REQUESTS = ints("alt", "number", *REQUEST_COLUMNS)
_CHANGED_STEPS = {**ints("alt", *_STEP), "charge": _FLAG}
_CHANGED_TRAVELS = ints("alt", *REQUEST_COLUMNS, "travel_time", "toll")


@dataclass(frozen=True)
class Vehicles:
    """What the second stage knows of its vehicles: the tolls before and after the discount, and who asks for what."""

    quoted: pl.DataFrame
    notices: pl.DataFrame
    credits: pl.DataFrame
    got: pl.DataFrame
    balances: pl.DataFrame
    balance_steps: pl.DataFrame
    expenditures: pl.DataFrame
    expenditure_steps: pl.DataFrame
    judged: Mapping[int, Judged]


def explain_vehicles(here: Iterable[Parcel], vehicles: Vehicles, bucket: int, plan: Plan) -> Iterator[Parcel]:
    """Try all alternatives on notices and alerts; send on what they make of the accounts."""
    terms, profile = plan.terms, plan.terms.profile
    here = list(here)
    notices = _by_alternative(plan.unpack_replicas(here, "changed_notices", _CHANGED_NOTICES))
    alerts = _by_alternative(plan.unpack_replicas(here, "changed_alerts", _CHANGED_ALERTS))
    credits = _by_alternative(plan.unpack_replicas(here, "changed_credits", _CHANGED_CREDITS))
    searches = {t: Search(judged, terms) for t, judged in vehicles.judged.items() if t in plan.differing}
    for tried in plan.alternatives:
        changed = notices(tried.number)
        own_credits = credits(tried.number) if tried.about_reports else vehicles.credits
        if tried.about_reports and (profile.discount_from is not None or tried.profile.discount_from is not None):
            priced = discounted(patched(vehicles.quoted, changed), own_credits, tried.profile)
            changed = notice_changes(vehicles.notices, priced)
        if TOLL_NOTICE in searches:
            searches[TOLL_NOTICE].try_on(tried.number, changed.filter(pl.col("told")), right_notices)
        if ACCIDENT_ALERT in searches:
            searches[ACCIDENT_ALERT].try_on(tried.number, alerts(tried.number), right_alerts(terms))
        yield from _accounts(vehicles, changed, own_credits, tried.number, tried.profile, plan)
    own_quotes = _quotes_that_came(vehicles)
    yield from _accounts(vehicles, own_quotes, vehicles.credits, len(plan.alternatives), profile, plan)
    for search in searches.values():
        yield Parcel(bucket, "evidence", search.evidence.to_bytes())


def explain_requests(
    here: Iterable[Parcel],
    judged: Mapping[int, Judged],
    spent: pl.DataFrame,
    tolls: tuple[pl.DataFrame, pl.DataFrame],
    bucket: int,
    plan: Plan,
) -> Iterator[Parcel]:
    """Try all alternatives on the answers to requests.

    `spent` are the right expenditures, `tolls` the requests and rows of TollHistory.
    """
    here, terms = list(here), plan.terms
    profiles = {**{one.number: one.profile for one in plan.alternatives}, len(plan.alternatives): terms.profile}
    searches = {t: Search(one, terms) for t, one in judged.items() if t in plan.differing}
    for t, kind, right in (
        (BALANCE, "changed_balances", right_balances),
        (EXPENDITURE, "changed_expenditures", right_expenditures),
    ):
        if t in searches:
            requests = _by_alternative(unpack(here, kind, _CHANGED_REQUESTS))
            steps = _by_alternative(unpack(here, f"{kind}_steps", _CHANGED_STEPS))
            for number, other in profiles.items():
                changed = requests(number)
                if changed.height:
                    fits = right(steps(number), replace(terms, profile=other))
                    searches[t].try_on(number, changed.with_columns(gone=pl.lit(False)), fits)
    if EXPENDITURE in searches:
        for tried in plan.alternatives:
            if "18" in tried.rules and tried.profile.expenditure == "history":
                changed = _changed_tolls(spent, with_tolls(*tolls, tried.profile))
                searches[EXPENDITURE].try_on(tried.number, changed, right_expenditures(None, terms))
    if TRAVEL_TIME in searches:
        travels = _by_alternative(plan.unpack_replicas(here, "changed_travels", _CHANGED_TRAVELS))
        for tried in plan.alternatives:
            changed = travels(tried.number)
            if changed.height:
                searches[TRAVEL_TIME].try_on(tried.number, changed.with_columns(gone=pl.lit(False)), right_travels)
    for search in searches.values():
        yield Parcel(bucket, "evidence", search.evidence.to_bytes())


def _accounts(
    vehicles: Vehicles, changed: pl.DataFrame, credits: pl.DataFrame, number: int, profile: Profile, plan: Plan
) -> Iterator[Parcel]:
    """The requests whose right answers an alternative changes, and its right answers."""
    if BALANCE not in plan.differing and EXPENDITURE not in plan.differing:
        return
    same_credits = credits.select("vid", "time", "xway").equals(vehicles.credits.select("vid", "time", "xway"))
    affected = changed.filter(pl.col("owed"))["vid"].unique()
    starts_today = profile.expenditure == "today" and not plan.today
    if not same_credits or starts_today or _accounting(profile) != _accounting(plan.terms.profile):
        affected = pl.concat([vehicles.balances["vid"], vehicles.expenditures["vid"]]).unique()
    if affected.is_empty():
        return
    theirs = pl.col("vid").is_in(affected.implode())
    notices = patched(vehicles.notices.filter(theirs), changed.filter(theirs))
    charges = charges_of(notices, credits.filter(theirs), profile)
    asked = vehicles.balances.filter(theirs)
    if plan.terms.at_notice:
        steps = last_notice_steps(asked, charges, notices)
    else:
        steps = balance_steps(asked, charges, ["vid"], profile)
    yield from _send_changed("changed_balances", asked, steps, vehicles.balance_steps, number, plan)
    if profile.expenditure == "today" and EXPENDITURE in plan.differing:
        spent = vehicles.expenditures.filter(theirs)
        steps = balance_steps(spent, charges, ["vid", "xway"], profile, result_time=False)
        known = vehicles.expenditure_steps.clear() if starts_today else vehicles.expenditure_steps
        yield from _send_changed("changed_expenditures", spent, steps, known, number, plan)


def _send_changed(
    kind: str, requests: pl.DataFrame, steps: pl.DataFrame, base: pl.DataFrame, number: int, plan: Plan
) -> Iterator[Parcel]:
    base = base.filter(pl.col("number").is_in(requests["number"].implode()))
    differing = pl.concat(
        [one.join(two, on=_STEP, how="anti")["number"] for one, two in ((steps, base), (base, steps))]
    ).unique()
    chosen = pl.col("number").is_in(differing.implode())
    alt = pl.lit(number, pl.Int64).alias("alt")
    yield from plan.send_steps(kind, requests.filter(chosen).with_columns(alt), steps.filter(chosen).with_columns(alt))


def _quotes_that_came(vehicles: Vehicles) -> pl.DataFrame:
    """The notices with the tolls that came, as changes: balances may follow from the output's own quotes."""
    asking = pl.concat([vehicles.balances["vid"], vehicles.expenditures["vid"]]).unique()
    told = vehicles.got.select(*KEY, pl.col("toll").alias("came")).unique(KEY, keep="first", maintain_order=True)
    differing = vehicles.notices.filter(pl.col("vid").is_in(asking.implode())).join(told, on=KEY)
    return (
        differing.filter(pl.col("came") != pl.col("toll"))
        .with_columns(toll=pl.col("came"))
        .select(NOTICE_COLUMNS)
        .with_columns(told=pl.lit(False), owed=pl.lit(True), gone=pl.lit(False))
    )


def _changed_tolls(base: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    columns = ["qid", "time", "vid", "balance"]
    news = other.join(base, on=columns, how="anti").select(columns).with_columns(gone=pl.lit(False))
    gone = base.join(other, on=columns[:-1], how="anti").select(columns).with_columns(gone=pl.lit(True))
    return pl.concat([news, gone])


def _accounting(profile: Profile) -> tuple[object, ...]:
    return profile.balance_accepted, profile.exit_credit


def _by_alternative(table: pl.DataFrame) -> Callable[[int], pl.DataFrame]:
    """The rows of each alternative by its number."""
    parts = {key[0]: part for key, part in table.partition_by("alt", as_dict=True, include_key=False).items()}
    nothing = table.clear().drop("alt")
    return lambda number: parts.get(number, nothing)
