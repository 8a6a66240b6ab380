"""The semantics of Linear Road as named data: a field for each point in which the profiles differ.

`spec` is the formal tables of the VLDB 2004 paper (§3.2), `walmart` what Walmart's public validator of 2016 expects,
`thesis2003` the older specification (thesis, ch. 3). docs/linear-road/semantics.md has the rules by number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from arterial.errors import ArterialError
from arterial.linearroad.semantics.city import (
    ACCIDENT_SEGMENTS,
    BASE_TOLL,
    REPORT_SECONDS,
    RESPONSE_LIMIT,
    TOLL_CARS_ABOVE,
    TOLL_LAV_BELOW,
    TRAVEL_LANES,
)


class ProfileError(ArterialError):
    """A profile that does not exist, or an option that it does not have."""


@dataclass(frozen=True)
class Profile:
    """What one specification of Linear Road says. The defaults are `spec`; numbers in brackets are the rules."""

    name: str
    about: str

    # Segment statistics and tolls
    lav_mean: Literal["of_minute_means", "of_pooled_reports"] = "of_minute_means"  # (1)
    lav_rounding: Literal["floor", "half_up"] = "floor"  # (2)
    lav_unknown: int = -1  # (4)
    exit_hides_vehicle: bool = False  # (5) after lane 4 a vehicle's reports are ignored until one in lane 0
    base_toll: int = BASE_TOLL  # (6)
    toll_lav_below: int = TOLL_LAV_BELOW  # (6)
    toll_free_cars: int = TOLL_CARS_ABOVE  # (6) the number that is subtracted from the cars
    toll_needs_more_cars: bool = True  # (6) no toll at all up to that number
    discount_from: int | None = None  # thesis: tolls are halved once this much was charged today
    exit_credit: int = 0  # thesis: for leaving the expressway before the site of an accident

    # Trips: how a report finds its predecessor
    chain_gap: int | None = REPORT_SECONDS  # (8) exactly so many seconds; None: the last one whatever the gap
    entrance_gap: int | None = None  # (8) a report in lane 0 after a gap longer than this starts a new trip

    # Accidents
    accident_lanes: tuple[int, ...] = TRAVEL_LANES  # (10)
    accident_place: Literal["pos", "seg"] = "pos"  # (10) which field gives the accident's segment
    accident_cars: Literal["all_stopped", "first_two"] = "all_stopped"  # (10)
    accidents_a_segment: int | None = None  # (10) no more than this, ever
    stop_lapses: bool = True  # (12) a silent vehicle is no longer stopped `chain_gap` seconds after its last report
    accident_starts: Literal["next_minute", "at_once"] = "next_minute"  # (11)
    accident_ends: Literal["minute_after_last", "minute_of_clearing", "at_once"] = "minute_after_last"  # (11)
    toll_free_segments: tuple[int, int] = (0, ACCIDENT_SEGMENTS - 1)  # (6, 13) how far upstream of an accident
    alert_segments: tuple[int, int] = (0, ACCIDENT_SEGMENTS - 1)  # (13, 15)
    alert_when: Literal["entering_segment", "detection"] = "entering_segment"  # (15)
    alert_accepted: Literal["any_in_range", "nearest"] = "any_in_range"  # (14) by the validator

    # Requests
    balance_result_time: Literal["last_charge", "request"] = "last_charge"  # (17)
    # (17) when an accepted balance was true: in the minute before the request, then, or between request and answer
    balance_accepted: Literal["minute_before", "at_request", "until_answer"] = "minute_before"
    expenditure: Literal["history", "today"] = "history"  # (18)
    unknown_expenditure: int | None = 0  # (18) None: no answer
    travel_includes_end: bool = False  # (19) whether the last segment is part of the journey
    travel_over_midnight: Literal["next_weekday", "same_weekday"] = "next_weekday"  # (19)

    # (20) seconds, by output type
    response_limit: Mapping[int, int] = field(default_factory=lambda: MappingProxyType(dict(RESPONSE_LIMIT)))

    def __reduce__(self) -> tuple[object, ...]:
        # A mapping proxy has no pickle of its own, and profiles travel to Spark's workers.
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return _restore, ({**fields, "response_limit": dict(self.response_limit)},)


SPEC = Profile("spec", "the formal tables of the VLDB 2004 paper")

WALMART = Profile(
    "walmart",
    "what Walmart's validator of 2016 expects",
    lav_mean="of_pooled_reports",
    lav_rounding="half_up",
    lav_unknown=0,
    exit_hides_vehicle=True,
    chain_gap=None,
    entrance_gap=60,
    accident_lanes=(0, 1, 2, 3, 4),
    accident_place="seg",
    accident_cars="first_two",
    accidents_a_segment=1,
    stop_lapses=False,
    accident_ends="minute_of_clearing",
    alert_accepted="nearest",
    balance_result_time="request",
    balance_accepted="at_request",
    unknown_expenditure=None,
    response_limit=MappingProxyType({**RESPONSE_LIMIT, 3: 5}),
)

# The thesis calls these "predetermined constants" and gives no values.
THESIS_BASE_TOLL = BASE_TOLL
THESIS_BASE_CREDIT = 100
THESIS_FREQUENT_MINIMUM = 1000

_OPTIONS = {"basetoll": "base_toll", "basecredit": "exit_credit", "ftmin": "discount_from"}
# The toll of 1,600 vehicles in one mile, more than there is room for, stays a 32-bit number.
LARGEST_AMOUNT = {"base_toll": 1000, "exit_credit": 10**9, "discount_from": 10**9}

THESIS2003 = Profile(
    "thesis2003",
    "the specification of the 2003 thesis",
    lav_mean="of_pooled_reports",
    base_toll=THESIS_BASE_TOLL,
    toll_free_cars=150,
    toll_needs_more_cars=False,
    discount_from=THESIS_FREQUENT_MINIMUM,
    exit_credit=THESIS_BASE_CREDIT,
    accident_lanes=(0, 1, 2, 3, 4),
    accident_starts="at_once",
    accident_ends="at_once",
    toll_free_segments=(0, 5),
    alert_segments=(1, 5),
    alert_when="detection",
    balance_accepted="until_answer",
    expenditure="today",
    travel_includes_end=True,
    travel_over_midnight="same_weekday",
    response_limit=MappingProxyType({0: 15, 1: 15, 2: 60, 3: 90, 4: 120}),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({p.name: p for p in (SPEC, WALMART, THESIS2003)})


def profile(
    name: str, *, basetoll: int | None = None, basecredit: int | None = None, ftmin: int | None = None
) -> Profile:
    """The profile of that name; the three constants are the thesis' own and may be set for it alone.

    >>> profile("spec").lav_unknown, profile("thesis2003", ftmin=500).discount_from
    (-1, 500)
    """
    chosen = PROFILES.get(name)
    if chosen is None:
        raise ProfileError(f"No profile {name!r}: there are {', '.join(PROFILES)}.")
    given = {"basetoll": basetoll, "basecredit": basecredit, "ftmin": ftmin}
    changes = {_OPTIONS[option]: value for option, value in given.items() if value is not None}
    if changes and name != THESIS2003.name:
        raise ProfileError(
            f"Profile {name!r} has no basetoll, basecredit or ftmin: they are options of {THESIS2003.name!r}."
        )
    for key, value in changes.items():
        if not 0 <= value <= LARGEST_AMOUNT[key]:
            option = next(name for name, field in _OPTIONS.items() if field == key)
            raise ProfileError(f"{option} is an amount from 0 to {LARGEST_AMOUNT[key]:,}, and not {value:,}.")
    return replace(chosen, **changes)  # type: ignore[arg-type]


def _restore(fields: dict[str, object]) -> Profile:
    limit = fields.pop("response_limit")
    return Profile(**fields, response_limit=MappingProxyType(limit))  # type: ignore[arg-type]
