"""A window of steps: rates, costs and selectivities over the last seconds, which controllers decide by."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterable, Mapping

from arterial.figures.calls import Calls, Line
from arterial.figures.step import BoxFigures, SlotFigures, StepFigures

Place = tuple[str | None, int | None, int | None]
"""A box, its level and a slot; no box: what a level spends around boxes; no level: what a step spends around levels."""

FEW = 20
"""So many steps stay in a window, however far apart they are."""

REMEMBERED = 100
"""The shortest step is that of so many, at least: under load all steps of a window may be long."""


class Window:
    """The last steps of a run, as many as fit into `seconds`, and at most `most`; at least the last one.

    What is older than that by the clock goes too, as long as `FEW` steps are left: a run that rests much must not be
    judged by how it was long ago.

    >>> window = Window(10.0)
    >>> window.add(StepFigures(1, 1, 0.0, 0.5, {"fast": BoxFigures({"in": 10}, {"out": 4}, 0.02)}))
    >>> window.cost("fast"), window.selectivity("fast")
    (0.002, 0.4)
    """

    def __init__(self, seconds: float = 10.0, steps: Iterable[StepFigures] = (), most: int = sys.maxsize) -> None:
        self.length, self._most = seconds, most
        self.steps: deque[StepFigures] = deque()
        self.spent: dict[Place, float] = {}
        """Seconds of its steps by place; see `spent_in`."""
        self.shed: dict[str, int] = {}
        """Tuples that were left out, by arc."""
        self.state_read = self.state_written = 0
        """Bytes of state."""
        self._boxes: dict[str, _Sum] = {}
        self._calls: dict[str, Calls] = {}
        self._durations: deque[float] = deque(maxlen=REMEMBERED)
        self._seconds = 0.0
        for step in steps:
            self.add(step)

    def add(self, step: StepFigures) -> None:
        """Take in the next step; those that are too old go."""
        self.steps.append(step)
        self._count(step, 1)
        for name, figures in step.boxes.items():
            if figures.seconds:
                self._calls.setdefault(name, Calls()).add(step.born, figures.tuples, figures.seconds)
        if any(source.tuples for source in step.sources.values()):
            self._durations.append(step.seconds)
        while len(self.steps) > 1 and (
            self._seconds > self.length or len(self.steps) > self._most or self._begins_too_early()
        ):
            self._count(self.steps.popleft(), -1)

    def _begins_too_early(self) -> bool:
        return len(self.steps) > FEW and self.steps[-1].born - self.steps[0].born > self.length

    @property
    def seconds(self) -> float:
        """The time that its steps took."""
        return max(0.0, self._seconds)

    @property
    def span(self) -> float:
        """The time from its first step to the end of its last one, idle times included."""
        if not self.steps:
            return 0.0
        first, last = self.steps[0], self.steps[-1]
        return max(self.seconds, last.born + last.seconds - first.born)

    def box(self, name: str) -> BoxFigures:
        """What a box did in the window."""
        found = self._boxes.get(name)
        if found is None:
            return BoxFigures()
        return BoxFigures(dict(found.tuples_in), dict(found.tuples_out), max(0.0, found.seconds))

    def cost(self, name: str) -> float | None:
        """c(b): seconds of a core for each tuple that came in; None if none came (Aurora §4.2)."""
        figures = self.box(name)
        tuples = sum(figures.tuples_in.values())
        return figures.seconds / tuples if tuples else None

    def call_cost(self, name: str) -> Line | None:
        """What a call of a box costs, and each of its tuples; None if steps do not tell them apart.

        By more steps than those of the window: what a call costs stays when its tuples become more or fewer.
        """
        calls = self._calls.get(name)
        return calls.cost if calls else None

    def calls(self, name: str) -> int:
        """In how many steps of the window a box was called."""
        found = self._boxes.get(name)
        return found.calls if found else 0

    @property
    def shortest(self) -> float:
        """The seconds of the shortest step that read anything: no step can have a greater fixed cost."""
        return min(self._durations, default=math.inf)

    def selectivity(self, name: str) -> float | None:
        """s(b): tuples out for each tuple in; None if none came in (Aurora §4.2)."""
        figures = self.box(name)
        tuples = sum(figures.tuples_in.values())
        return sum(figures.tuples_out.values()) / tuples if tuples else None

    def rate(self, source: str) -> float:
        """Tuples a second that a source gave."""
        seconds = self.seconds
        read = sum(step.sources[source].tuples for step in self.steps if source in step.sources)
        return read / seconds if seconds else 0.0

    def delays(self, output: str) -> list[tuple[float, int]]:
        """The delays of an output, from the shortest to the longest, each with how many tuples had it."""
        found = (step.outputs[output] for step in self.steps if output in step.outputs)
        return sorted((figures.delay, figures.tuples) for figures in found if figures.tuples)

    def _count(self, step: StepFigures, sign: int) -> None:
        self._seconds += sign * step.seconds
        for place, seconds in spent_in(step).items():
            self.spent[place] = self.spent.get(place, 0.0) + sign * seconds
        _add(self.shed, step.shed, sign)
        for slot in step.slots:
            self.state_read += sign * slot.state_read
            self.state_written += sign * slot.state_written
        for name, figures in step.boxes.items():
            total = self._boxes.get(name)
            if total is None:
                total = self._boxes[name] = _Sum()
            total.seconds += sign * figures.seconds
            total.calls += sign * (figures.seconds > 0)
            _add(total.tuples_in, figures.tuples_in, sign)
            _add(total.tuples_out, figures.tuples_out, sign)


def spent_in(step: StepFigures) -> dict[Place, float]:
    """Where the time of a step went.

    A level takes as long as its slowest slot, and levels follow each other. So a box counts by what it took in the
    slowest slot of its level; what no box took there is reading and sending, and what no level took is Spark's, or
    waiting. Where slots run one after the other, all of them count.
    """
    slowest: dict[int, SlotFigures] = {}
    for slot in step.slots:
        if slot.level not in slowest or slot.seconds > slowest[slot.level].seconds:
            slowest[slot.level] = slot
    spent: dict[Place, float] = {(None, None, None): step.seconds}
    for slot in step.slots if step.in_turn else slowest.values():
        level = slot.level
        spent[None, level, slot.slot] = slot.seconds
        spent[None, None, None] -= slot.seconds
        for box, seconds in slot.boxes.items():
            spent[box, level, slot.slot] = seconds
            spent[None, level, slot.slot] -= seconds
    return {place: seconds for place, seconds in spent.items() if seconds > 0}


def percentile(delays: Iterable[tuple[float, int]], share: float) -> float | None:
    """The delay that this share of the tuples did not exceed; None if there are no tuples.

    >>> percentile([(0.1, 98), (0.5, 2)], 0.5), percentile([(0.1, 98), (0.5, 2)], 0.99)
    (0.1, 0.5)
    """
    listed = list(delays)
    left = share * sum(tuples for _, tuples in listed)
    for delay, tuples in listed:
        left -= tuples
        if left <= 1e-9:
            return delay
    return listed[-1][0] if listed else None


class _Sum:
    """The figures of a box over several steps."""

    def __init__(self) -> None:
        self.tuples_in: dict[str, int] = {}
        self.tuples_out: dict[str, int] = {}
        self.seconds = 0.0
        self.calls = 0


def _add(total: dict[str, int], counts: Mapping[str, int], sign: int) -> None:
    for port, number in counts.items():
        total[port] = total.get(port, 0) + sign * number
