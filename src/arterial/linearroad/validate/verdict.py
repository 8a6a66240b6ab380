"""What the validator found: counts, examples and response times by type, and whether the run passes (§3.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arterial.linearroad.formats.answers import ANSWER_TYPES, TITLE_OF_TYPE
from arterial.linearroad.semantics.city import MINUTE_SECONDS

DIFFERENCES = ("missing", "extra", "wrong")
KINDS = (*DIFFERENCES, "late")
COUNTS = ("expected", "got", "right", *KINDS)
KEPT_EXAMPLES = 5
# Response times are counted by the millisecond up to this, and together above.
COUNTED_MILLISECONDS = 180_000
PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Example:
    """One answer that is not as it should be: what was expected, what came, and the rule that decides."""

    kind: str
    time: int
    expected: dict[str, Any] | None
    got: dict[str, Any] | None
    rule: str


@dataclass
class Latency:
    """Response times: how many of each millisecond, and the greatest of each minute."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(COUNTED_MILLISECONDS + 1, np.int64))
    greatest: float = 0.0
    minutes: dict[int, float] = field(default_factory=dict)

    def add(self, time: NDArray[Any], response: NDArray[np.float64]) -> None:
        """Count answers: the second each belongs to and how long it took."""
        if len(time) == 0:
            return
        # Rounded up, so that a percentile is never reported smaller than it is.
        milliseconds = np.clip(np.ceil(response * 1000 - 1e-6), 0, COUNTED_MILLISECONDS).astype(np.int64)
        self.counts += np.bincount(milliseconds, minlength=COUNTED_MILLISECONDS + 1)
        self.greatest = max(self.greatest, float(response.max()))
        minute = np.asarray(time, np.int64) // MINUTE_SECONDS
        first = int(minute.min())
        most = np.full(int(minute.max()) - first + 1, -np.inf)
        np.maximum.at(most, minute - first, response)
        for place in np.flatnonzero(most > -np.inf).tolist():
            self.minutes[first + place] = max(self.minutes.get(first + place, 0.0), float(most[place]))

    def join(self, other: Latency) -> None:
        """Add what another has counted."""
        self.counts += other.counts
        self.greatest = max(self.greatest, other.greatest)
        for minute, most in other.minutes.items():
            self.minutes[minute] = max(self.minutes.get(minute, 0.0), most)

    def percentile(self, share: float) -> float:
        """The response time in seconds that `share` per cent of the answers did not exceed."""
        total = int(self.counts.sum())
        if total == 0:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self.counts), np.ceil(total * share / 100)))
        return self.greatest if place >= COUNTED_MILLISECONDS else min(place / 1000, self.greatest)


@dataclass
class Tally:
    """The judgement of one type; tallies of parts of an output add up."""

    answer_type: int
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    examples: list[Example] = field(default_factory=list)
    latency: Latency = field(default_factory=Latency)
    # Lines that the window leaves unjudged.
    outside: int = 0

    def join(self, other: Tally) -> None:
        """Add the tally of another part."""
        for name, count in other.counts.items():
            self.counts[name] += count
        self.outside += other.outside
        self.latency.join(other.latency)
        self.examples = first_examples([*self.examples, *other.examples])

    @property
    def differences(self) -> int:
        """How many answers are missing, extra or wrong."""
        return sum(self.counts[kind] for kind in DIFFERENCES)

    @property
    def passes(self) -> bool:
        """Whether nothing is missing, extra, wrong or late."""
        return not any(self.counts[kind] for kind in KINDS)


def first_examples(examples: list[Example]) -> list[Example]:
    """The earliest few of each kind."""
    ordered = sorted(examples, key=_order)
    kept: list[Example] = []
    for kind in KINDS:
        kept += [one for one in ordered if one.kind == kind][:KEPT_EXAMPLES]
    return kept


def _order(example: Example) -> tuple[int, ...]:
    answer = example.expected or example.got or {}
    return (KINDS.index(example.kind), example.time, answer.get("vid") or 0, answer.get("qid") or 0)


@dataclass
class Causes:
    """Of one type: the differences by cause, most first, which add up; and how well the output follows each cause."""

    counts: dict[str, int] = field(default_factory=dict)
    # By cause: the answers that it would change, and those of them that came so.
    followed: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def differences(self) -> int:
        """All of them."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Verdict:
    """The judgement of a whole output."""

    profile: str
    dialect: str
    data: str
    output: str
    tallies: dict[int, Tally]
    limits: dict[int, int]
    lines: int
    faults: list[dict[str, Any]]
    fault_counts: dict[str, int]
    events: int
    xways: int
    rejected: int
    window: tuple[int, int] | None
    timed: bool
    notes: list[str]
    seconds: float
    # By type: which rules explain the differences; empty if there are none, or if they were not looked for.
    causes: dict[int, Causes] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """Whether the run passes: every answer right and in time, and no line that is no answer."""
        return not self.fault_counts and all(tally.passes for tally in self.tallies.values())

    @property
    def outside(self) -> int:
        """How many answers lie outside the window and were not judged."""
        return sum(tally.outside for tally in self.tallies.values())

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {
            "passes": self.passes,
            "profile": self.profile,
            "dialect": self.dialect,
            "data": self.data,
            "output": self.output,
            "events": self.events,
            "xways": self.xways,
            "rejected_input_lines": self.rejected,
            "output_lines": self.lines,
            "dirty_output_lines": self.fault_counts,
            "first_dirty_lines": self.faults,
            "window": self.window,
            "response_times_judged": self.timed,
            "notes": self.notes,
            "seconds": round(self.seconds, 3),
            "causes": {str(t): causes.counts for t, causes in self.causes.items()},
            "types": {str(t): self._type_as_json(t) for t in ANSWER_TYPES if t in self.tallies},
        }

    def _type_as_json(self, answer_type: int) -> dict[str, Any]:
        tally = self.tallies[answer_type]
        return {
            "title": TITLE_OF_TYPE[answer_type],
            "passes": tally.passes,
            **tally.counts,
            "outside_window": tally.outside,
            "limit_seconds": self.limits[answer_type],
            "response_seconds": {
                **{f"p{share}": tally.latency.percentile(share) for share in PERCENTILES},
                "max": tally.latency.greatest,
            },
            "causes": [
                {"cause": cause, "differences": count, **_followed(self.causes[answer_type], cause)}
                for cause, count in (self.causes[answer_type].counts.items() if answer_type in self.causes else ())
            ],
            "examples": [vars(example) for example in tally.examples],
        }


def _followed(causes: Causes, cause: str) -> dict[str, int]:
    changes, came = causes.followed.get(cause, (0, 0))
    return {"would_change": changes, "came_so": came} if changes else {}
