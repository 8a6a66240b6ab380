"""Under which rule each difference is counted, from the evidence of all parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arterial.linearroad.formats.answers import BALANCE, EXPENDITURE, TOLL_NOTICE
from arterial.linearroad.validate.causes.alternatives import Alternative
from arterial.linearroad.validate.causes.evidence import EARLY, Evidence
from arterial.linearroad.validate.verdict import Causes

NO_RULE = "none"
OWN_QUOTES = "its own quotes"
BEFORE_TIME = "20"
# An alternative is believed if at least this share of the answers that it changes came so.
BELIEVED = 0.5


def causes_of(evidence: Mapping[int, Evidence], alternatives: Sequence[Alternative]) -> dict[int, Causes]:
    """The causes by type. A rule about tolls explains an account only if the output's notices follow it, too."""
    believed = {t: _believed(one, alternatives) for t, one in evidence.items()}
    notices = evidence.get(TOLL_NOTICE)
    if notices is not None and notices.sets:
        doubted = {
            (one.rules[0], one.of)
            for one in alternatives
            if len(one.rules) == 1 and notices.changes.get(one.number, 0) and one.number not in believed[TOLL_NOTICE]
        }
        for t in (BALANCE, EXPENDITURE):
            believed[t] = {
                one.number
                for one in alternatives
                if one.number in believed.get(t, ())
                and (one.whole or not doubted.intersection((rule, one.of) for rule in one.rules))
            }
    return {t: _counted(one, alternatives, believed[t]) for t, one in evidence.items() if one.sets}


def _counted(evidence: Evidence, alternatives: Sequence[Alternative], believed: set[int]) -> Causes:
    """Each difference under one rule if that suffices, else two, else several of a profile, else none.

    Of several single rules that explain a difference the one that explains the most is taken.
    """
    by_number = {one.number: one for one in alternatives}
    own = len(alternatives)
    explains = dict.fromkeys(by_number, 0)
    for found, count in evidence.sets.items():
        for number in explains:
            explains[number] += count if found >> number & 1 else 0
    counts: dict[str, int] = {}
    chosen: dict[str, int] = {}
    for found, count in evidence.sets.items():
        fitting = [number for number in believed if found >> number & 1]
        if found >> EARLY & 1:
            label = BEFORE_TIME
        elif fitting:
            best = min(fitting, key=lambda number: (_weight(by_number[number]), -explains[number], number))
            label = by_number[best].label
            chosen.setdefault(label, best)
        elif found >> own & 1:
            label = OWN_QUOTES
            chosen[label] = own
        else:
            label = NO_RULE
        counts[label] = counts.get(label, 0) + count
    ordered = dict(sorted(counts.items(), key=lambda one: (one[0] == NO_RULE, -one[1])))
    followed = {
        label: (evidence.changes.get(number, 0), evidence.came.get(number, 0)) for label, number in chosen.items()
    }
    return Causes(ordered, followed)


def _believed(evidence: Evidence, alternatives: Sequence[Alternative]) -> set[int]:
    """Those that the output follows, alone or with others."""
    fits = {one.number for one in alternatives if _followed(evidence, one.number)}
    with_others = {
        (rule, one.of) for one in alternatives if one.number in fits and len(one.rules) > 1 for rule in one.rules
    }
    return fits | {
        one.number for one in alternatives if not one.whole and all((rule, one.of) in with_others for rule in one.rules)
    }


def _followed(evidence: Evidence, number: int) -> bool:
    """Whether most answers that an alternative changes came so.

    That those are missing which it leaves out shows something only if most of the others came, or if it
    has no answers at all.
    """
    changes, came = evidence.changes.get(number, 0), evidence.came.get(number, 0)
    gone, absent = evidence.gone.get(number, 0), evidence.absent.get(number, 0)
    others = evidence.expected - gone
    if (others or changes > gone) and evidence.missing - absent >= BELIEVED * others:
        changes, came = changes - gone, came - absent
    return changes > 0 and came >= BELIEVED * changes


def _weight(alternative: Alternative) -> int:
    return 3 if alternative.whole else len(alternative.rules)
