"""Statistics of a run: the last window of steps, for controllers and who looks on, and totals of this process."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from arterial.engine.plan.plan import Plan
from arterial.engine.run.figures.window_figures import describe_window, shown_time
from arterial.figures.step import BoxFigures, SourceFigures, StepFigures
from arterial.figures.window import Window
from arterial.network.network import Arc, Port
from arterial.service.holding.waits import Waits
from arterial.service.values import Histogram

VALUED_STEPS = 50
"""Of so many steps it is known how values are distributed, and what boxes let through, with none left out by value."""
MOST_STEPS = 256
"""So many steps make a window at most: where they are very short, a look at all of them would take longer than one."""


@dataclass
class BoxStatistics:
    """What a box has done so far."""

    tuples_in: int = 0
    tuples_out: int = 0
    seconds: float = 0.0
    by_port: dict[str, int] = field(default_factory=dict)

    @property
    def selectivity(self) -> float | None:
        """Tuples out for each tuple in."""
        return self.tuples_out / self.tuples_in if self.tuples_in else None

    @property
    def microseconds_per_tuple(self) -> float | None:
        """The cost of a tuple."""
        return 1e6 * self.seconds / self.tuples_in if self.tuples_in else None

    def add(self, figures: BoxFigures) -> None:
        """Count another step."""
        self.tuples_in += sum(figures.tuples_in.values())
        self.tuples_out += sum(figures.tuples_out.values())
        self.seconds += figures.seconds
        for port, number in figures.tuples_out.items():
            self.by_port[port] = self.by_port.get(port, 0) + number


class Statistics:
    """Adds up the figures of steps. Many threads may read it while the run goes on."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = Lock()
        self._boxes: dict[str, BoxStatistics] = {box.name: BoxStatistics() for box in plan.network.boxes}
        self._outputs = {box.name for box in plan.outputs}
        self._through: dict[str, int] = {}
        self._first: tuple[float, float] | None = None
        self._began = time.monotonic()
        self.window = Window(most=MOST_STEPS)
        self._values: deque[Mapping[str, Histogram]] = deque(maxlen=VALUED_STEPS)
        self._usual = Window(math.inf, most=VALUED_STEPS)
        self._by_value = -1
        self._waits = Waits()
        self.steps = 0
        self.step = 0
        self.rejects = 0

    def add_step(self, figures: StepFigures, *, by_value: bool = False) -> None:
        """Take in one step; `by_value` says that a predicate left tuples out in it."""
        with self._lock:
            self.steps += 1
            self.step = max(self.step, figures.step)
            self.rejects += figures.rejects
            self.window.add(figures)
            self._waits.add(figures, self._plan.network)
            if by_value:
                self._by_value = figures.step
            else:
                if any(source.tuples for source in figures.sources.values()):
                    self._usual.add(figures)
                if values := {name: one.values for name, one in figures.outputs.items() if one.values}:
                    self._values.append(values)
            for name, box in figures.boxes.items():
                self._boxes.setdefault(name, BoxStatistics()).add(box)
            for name, source in figures.sources.items():
                if source.through is not None:
                    self._through[name] = source.through
            if self._first is None and (share := self._read_share()) is not None:
                self._first = (time.monotonic(), share)

    def follow(self, plan: Plan) -> None:
        """Go on with another version of the network; boxes that both have keep their counts."""
        with self._lock:
            self._plan = plan
            self._usual = Window(math.inf, most=VALUED_STEPS)
            self._outputs |= {box.name for box in plan.outputs}
            for box in plan.network.boxes:
                self._boxes.setdefault(box.name, BoxStatistics())

    def box(self, name: str) -> BoxStatistics:
        """What one box has done."""
        with self._lock:
            return self._boxes[name]

    @property
    def last(self) -> StepFigures | None:
        """The figures of the last step."""
        return self.window.steps[-1] if self.window.steps else None

    @property
    def step_seconds(self) -> float:
        """How long the last step took."""
        return self.last.seconds if self.last else 0.0

    @property
    def delay(self) -> float:
        """The worst delay of an output in the last step."""
        return max((output.delay for output in self.last.outputs.values()), default=0.0) if self.last else 0.0

    @property
    def tuples_in(self) -> int:
        """The tuples that all sources gave."""
        return sum(self._boxes[box.name].tuples_out for box in self._plan.sources)

    @property
    def tuples_out(self) -> int:
        """The tuples that arrived at outputs, those that another version dropped too."""
        return sum(self._boxes[name].tuples_in for name in self._outputs)

    @property
    def selectivities(self) -> dict[str, float | None]:
        """Tuples out for each tuple in, of every box: what the optimizer goes by."""
        with self._lock:
            return {name: box.selectivity for name, box in self._boxes.items()}

    @property
    def event_time(self) -> int | str | None:
        """The time through which all sources are read, as their time columns have it; None before the first step."""
        if not self._through:
            return None
        name, through = min(self._through.items(), key=lambda item: item[1])
        return shown_time(self._plan.network, name, through)

    @property
    def share(self) -> float | None:
        """How much of the sources is read, from 0 to 1, where that is known: that of the one which is behind."""
        with self._lock:
            return self._read_share()

    @property
    def remaining(self) -> float | None:
        """So many seconds are left if it goes on as it did since the first step: to the end of the sources, and from
        there on until the queues are empty."""
        with self._lock:
            return self._left()

    def describe(self) -> dict[str, Any]:
        """The totals of this process as plain data."""
        with self._lock:
            seconds = time.monotonic() - self._began
            last = self.last
            sources = last.sources if last else {}
            return {
                "network": self._plan.network.name,
                "step": self.step,
                "steps": self.steps,
                "seconds": round(seconds, 3),
                "step_seconds": round(self.step_seconds, 4),
                "delay": round(self.delay, 4),
                "event_time": self.event_time,
                "share": None if (share := self._read_share()) is None else round(share, 4),
                "held": sum(last.held.values()) if last else 0,
                "remaining": None if (left := self._left()) is None else round(left, 1),
                "tuples_in": self.tuples_in,
                "tuples_out": self.tuples_out,
                "tuples_per_second": round(self.tuples_in / seconds) if seconds else 0,
                "set_aside": self.rejects,
                "boxes": {b.name: self._describe(b.name, self._boxes[b.name]) for b in self._plan.network.boxes},
                "arcs": [
                    {
                        "from": str(arc.begin),
                        "to": str(arc.end),
                        "tuples": self._boxes[arc.begin.box].by_port.get(arc.begin.port, 0),
                        "queue": _queue(arc, last, sources.get(arc.begin.box)),
                    }
                    for arc in self._plan.network.arcs
                ],
            }

    def describe_window(self) -> dict[str, Any]:
        """The last window as plain data, for `status.json`."""
        with self._lock:
            usual = self._usual if self._was_by_value and self._usual.steps else None
            return describe_window(self.window, self._plan, self._histograms(), usual, self._overdue())

    def _overdue(self) -> dict[str, float]:
        """How many tuples of each output wait in a queue beyond its good zone."""
        if self.last is None or not self.last.held:
            return {}
        passes = {
            Port(name, port): number / box.tuples_in
            for name, box in self._boxes.items()
            for port, number in box.by_port.items()
            if box.tuples_in
        }
        return self._waits.overdue(self._plan.network, passes)

    @property
    def _was_by_value(self) -> bool:
        """Whether a predicate left tuples out in the window."""
        return bool(self.window.steps) and self._by_value >= self.window.steps[0].step

    def _histograms(self) -> dict[str, Histogram]:
        """How the values of each output are distributed when no predicate leaves any out, if one did in the window."""
        found: dict[str, Counter[str]] = {}
        if not self._was_by_value:
            return {}
        for values in self._values:
            for name, counts in values.items():
                found.setdefault(name, Counter()).update(counts)
        return dict(found)

    def _read_share(self) -> float | None:
        if self.last is None:
            return None
        shares = [source.share for source in self.last.sources.values()]
        known = [share for share in shares if share is not None]
        return min(known) if known and len(known) == len(shares) else None

    def _left(self) -> float | None:
        share = self._read_share()
        if share is None or self._first is None:
            return None
        if share >= 1:
            return self._until_empty()
        since, before = self._first
        return (time.monotonic() - since) * (1 - share) / (share - before) if share > before else None

    def _until_empty(self) -> float | None:
        """So many seconds until nothing is held, if queues get shorter as fast as they did in the window."""
        waits = [(step.born + step.seconds, sum(step.held.values())) for step in self.window.steps]
        now, left = waits[-1]
        if not left:
            return 0.0
        since, most = max(waits, key=lambda one: one[1])
        return (now - since) * left / (most - left) if most > left and now > since else None

    def _describe(self, name: str, box: BoxStatistics) -> dict[str, Any]:
        selectivity, cost = box.selectivity, box.microseconds_per_tuple
        return {
            "kind": self._plan.network.box(name).kind,
            "in": box.tuples_in,
            "out": box.tuples_out,
            "seconds": round(box.seconds, 6),
            "microseconds_per_tuple": None if cost is None else round(cost, 4),
            "selectivity": None if selectivity is None else round(selectivity, 4),
        }


def _queue(arc: Arc, last: StepFigures | None, source: SourceFigures | None) -> int:
    """The tuples on an arc: its last train, what waits in its queue, and behind a source what is still to be read."""
    if last is None:
        return 0
    train = last.boxes[arc.begin.box].tuples_out.get(arc.begin.port, 0) if arc.begin.box in last.boxes else 0
    return train + last.held.get(str(arc), 0) + ((source.waiting or 0) if source else 0)
