"""Puts into words why a vehicle was answered as it was at a second."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import polars as pl

from arterial.errors import DataError
from arterial.linearroad.data.dataset import Data
from arterial.linearroad.formats.events import (
    BALANCE_REQUEST,
    EXPENDITURE_REQUEST,
    POSITION_REPORT,
    TRAVEL_TIME_REQUEST,
)
from arterial.linearroad.semantics.city import EAST, EXIT_LANE, SEGMENTS, minute_of
from arterial.linearroad.semantics.profiles import SPEC, Profile
from arterial.linearroad.validate.expected.accounts import charges_of, discounted
from arterial.linearroad.validate.expected.traffic import NEVER
from arterial.linearroad.why.account import balance_answer, charge_reason, expenditure_answer
from arterial.linearroad.why.concerned import Way, events_of, ways_of
from arterial.linearroad.why.journey import travel_answer
from arterial.linearroad.why.road import accidents_ahead, cells_of_five_minutes, mean_of
from arterial.linearroad.why.words import (
    Answer,
    Explained,
    Figures,
    Reason,
    lane_in_words,
    moment,
    place,
    several,
)

Row = dict[str, Any]


def why(
    data: Data, vid: int, time: int, profile: Profile = SPEC, *, tolls: Path | None = None, segments: Path | None = None
) -> Explained:
    """Why a vehicle was answered as it was at a second: the toll, the charge, the alert, the balance, the travel time.

    `tolls` is TollHistory and `segments` SegmentHistory, for the expenditures and journeys of the ten weeks before.
    """
    events, ways, notices, charges = _account(data, vid, profile)
    answers: list[Answer] = []
    for way in ways:
        for report in way.own.filter(pl.col("time") == time).iter_rows(named=True):
            noticed = notices.filter(time=time, xway=way.xway, dir=way.direction, seg=report["seg"])
            if noticed.height:
                answers.append(_notice(way, report, noticed.row(0, named=True), profile))
            else:
                answers.append(_no_notice(way, report))
        alerts = way.alerts.filter(pl.col("time") == time)
        answers += [_alert(way, alert, profile) for alert in alerts.iter_rows(named=True)]
        answers += [_credit(way, one, profile) for one in way.credits.filter(time=time).iter_rows(named=True)]
    for request in events.filter((pl.col("time") == time) & (pl.col("type") != POSITION_REPORT)).iter_rows(named=True):
        answers += _request(request, events, charges, profile, tolls, segments)
    if not answers:
        raise DataError(f"{data.path}: vehicle {vid} neither reports nor asks at second {time}; {_near(events, time)}")
    return Explained(str(data.path), profile.name, vid, time, tuple(answers))


def charged(data: Data, vid: int, through: int, profile: Profile = SPEC) -> int:
    """What a vehicle was charged in all through a second: its balance then."""
    *_, charges = _account(data, vid, profile)
    return int(charges.filter(pl.col("time") <= through)["amount"].sum())


def _account(data: Data, vid: int, profile: Profile) -> tuple[pl.DataFrame, Sequence[Way], pl.DataFrame, pl.DataFrame]:
    """The events of a vehicle, its ways, the notices that it got, and what it was charged."""
    events = events_of(data, vid)
    if not events.height:
        raise DataError(f"{data.path}: vehicle {vid} is not in it; was another data set meant?")
    ways = ways_of(data, events, vid, profile)
    credits = pl.concat([_empty("vid", "time", "xway"), *(way.credits for way in ways)])
    columns = ways[0].notices.columns if ways else ("vid", "time", "xway", "toll", "charged")
    notices = discounted(pl.concat([_empty(*columns), *(way.notices for way in ways)]), credits, profile)
    charges = _with_segments(charges_of(notices, credits, profile).sort("time"), notices)
    return events, ways, notices, charges


def _empty(*columns: str) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(columns, pl.Int64))


def _with_segments(charges: pl.DataFrame, notices: pl.DataFrame) -> pl.DataFrame:
    """Charges with the segment that was left, and the second at which its toll was quoted."""
    if "seg" not in notices.columns:
        return charges.with_columns(pl.lit(None, pl.Int64).alias("seg"), pl.lit(None, pl.Int64).alias("quoted"))
    names = {"charged": "time", "xway": "xway", "toll": "amount", "seg": "seg", "time": "quoted"}
    left = notices.select(pl.col(old).alias(new) for old, new in names.items())
    left = left.unique(["time", "xway", "amount"], keep="first", maintain_order=True)
    return charges.join(left, on=["time", "xway", "amount"], how="left", maintain_order="left")


def _near(events: pl.DataFrame, time: int) -> str:
    times = sorted(events["time"].unique().to_list(), key=lambda one: abs(one - time))[:4]
    return f"the nearest seconds at which it does are {several(sorted(times))}"


def _request(
    request: Row,
    events: pl.DataFrame,
    charges: pl.DataFrame,
    profile: Profile,
    tolls: Path | None,
    segments: Path | None,
) -> list[Answer]:
    if request["type"] == BALANCE_REQUEST:
        return [balance_answer(request, events, charges, profile)]
    if request["type"] == EXPENDITURE_REQUEST:
        return [expenditure_answer(request, events, charges, profile, tolls)]
    if request["type"] == TRAVEL_TIME_REQUEST:
        return [travel_answer(request, profile, segments)]
    return []


def _notice(way: Way, report: Row, notice: Row, profile: Profile) -> Answer:
    time, seg, toll, lav, cars = (notice[name] for name in ("time", "seg", "toll", "lav", "cars"))
    minute = minute_of(time)
    reasons = [_entered(way, report, profile)]
    table, mean, rows = _lav_table(way, time, seg, profile)
    if mean is None:
        reasons.append(
            Reason("4", f"nobody reported from segment {seg} in minutes {minute - 5} to {minute - 1}: LAV is {lav}")
        )
    else:
        reasons.append(_lav_reason(minute, seg, mean, lav, rows, profile))
    hidden = ", one of them by a report that is otherwise ignored" if cars > _vehicles(way, time, seg) else ""
    cell = f"minute {minute - 1} in segment {seg}" if minute > 1 else "the minute before, as there is none"
    reasons.append(Reason("5", f"{cars} different vehicles reported in {cell}{hidden}"))
    accidents = accidents_ahead(way, time, seg, notice["reach"], profile)
    reasons.append(_reach_reason(accidents, seg, way.direction, profile))
    reasons.append(Reason("6", _toll_in_words(notice, bool(accidents), profile)))
    reasons.append(charge_reason(way, notice))
    figures = [table] if mean is not None else []
    figures += [_accident_table(accidents)] if accidents else []
    figures.append(_trip_table(way, time))
    values = {"time": time, "lav": lav, "toll": toll, "cars": cars, "seg": seg, "charged": notice["charged"]}
    here = place(way.xway, way.direction, seg)
    charged = "and charged" if notice["charged"] != NEVER else "but not charged"
    says = f"a toll of {toll:,} was quoted for {here}, {charged}" if toll else f"no toll was quoted for {here}"
    return Answer("toll notice", says, values, tuple(reasons), tuple(figures))


def _entered(way: Way, report: Row, profile: Profile) -> Reason:
    """Rules 7 and 8: that the report is the first of its trip from its segment."""
    here = place(way.xway, way.direction, report["seg"])
    before = _predecessor(way, report)
    came = f"its report of {moment(report['time'])}, from {lane_in_words(report['lane'])}, is the first from {here}, "
    if before is not None:
        return Reason(
            "7, 8", f"{came}on this trip: the one of second {before['time']:,} came from segment {before['seg']}"
        )
    gap = f"{profile.chain_gap} s before" if profile.chain_gap is not None else "before that belongs to the same trip"
    return Reason("7, 8", f"{came}with which its trip begins: there is no report {gap}")


def _no_notice(way: Way, report: Row) -> Answer:
    here = place(way.xway, way.direction, report["seg"])
    before = _predecessor(way, report)
    if report["lane"] == EXIT_LANE:
        text = f"a report from the exit lane (4) is never answered by a notice; it came from {here}"
        reason = Reason("7", text)
    elif before is not None and before["seg"] == report["seg"]:
        text = f"its report of second {before['time']:,} came from {here} already, on the same trip"
        reason = Reason("7", text)
    else:
        text = f"after its report from the exit lane its reports are ignored until one from the entrance lane; {here}"
        reason = Reason("5", text)
    values = {"time": report["time"], "seg": report["seg"]}
    return Answer("no toll notice", "none was due", values, (reason,), (_trip_table(way, report["time"]),))


def _predecessor(way: Way, report: Row) -> Row | None:
    """Rule 8: the report before on the same trip, from the validator's chains."""
    chains = way.parts.chains
    rows = chains.reports
    for i in ((rows.vid == report["vid"]) & (rows.time == report["time"])).nonzero()[0].tolist():
        if chains.follows[i]:
            return {"time": int(rows.time[i - 1]), "seg": int(rows.seg[i - 1]), "lane": int(rows.lane[i - 1])}
    return None


def _lav_table(way: Way, time: int, seg: int, profile: Profile) -> tuple[Figures, Fraction | None, list[Row]]:
    """Rules 1 and 3: the five minutes before, and the mean that they give before it is rounded."""
    rows = cells_of_five_minutes(way.parts, time, seg)
    known = [row for row in rows if row["reports"]]
    heads = ("minute", "vehicles", "reports", "mean speed")
    shown = tuple(
        (row["minute"], row["vehicles"], row["reports"], float(mean_of(row, profile)) if row["reports"] else "–")
        for row in rows
    )
    what = "mean of the vehicles' means" if profile.lav_mean == "of_minute_means" else "mean of all reports"
    table = Figures(f"The five minutes before in segment {seg} (mean speed: {what}, in mph)", heads, shown)
    if not known:
        return table, None, rows
    if profile.lav_mean == "of_minute_means":
        return table, sum((mean_of(row, profile) for row in known), Fraction(0)) / len(known), rows
    return table, Fraction(sum(row["speeds"] for row in known), sum(row["reports"] for row in known)), rows


def _lav_reason(minute: int, seg: int, mean: Fraction, lav: int, rows: list[Row], profile: Profile) -> Reason:
    down = profile.lav_rounding == "floor"
    rounded = floor(mean) if down else floor(mean + Fraction(1, 2))
    if rounded != lav:  # the validator's own parts do not give the validator's own LAV: never seen, and never shown
        raise DataError(f"LAV of segment {seg} in minute {minute}: {lav} was expected, its parts give {float(mean)}")
    known = sum(row["reports"] > 0 for row in rows)
    of_means = profile.lav_mean == "of_minute_means"
    minutes = "the five minutes" if known == 5 else f"those {known} of the five minutes that have any"
    how = "the mean of the minutes' means over" if of_means else "the mean of all reports of"
    rounding = f"rounded {'down' if down else 'half up'}: {lav}"
    return Reason("1–3", f"LAV is {how} {minutes} before minute {minute}: {float(mean):.2f}, {rounding}")


def _vehicles(way: Way, time: int, seg: int) -> int:
    return int(cells_of_five_minutes(way.parts, time, seg)[-1]["vehicles"])


def _reach_reason(accidents: list[Row], seg: int, direction: int, profile: Profile) -> Reason:
    first, last = profile.toll_free_segments
    step = 1 if direction == EAST else -1
    ends = sorted(min(max(seg + step * i, 0), SEGMENTS - 1) for i in (first, last))
    reach = f"segments {ends[0]} to {ends[1]}"
    if not accidents:
        return Reason("10–13", f"no accident had effect in {reach}, its own and up to {last} downstream")
    where = several(sorted({one["seg"] for one in accidents}))
    return Reason(
        "10–13", f"an accident had effect in segment {where}, within {reach}: its own and up to {last} downstream"
    )


def _toll_in_words(notice: Row, accident: bool, profile: Profile) -> str:
    lav, cars, toll = notice["lav"], notice["cars"], notice["toll"]
    if accident:
        return "no toll: an accident is in reach"
    if lav == profile.lav_unknown and toll == 0 and lav < 1:
        return "no toll: LAV is not known"
    if lav >= profile.toll_lav_below:
        return f"no toll: LAV {lav} is not below {profile.toll_lav_below}"
    free = profile.toll_free_cars
    if profile.toll_needs_more_cars and cars <= free:
        return f"no toll: {cars} vehicles are not more than {free}"
    full = profile.base_toll * (cars - free) ** 2
    more = f" and {cars} vehicles are more than {free}" if profile.toll_needs_more_cars else ""
    text = f"LAV {lav} is below {profile.toll_lav_below}{more}: {profile.base_toll} · ({cars} - {free})² = {full:,}"
    if toll != full:
        text += f"; halved, as at least {profile.discount_from:,} was charged before: {toll:,}"
    return text


def _accident_table(accidents: list[Row]) -> Figures:
    heads = ("segment", "lane", "position", "vehicles", "stood from", "until", "has effect in minutes")
    rows = tuple(
        tuple(one[name] for name in ("seg", "lane", "at", "cars", "since", "until", "effect")) for one in accidents
    )
    return Figures("Accidents in reach", heads, rows)


def _trip_table(way: Way, time: int) -> Figures:
    """The vehicle's reports around a second."""
    own = way.own
    at = int((own["time"] <= time).sum())
    near = own.slice(max(0, at - 5), 8)
    rows = tuple(
        (row["time"], row["seg"], row["lane"], row["speed"], row["pos"], "this one" if row["time"] == time else "")
        for row in near.iter_rows(named=True)
    )
    return Figures("Its reports around that time", ("second", "segment", "lane", "speed", "position", ""), rows)


def _alert(way: Way, alert: Row, profile: Profile) -> Answer:
    reach = alert["reach"]
    accidents = accidents_ahead(way, alert["time"], alert["seg"], reach, profile)
    if profile.alert_when == "detection":
        text = f"it was in segment {alert['seg']} when the accident was detected"
    else:
        text = f"it entered segment {alert['seg']} of expressway {way.xway} at this second, not in the exit lane"
    nearest = f"the accident in segment {alert['nearest']} is the nearest downstream"
    reasons = (Reason("15", text), Reason("13, 14", nearest), *(Reason("9–12", one["words"]) for one in accidents))
    values = {"time": alert["time"], "seg": alert["nearest"], "xway": way.xway, "dir": way.direction}
    return Answer("accident alert", f"accident ahead in segment {alert['nearest']}", values, reasons)


def _credit(way: Way, credit: Row, profile: Profile) -> Answer:
    amount = profile.exit_credit
    text = f"it left expressway {way.xway} by the exit lane before the site of an accident: a credit of {amount:,}"
    return Answer("credit", f"{amount:,}", {"time": credit["time"], "amount": -amount}, (Reason("16", text),))
