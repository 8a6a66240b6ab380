"""Which rule each field of a profile belongs to, and profiles in which some rules are another's.

The numbers are those of docs/linear-road/semantics.md. What an accident is and how long it has effect (10–12) goes
together: the parts of one reading make no sense with those of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from arterial.linearroad.semantics.profiles import PROFILES, Profile

FIELDS_OF_RULE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "1": ("lav_mean",),
        "2": ("lav_rounding",),
        "4": ("lav_unknown",),
        "5": ("exit_hides_vehicle",),
        "6": ("base_toll", "toll_lav_below", "toll_free_cars", "toll_needs_more_cars", "discount_from"),
        "8": ("chain_gap", "entrance_gap"),
        "10–12": (
            "accident_lanes",
            "accident_place",
            "accident_cars",
            "accidents_a_segment",
            "stop_lapses",
            "accident_starts",
            "accident_ends",
        ),
        "13": ("toll_free_segments", "alert_segments"),
        "14": ("alert_accepted",),
        "15": ("alert_when",),
        "16": ("exit_credit",),
        "17": ("balance_result_time", "balance_accepted"),
        "18": ("expenditure", "unknown_expenditure"),
        "19": ("travel_includes_end", "travel_over_midnight"),
        "20": ("response_limit",),
    }
)


def differing_rules(profile: Profile, other: Profile) -> tuple[str, ...]:
    """The rules in which the two profiles of these names differ; a constant that was set makes no difference.

    >>> from arterial.linearroad.semantics.profiles import SPEC, WALMART
    >>> differing_rules(SPEC, WALMART)
    ('1', '2', '4', '5', '8', '10–12', '14', '17', '18', '20')
    """
    one, two = PROFILES[profile.name], PROFILES[other.name]
    return tuple(
        rule
        for rule, fields in FIELDS_OF_RULE.items()
        if any(getattr(one, field) != getattr(two, field) for field in fields)
    )


def with_rules(profile: Profile, other: Profile, rules: Iterable[str]) -> Profile:
    """A profile with these rules of another."""
    fields = [field for rule in rules for field in FIELDS_OF_RULE[rule]]
    return replace(profile, **{field: getattr(other, field) for field in fields})


def is_sound(profile: Profile) -> bool:
    """Whether the rules of a profile that was put together go together.

    Who is alerted at detection, or has a credit, depends on the places of accidents, which `first_two` does not have.
    """
    return profile.accident_cars == "all_stopped" or (profile.alert_when != "detection" and not profile.exit_credit)
