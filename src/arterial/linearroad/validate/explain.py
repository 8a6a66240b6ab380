"""Says of an answer that is not as it should be which rule decides; the numbers are those of the semantics page."""

from __future__ import annotations

from typing import Any

from arterial.linearroad.formats.answers import (
    ACCIDENT_ALERT,
    BALANCE,
    EXPENDITURE,
    TITLE_OF_TYPE,
    TOLL_NOTICE,
    TRAVEL_TIME,
)
from arterial.linearroad.semantics.city import REPORT_SECONDS
from arterial.linearroad.semantics.profiles import Profile

Row = dict[str, Any]


def explain_missing(answer_type: int, row: Row, profile: Profile) -> str:
    """Why an answer was expected."""
    if answer_type == TOLL_NOTICE:
        return f"rule 7: vehicle {row['vid']} reported from {_segment(row)} for the first time on this trip"
    if answer_type == ACCIDENT_ALERT:
        what = "was there at detection" if profile.alert_when == "detection" else "entered it"
        return f"rule 15: vehicle {row['vid']} {what}, {_segment(row)}; {_accidents(row)} (rules 10–13)"
    return f"rule {_REQUEST_RULE[answer_type]}: every request is answered, repeated QIDs each"


def explain_extra(answer_type: int, row: Row, profile: Profile, *, repeated: bool) -> str:
    """Why an answer should not be there."""
    if repeated:
        return f"this {TITLE_OF_TYPE[answer_type]} stands in the output more often than it was asked for"
    if answer_type == TOLL_NOTICE:
        return f"rules 7, 8: vehicle {row['vid']} entered no segment at second {row['time']} outside lane 4"
    if answer_type == ACCIDENT_ALERT and profile.alert_when == "detection":
        first, last = profile.alert_segments
        return (
            f"rule 15: no accident was detected at second {row['time']}, {first} to {last} segments ahead of a report"
            f" of vehicle {row['vid']} that is less than {REPORT_SECONDS} s old and not in lane 4"
        )
    if answer_type == ACCIDENT_ALERT:
        return f"rules 11, 15: no accident in reach of a segment that vehicle {row['vid']} entered at {row['time']}"
    return f"rule {_REQUEST_RULE[answer_type]}: no request has QID {row['qid']} at second {row['time']}"


def explain_wrong(answer_type: int, expected: Row, got: Row, profile: Profile, *, early: bool) -> str:
    """Which rule gives the right value."""
    reasons = []
    if early:
        reasons.append("rule 20: emitted before its time")
    if answer_type == TOLL_NOTICE:
        if expected["lav"] != got["lav"]:
            reasons.append(f"rules 1–4: LAV is {expected['lav']}{_lav_hint(expected['lav'], got['lav'], profile)}")
        if expected["toll"] != got["toll"]:
            reasons.append(
                f"rule 6: LAV {expected['lav']}, {expected['cars']} cars in the minute before, {_accidents(expected)}:"
                f" toll {expected['toll']}"
            )
    elif answer_type == ACCIDENT_ALERT and not early:
        only = ", and only the nearest is right" if profile.alert_accepted == "nearest" else ""
        reasons.append(f"rules 13, 14: {_segment(expected)}; {_accidents(expected)}{only}")
    elif answer_type == BALANCE and not early and profile.balance_accepted == "at_request":
        reasons.append(f"rule 17: right is {expected['balance']} with ResultTime {expected['result_time']} alone")
    elif answer_type == BALANCE and not early:
        reasons.append(f"rule 17: right are {expected['right']}")
    elif answer_type == EXPENDITURE and not early:
        key = f"vehicle {expected['vid']}, day {expected['day']}, expressway {expected['xway']}"
        reasons.append(f"rule 18: {expected['balance']} for {key}")
    elif answer_type == TRAVEL_TIME and not early:
        if expected["travel_time"] < 0:
            reasons.append("rule 19: a segment on the way has no history at its minute: -1, -1")
        else:
            reasons.append(f"rule 19: {expected['travel_time']} s and toll {expected['toll']}, each within max(1, 5 %)")
    name = "" if profile.name == "spec" else f" (profile {profile.name})"
    return "; ".join(reasons) + name


def explain_late(response: float, limit: int) -> str:
    """How late an answer is."""
    return f"rule 20: {response:.3f} s after its time, the limit is {limit} s"


_REQUEST_RULE = {BALANCE: 17, EXPENDITURE: 18, TRAVEL_TIME: 19}


def _segment(row: Row) -> str:
    return f"segment {row['seg']} of expressway {row['xway']}, direction {row['dir']}"


def _accidents(row: Row) -> str:
    away = [i for i in range(8) if int(row["reach"]) >> i & 1]
    if not away:
        return "no accident in reach"
    return f"accident {' and '.join(map(str, away))} segments downstream"


def _lav_hint(expected: int, got: int, profile: Profile) -> str:
    if expected == -1 and got == 0:
        return ", there was no report in the five minutes before (0 is profile walmart's)"
    if got == expected + 1 and profile.lav_rounding == "floor":
        return ", rounded down (rounded half up is profile walmart's)"
    return ""
