"""The verdict as a self-contained page: what was judged, counts by type, response times, and the first examples."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from arterial.linearroad.formats.answers import TITLE_OF_TYPE
from arterial.linearroad.validate.causes.alternatives import SEVERAL
from arterial.linearroad.validate.causes.attribution import BEFORE_TIME, NO_RULE, OWN_QUOTES
from arterial.linearroad.validate.verdict import COUNTED_MILLISECONDS, KINDS, PERCENTILES, Tally, Verdict
from arterial.report import Mark, Page, Tile


def page_of(verdict: Verdict) -> Page:
    """The page of a verdict."""
    page = Page("Linear Road validation", f"{verdict.output} against {verdict.data}")
    page.verdict(headline(verdict), good=verdict.passes, detail=" ".join(verdict.notes))
    page.tiles(_tiles(verdict))
    page.section("Answers", _what_was_judged(verdict))
    page.table(
        ["type", "expected", "got", "right", *KINDS],
        [_count_row(t, tally) for t, tally in verdict.tallies.items()],
    )
    if verdict.timed and any(tally.counts["got"] for tally in verdict.tallies.values()):
        _response_times(page, verdict)
    if verdict.causes:
        _causes(page, verdict)
    _examples(page, verdict)
    if verdict.fault_counts:
        page.section("Lines that are no answers", "Each of them fails the run.")
        page.table(["reason", "lines"], [[reason, count] for reason, count in verdict.fault_counts.items()])
        page.table(
            ["file", "line", "reason", "text"],
            [[fault["file"], fault["line"], fault["reason"], fault["text"]] for fault in verdict.faults],
            folded="The first of them",
        )
    return page


def headline(verdict: Verdict) -> str:
    """The outcome in one line."""
    if verdict.passes:
        right = sum(tally.counts["right"] for tally in verdict.tallies.values())
        in_time = " and in time" if verdict.timed else ""
        return f"The run passes: {right:,} answers, all right{in_time}"
    found = [
        f"{sum(tally.counts[kind] for tally in verdict.tallies.values()):,} {kind}"
        for kind in KINDS
        if any(tally.counts[kind] for tally in verdict.tallies.values())
    ]
    if verdict.fault_counts:
        dirty = sum(verdict.fault_counts.values())
        found.append(f"{dirty:,} dirty line{'s' * (dirty != 1)}")
    return f"The run fails: {', '.join(found)}"


def outside_in_words(lines: int) -> str:
    """That some answers were not judged.

    >>> outside_in_words(1), outside_in_words(2000)
    ('1 line outside the window was not judged.', '2,000 lines outside the window were not judged.')
    """
    return f"{lines:,} line{'s' * (lines != 1)} outside the window {'were' if lines != 1 else 'was'} not judged."


def _what_was_judged(verdict: Verdict) -> str:
    window = "all seconds"
    if verdict.window:
        window = f"the seconds {verdict.window[0]:,} to {verdict.window[1] - 1:,}, with the state of all before"
    more = f" {outside_in_words(verdict.outside)}" if verdict.outside else ""
    return (
        f"Profile `{verdict.profile}`, dialect `{verdict.dialect}`, {window}. Right means that the answer is one of "
        "those that the rules allow; a duplicate is extra; late is more than the limit after its time, whatever else "
        f"it is.{more}"
    )


def _tiles(verdict: Verdict) -> list[Tile]:
    got = sum(tally.counts["got"] for tally in verdict.tallies.values())
    tiles = [
        Tile("answers judged", f"{got:,}", f"of {verdict.lines:,} lines"),
        Tile("input", f"{verdict.events:,}", f"events on {verdict.xways} expressway{'s' * (verdict.xways != 1)}"),
    ]
    if verdict.rejected:
        tiles.append(Tile("input set aside", f"{verdict.rejected:,}", "dirty lines"))
    if verdict.timed and got:
        for t, tally in verdict.tallies.items():
            if tally.counts["got"]:
                limit = verdict.limits[t]
                value = f"{tally.latency.greatest:.2f} s"
                tiles.append(
                    Tile(f"slowest {TITLE_OF_TYPE[t]}", value, f"limit {limit} s", good=not tally.counts["late"])
                )
    return tiles


def _count_row(answer_type: int, tally: Tally) -> list[Any]:
    counts = tally.counts
    return [
        f"{answer_type} {TITLE_OF_TYPE[answer_type]}",
        counts["expected"],
        counts["got"],
        counts["right"],
        *(Mark(f"{counts[kind]:,}", counts[kind] == 0) for kind in KINDS),
    ]


def _response_times(page: Page, verdict: Verdict) -> None:
    from arterial.report import plots

    told = {t: tally for t, tally in verdict.tallies.items() if tally.counts["got"]}
    page.section("Response times", "From the time of the input to the emission of its answer, every one of them.")
    page.table(
        ["type", "limit (s)", *(f"p{share} (s)" for share in PERCENTILES), "slowest (s)", "late"],
        [
            [
                f"{t} {TITLE_OF_TYPE[t]}",
                verdict.limits[t],
                *(tally.latency.percentile(share) for share in PERCENTILES),
                tally.latency.greatest,
                Mark(f"{tally.counts['late']:,}", not tally.counts["late"]),
            ]
            for t, tally in told.items()
        ],
    )
    by_minute = {
        TITLE_OF_TYPE[t]: tuple(np.array(sorted(tally.latency.minutes.items())).T) for t, tally in told.items()
    }
    slowest = max(tally.latency.greatest for tally in told.values())
    limits = {f"limit {seconds} s": float(seconds) for seconds in sorted({verdict.limits[t] for t in told})}
    near = {name: seconds for name, seconds in limits.items() if seconds <= max(2 * slowest, min(limits.values()))}
    page.plot(
        plots.lines(by_minute, x="minute of the run", y="seconds", limits=near),
        "The slowest answer of every minute.",
    )
    page.plot(
        plots.lines(
            {TITLE_OF_TYPE[t]: _distribution(tally) for t, tally in told.items()},
            x="seconds",
            y="% answered within",
        ),
        "How many of the answers came within how many seconds.",
    )


def _distribution(tally: Tally) -> tuple[np.ndarray, np.ndarray]:
    """Points of the distribution of response times, few enough to draw."""
    counts = tally.latency.counts
    share = 100 * np.cumsum(counts) / max(counts.sum(), 1)
    last = int(np.searchsorted(share, 100 - 1e-9)) if counts.any() else 0
    places = np.unique(np.linspace(0, min(last + 1, COUNTED_MILLISECONDS), 400).astype(int))
    return places / 1000, share[places]


def _causes(page: Page, verdict: Verdict) -> None:
    from arterial.report import plots

    page.section(
        "Why they differ",
        "Each missing, extra or wrong answer under the rule whose other reading, in another profile, gives what came; "
        "under two if it takes both. Beside it: how many answers that reading changes at all, and how many of these "
        "came so. The closer the two, the surer it is that the system follows it.",
    )
    page.table(
        ["type", "cause", "differences", "would change", "came so"],
        [
            [
                f"{t} {TITLE_OF_TYPE[t]}",
                cause_in_words(cause, verdict.profile),
                count,
                *_shown(causes.followed.get(cause)),
            ]
            for t, causes in verdict.causes.items()
            for cause, count in causes.counts.items()
        ],
    )
    names = sorted({cause for causes in verdict.causes.values() for cause in causes.counts}, key=_rule_order)
    page.plot(
        plots.bars(
            names,
            {TITLE_OF_TYPE[t]: [causes.counts.get(name, 0) for name in names] for t, causes in verdict.causes.items()},
            x="rule",
            y="differences",
            size=plots.WIDE,
        ),
        "Differences by the rule that explains them.",
    )


def cause_in_words(cause: str, profile: str) -> str:
    """A cause as a sentence says it."""
    if cause == NO_RULE:
        return "no rule explains it"
    if cause == OWN_QUOTES:
        return "follows from the system's own toll notices, which differ"
    if cause == BEFORE_TIME:
        return "rule 20: right, but emitted before its time"
    if cause.startswith(SEVERAL):
        return f"only several rules of {cause.removeprefix(SEVERAL)} together"
    if " and " in cause:
        return f"only rules {cause} together"
    return f"rule{'s' * ('–' in cause)} {cause}, read otherwise than in {profile}"


def _rule_order(cause: str) -> tuple[int, int, str]:
    first = re.match(r"\d+", cause)
    return (1, 0, cause) if first is None else (0, int(first[0]), cause)


def _shown(followed: tuple[int, int] | None) -> tuple[Any, Any]:
    return ("–", "–") if followed is None else followed


def _examples(page: Page, verdict: Verdict) -> None:
    if not any(tally.examples for tally in verdict.tallies.values()):
        return
    page.section("What is not as it should be", "The first of each kind, and the rule that decides.")
    for t, tally in verdict.tallies.items():
        for kind in KINDS:
            chosen = [example for example in tally.examples if example.kind == kind]
            if chosen:
                page.table(
                    ["second", "expected", "got", "who is right by which rule"],
                    [[e.time, fields(e.expected), fields(e.got), e.rule] for e in chosen],
                    caption=f"{kind}: {TITLE_OF_TYPE[t]}, {len(chosen)} of {tally.counts[kind]:,}",
                )


def fields(row: dict[str, Any] | None) -> str:
    """A row as text."""
    if row is None:
        return "–"
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()
    )
