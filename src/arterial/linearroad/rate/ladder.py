"""Which L to try next: in steps of a half below 5, then in larger ones; first upwards by leaps, then between."""

from __future__ import annotations

from collections.abc import Mapping

from arterial.errors import ArterialError

HALF_STEPS_BELOW = 5
_ABOVE = (5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128)


def rungs(highest: float) -> list[float]:
    """Every L that may be tried, up to `highest`.

    >>> rungs(6)
    [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0]
    """
    if highest < 0.5:
        raise ArterialError(f"the highest L must be 0.5 or more, got {highest:g}")
    found = [step / 2 for step in range(1, 2 * HALF_STEPS_BELOW)]
    found += [float(step) for step in _ABOVE]
    while found[-1] < highest:
        # Four rungs to each doubling, as above.
        found += [found[-4] * 2, found[-3] * 2, found[-2] * 2, found[-1] * 2]
    return [rung for rung in found if rung <= highest]


def next_rung(ladder: list[float], passed: Mapping[float, bool], start: float) -> float | None:
    """The L to try next, given which passed; None when the largest that passes is known.

    From `start` it goes up by twice the number of rungs as long as trials pass, and then halves what lies between the
    largest that passed and the smallest that failed.

    >>> ladder = rungs(16)
    >>> next_rung(ladder, {}, 1.0), next_rung(ladder, {1.0: True}, 1.0), next_rung(ladder, {1.0: True, 1.5: False}, 1.0)
    (1.0, 1.5, None)
    """
    good = [ladder.index(rung) for rung, ok in passed.items() if ok and rung in ladder]
    bad = [ladder.index(rung) for rung, ok in passed.items() if not ok and rung in ladder]
    low, high = max(good, default=-1), min(bad, default=len(ladder))
    if not good and not bad:
        return min(ladder, key=lambda rung: abs(rung - start))
    if high - low <= 1:
        return None
    if high < len(ladder):
        return ladder[(low + high) // 2]
    leap = 1 << (len(good) - 1)
    return ladder[min(low + leap, len(ladder) - 1)]


def rating(passed: Mapping[float, bool]) -> float:
    """The largest L that passed below every one that failed; 0 if none did."""
    failed = min((rung for rung, ok in passed.items() if not ok), default=float("inf"))
    return max((rung for rung, ok in passed.items() if ok and rung < failed), default=0.0)
