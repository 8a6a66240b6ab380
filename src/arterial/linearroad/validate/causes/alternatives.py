"""The readings that are tried on an output that differs: the judging profile with one rule of another, two, or all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from arterial.linearroad.formats.answers import (
    ACCIDENT_ALERT,
    ANSWER_TYPES,
    BALANCE,
    EXPENDITURE,
    TOLL_NOTICE,
    TRAVEL_TIME,
)
from arterial.linearroad.semantics.profiles import PROFILES, THESIS2003, Profile
from arterial.linearroad.semantics.rules import differing_rules, is_sound, with_rules
from arterial.linearroad.validate.expected.traffic import chained_by

SEVERAL = "several of "
# Response times are judged on their own.
_RESPONSE = "20"
# The rules that have a say in each type of answers.
_NOTICES = frozenset(["1", "2", "4", "5", "6", "8", "10–12", "13"])
_ALERTS = frozenset(["5", "8", "10–12", "13", "14", "15"])
_ACCOUNTS = _NOTICES - {"4"} | {"16", "17"}
_RULES_OF_TYPE = {
    TOLL_NOTICE: _NOTICES,
    ACCIDENT_ALERT: _ALERTS,
    BALANCE: _ACCOUNTS,
    EXPENDITURE: frozenset(["18"]),
    TRAVEL_TIME: frozenset(["6", "19"]),
}


@dataclass(frozen=True)
class Alternative:
    """A profile to try: which rules it has of the profile `of`."""

    number: int
    rules: tuple[str, ...]
    of: str
    profile: Profile
    # One or two rules are named; all of a profile's are "several".
    whole: bool = False

    @property
    def label(self) -> str:
        """What a difference that it explains is counted under."""
        return f"{SEVERAL}{self.of}" if self.whole else " and ".join(self.rules)

    @property
    def about_reports(self) -> bool:
        """Whether it changes what reports cause."""
        return not (_NOTICES | _ALERTS | {"16"}).isdisjoint(self.rules)


def alternatives_of(profile: Profile, types: Iterable[int] = ANSWER_TYPES) -> tuple[Alternative, ...]:
    """All that is tried on differences of these types: single rules first, and those with the same chains in a row.

    Pairs are tried between `spec` and `walmart` only: systems mix these, and hardly ever those with the thesis.
    """
    of_types = [_RULES_OF_TYPE[t] for t in types]
    if profile.expenditure == "today" and EXPENDITURE in types:
        of_types.append(_ACCOUNTS)
    concerned = frozenset[str]().union(*of_types)
    tried: dict[tuple[object, ...], tuple[tuple[str, ...], str, Profile, bool]] = {}
    for other in PROFILES.values():
        if other.name == profile.name:
            continue
        rules = tuple(rule for rule in differing_rules(profile, other) if rule != _RESPONSE)
        chosen: list[tuple[str, ...]] = [(rule,) for rule in rules if rule in concerned]
        if THESIS2003.name not in (profile.name, other.name):
            chosen += [pair for pair in combinations(rules, 2) if any(some.issuperset(pair) for some in of_types)]
        for some in (*chosen, rules):
            switched = with_rules(profile, other, some)
            if is_sound(switched):
                tried.setdefault(_identity(switched), (some, other.name, switched, some == rules))
    ordered = sorted(tried.values(), key=lambda one: (len(one[0]) > 1, repr(chained_by(one[2]))))
    return tuple(Alternative(number, *one) for number, one in enumerate(ordered))


def _identity(profile: Profile) -> tuple[object, ...]:
    return tuple(getattr(profile, name) for name in profile.__dataclass_fields__ if name != "response_limit")
