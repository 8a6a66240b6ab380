"""The greedy choice of what to leave out (Aurora §4.5): always where a second of a core costs the least utility.

The paper walks along the graph with the smallest slope. Here slopes are divided by the work that is saved, which is
never worse, and drops above split points compete with those below them. With overflow, so do branches that can be held:
that saves all of their work, and their outputs are late.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from arterial.boxes.ends.output import Output
from arterial.figures.steering import Drop
from arterial.network.thinned import why_not_settled
from arterial.service.holding.branches import branches_of
from arterial.service.load import Load
from arterial.service.shedding.curve import Curve
from arterial.service.shedding.points import Point, drop_points
from arterial.service.shedding.upstream import value_point
from arterial.service.utility import outputs_of, passed_through, total, worth_of_delay
from arterial.service.values import Histogram

STEP = 0.02
MOST = 0.98
"""Some tuples always pass, so that costs and values go on being measured."""

LATE = 0.1
"""What an output can still lose, as a share, if it is late already: its queue must be worked off before it is in time
again. So a branch that is held stays so, rather than another one."""


@dataclass(frozen=True)
class Plan:
    """The share that is left out at each point."""

    out: Mapping[Point, float] = field(default_factory=dict)

    @property
    def kept(self) -> dict[str, float]:
        """The share that each arc lets through."""
        kept: dict[str, float] = {}
        for point, out in self.out.items():
            for arc in point.held or (point.arc,):
                kept[str(arc)] = kept.get(str(arc), 1.0) * (1 - out)
        return kept

    @property
    def by_chance(self) -> dict[str, float]:
        """The share that each arc lets through, but for what goes by value, and what waits."""
        return {p.name: 1 - out for p, out in self.out.items() if p.by_value is None and not p.held}

    @property
    def held(self) -> frozenset[str]:
        """The arcs that are held."""
        return frozenset(str(arc) for point, out in self.out.items() if out for arc in point.held)


@dataclass(frozen=True)
class Choices:
    """Everything that a plan for a network is chosen and judged by."""

    load: Load
    points: tuple[Point, ...]
    curves: Mapping[str, Curve] = field(default_factory=dict)
    """The value curves of the outputs that have one."""
    late: frozenset[str] = frozenset()
    """The outputs that are late already, since tuples of theirs wait."""

    @classmethod
    def of(cls, load: Load, histograms: Mapping[str, Histogram] | None = None, *, settled: bool = False) -> Choices:
        """All drop points of a network, by value where a histogram is known; with `settled`, those where what is left
        out can be settled later."""
        points = list(drop_points(load.network, settled=settled))
        curves = {}
        for output in outputs_of(load.network):
            counts = (histograms or {}).get(output.name)
            if output.value and counts and (point := value_point(load.network, output, settled=settled)) is not None:
                points.append(point)
                curves[output.name] = Curve.of(output.value, counts)
        return cls(load, tuple(points), curves)

    def or_held(self, holdable: Collection[str] | None, late: frozenset[str]) -> Choices:
        """The same, and the branches that can be held where what is left out could not be settled."""
        network = self.load.network
        branches = tuple(
            Point(branch.arcs[0], frozenset(output.name for output in branch.outputs), held=branch.arcs)
            for branch in branches_of(network, holdable)
            if any(why_not_settled(network, arc) for arc in branch.arcs)
        )
        return replace(self, points=self.points + branches, late=late)

    def utility(self, plan: Plan) -> float:
        """The total utility that a plan leaves, all tuples being in time."""
        shares = self.load.delivered(plan.by_chance)
        return total(self.load.network, {o.name: self._of(o, shares[o.name], plan) for o in self._outputs})

    def work(self, plan: Plan) -> float:
        """Seconds of a core a second that a plan leaves to do."""
        return self.load.work(plan.kept)

    def next(self, point: Point, out: float) -> float:
        """The next share that can be left out at a point."""
        if point.held:
            return 1.0
        if point.by_value is None:
            return min(out + STEP, MOST)
        (output,) = point.outputs
        return min(self.curves[output].next_stop(out, STEP), MOST)

    def most(self, point: Point) -> float:
        """The greatest share that can be left out at a point."""
        if point.held:
            return 1.0
        if point.by_value is None:
            return MOST
        out = 0.0
        while (further := self.next(point, out)) > out + 1e-9:
            out = further
        return out

    def drops(self, plan: Plan) -> dict[str, Drop]:
        """The plan as the engine does it."""
        share: dict[str, float] = {}
        keep: dict[str, str] = {}
        by = {point.name: point.by for point in plan.out if point.by}
        for point, out in plan.out.items():
            if out <= 1e-9 or point.held:
                continue
            if point.by_value is None:
                share[point.name] = round(out, 4)
            else:
                (output,) = point.outputs
                if (text := self.curves[output].keep(point.by_value, out)) is not None:
                    keep[point.name] = text
        return {
            arc: Drop(share.get(arc, 0.0), keep=keep.get(arc), by=by.get(arc, ())) for arc in sorted({*share, *keep})
        }

    def _of(self, output: Output, share: float, plan: Plan) -> float:
        waits = passed_through(output.share, worth_of_delay(output.delay, math.inf))
        for point, out in plan.out.items():
            if output.name not in point.outputs:
                continue
            if point.held and out:
                return waits
            if point.by_value is not None:
                share *= self.curves[output.name].worth_left(out)
        worth = passed_through(output.share, share)
        return waits + LATE * (worth - waits) if output.name in self.late else worth

    @property
    def _outputs(self) -> tuple[Output, ...]:
        return outputs_of(self.load.network)


def choose(choices: Choices, capacity: float) -> Plan:
    """A plan with at most so much work, that loses little utility; as little work as can be, if that is not enough."""
    out: dict[Point, float] = dict.fromkeys(choices.points, 0.0)
    work, utility = choices.work(Plan(out)), choices.utility(Plan(out))
    most = {point: choices.most(point) for point in choices.points}
    moves: dict[Point, list[_Move]] = {}
    while work > capacity:
        for point in out:
            if point not in moves:
                moves[point] = list(_moves(choices, out, point, most[point], work, utility))
        best = min(
            (move for some in moves.values() for move in some),
            key=lambda move: move.rank(work - capacity),
            default=None,
        )
        if best is None:
            break
        out[best.point] = best.to
        work, utility = choices.work(Plan(out)), choices.utility(Plan(out))
        # What leads to other outputs only has neither its loss nor its saving changed.
        moves = {point: some for point, some in moves.items() if not point.outputs & best.point.outputs}
    return _given_back(choices, out, capacity)


@dataclass(frozen=True)
class _Move:
    """Leaving out more at one point, what that saves and what it costs."""

    point: Point
    to: float
    small: bool
    saved: float
    lost: float

    def rank(self, needed: float) -> tuple[float, float]:
        """The least is the best. A leap counts for what is needed of it; a small step too far is of no consequence."""
        counts = self.saved if self.small else min(self.saved, needed)
        return self.lost / counts, -self.saved if self.lost <= 1e-12 else 0.0


def _moves(
    choices: Choices, out: Mapping[Point, float], point: Point, most: float, work: float, utility: float
) -> Iterator[_Move]:
    at = out[point]
    for to in {choices.next(point, at), most}:
        if to > at + 1e-9:
            tried = Plan({**out, point: to})
            saved = work - choices.work(tried)
            if saved > 1e-12:
                lost = max(0.0, utility - choices.utility(tried))
                yield _Move(point, to, to - at <= STEP + 1e-9, saved, lost)


def _given_back(choices: Choices, out: dict[Point, float], capacity: float) -> Plan:
    """The plan without what the last steps took too much: as much of each drop as the capacity allows is undone."""
    by_loss = sorted(out, key=lambda point: _loss(choices, out, point), reverse=True)
    for point in by_loss:
        if point.by_value is not None or not out[point] or choices.work(Plan(out)) > capacity:
            continue
        if choices.work(Plan({**out, point: 0.0})) <= capacity:
            out[point] = 0.0
            continue
        if point.held:
            continue
        low, high = 0.0, out[point]
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (low, middle) if choices.work(Plan({**out, point: middle})) <= capacity else (middle, high)
        out[point] = high
    return Plan({point: share for point, share in out.items() if share > 1e-6})


def _loss(choices: Choices, out: dict[Point, float], point: Point) -> float:
    """Utility that comes back for each second of a core, if a point keeps a little more."""
    less = Plan({**out, point: 0.0 if point.held else max(0.0, out[point] - STEP)})
    more_work = choices.work(less) - choices.work(Plan(out))
    gained = choices.utility(less) - choices.utility(Plan(out))
    return gained / more_work if more_work > 1e-12 else 0.0
