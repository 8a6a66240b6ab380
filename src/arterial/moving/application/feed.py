"""What feeds the network: the reports and the queries' events of a prepared file, two sources that advance together.

Both plan by the instants of the whole file, so that a step has all that happens at an instant, or nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from arterial.connectors.pace import Pace
from arterial.connectors.source import Ask, Part, Progress, Source, Span
from arterial.moving.application.prepare import OBJECTS, Prepared
from arterial.network.train import BEGIN, END


@dataclass(frozen=True)
class EventFeed(Source):
    """The reports, or the queries' events. Its position is the next instant, and the empty steps left to warm up."""

    events: Prepared
    which: str
    pace: Pace
    warm_up: int = 0

    def begin(self) -> Progress:
        """Before the first instant."""
        return Progress({"instant": 0, "warm up": self.warm_up}, BEGIN if self.events.time_units else END)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """As many whole instants as are due and fit."""
        instants, objects, queries = self.events.index()
        at, warm_up = before.position["instant"], before.position["warm up"]
        if at == len(instants):
            return Progress(before.position, END)
        if warm_up:
            return Progress({"instant": at, "warm up": warm_up - 1}, before.through)
        rows = objects + queries
        to = max(at + 1, int(np.searchsorted(rows, rows[at] + ask.tuples, "right")) - 1)
        if not self.pace.runs_freely:
            to = min(to, int(np.searchsorted(instants, self.pace.last_due(ask.now), "right")))
        if ask.until is not None:
            to = min(to, int(np.searchsorted(instants, ask.until, "right")))
        if to <= at:
            return before
        return Progress({"instant": to, "warm up": 0}, END if to == len(instants) else int(instants[to - 1]))

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A contiguous piece of the rows."""
        begins = self.events.index()[1 if self.which == OBJECTS else 2]
        first, last = (int(begins[progress.position["instant"]]) for progress in (before, after))
        begin, end = (first + (last - first) * n // part.count for n in (part.index, part.index + 1))
        return self.events.rows(self.which, begin, end)

    def share(self, progress: Progress) -> float | None:
        """The share of the instants."""
        return float(progress.position["instant"] / max(1, len(self.events.index()[0])))

    def waiting(self, progress: Progress, now: float) -> int | None:
        """The rows that are due and not yet read."""
        if self.pace.runs_freely or progress.position["warm up"]:
            return None
        instants, *begins = self.events.index()
        rows, at = begins[0 if self.which == OBJECTS else 1], progress.position["instant"]
        due = int(np.searchsorted(instants, self.pace.last_due(now), "right"))
        return int(rows[max(due, at)] - rows[at])

    def waited(self, span: Span, now: float) -> float:
        """How long ago the first instant of a step was due, where they are paced."""
        at = span.before.position["instant"]
        if self.pace.runs_freely or span.after.position["instant"] <= at or not self.pace.started:
            return 0.0
        return max(0.0, now - self.pace.due(float(self.events.index()[0][at])))
