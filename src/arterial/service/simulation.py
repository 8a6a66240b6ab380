"""A simulated run: the cost model of decision 30 as a clock, for tests, pictures and `check`. Nothing is computed.

Tuples arrive by a rate for each source and are numbers only. A step takes `fixed + work / cores` seconds. Controllers
get the figures of each step and decide the next, as in a real run. Where a sample of a source is given, boxes that take
tuples one by one run on it, and drops by predicate leave out what they would of the sample.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from arterial.figures.steering import Steering
from arterial.figures.step import BoxFigures, OutputFigures, SourceFigures, StepFigures
from arterial.figures.window import Window
from arterial.network.expression.parser import predicate
from arterial.network.expression.vectorised import truth
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.state import MemoryState
from arterial.network.train import BEGIN, Train
from arterial.service.shares import counted_again, together
from arterial.service.utility import outputs_of
from arterial.service.values import histogram

IDLE = 0.02
"""Seconds that a run waits where no tuple is there."""

Controller = Callable[[Window, NetworkValue, Steering], Steering]


@dataclass
class Waiting:
    """Tuples in a queue, with the time at which the oldest of each lot arrived."""

    lots: deque[tuple[float, float]] = field(default_factory=deque)
    """(arrival, tuples), the oldest first."""

    @property
    def tuples(self) -> float:
        """All that wait."""
        return sum(number for _, number in self.lots)

    def add(self, arrival: float, tuples: float) -> None:
        """One more lot."""
        if tuples > 0:
            self.lots.append((arrival, tuples))

    def take(self, most: float) -> tuple[float, float]:
        """The oldest tuples, at most so many, and when the first of them arrived."""
        oldest, taken = self.lots[0][0] if self.lots else 0.0, 0.0
        while self.lots and taken < most:
            arrival, number = self.lots.popleft()
            part = min(number, most - taken)
            taken += part
            if part < number - 1e-9:
                self.lots.appendleft((arrival, number - part))
        return oldest, taken


@dataclass
class SimulatedRun:
    """A network at work on a simulated machine."""

    network: NetworkValue
    cost: Mapping[str, float]
    """Seconds of a core for each tuple that enters a box."""
    rate: Mapping[str, Callable[[float], float]]
    """Tuples a second of each source at a time."""
    selectivity: Mapping[str, float] = field(default_factory=dict)
    """Tuples out for each tuple in, by "box.port"; 1 where nothing is said and no sample is there."""
    samples: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    """The sources, each with one arc, that do not read what is left out there."""
    fixed: float = 0.1
    cores: int = 2
    train_size: int = 500_000
    controllers: Sequence[Controller] = ()
    dearness: Callable[[int], float] = lambda _: 1.0
    """How many times as much as usual a tuple costs in a step, by the step's number: no machine is always the same."""
    window: Window = field(default_factory=Window)

    def __post_init__(self) -> None:
        self.now = 0.0
        self.steering = Steering()
        self.steps: list[StepFigures] = []
        self.records: list[Steering] = []
        self._filled = 0.0
        self._again = counted_again(self.network)
        self._queues = {name: Waiting() for name in self.rate}
        self._held: dict[str, Waiting] = {}
        self._frames: dict[tuple[tuple[str, str], ...], dict[Port, pl.DataFrame]] = {}

    def run(self, until: float) -> SimulatedRun:
        """Go on until that time."""
        while self.now < until:
            self.step()
        return self

    def step(self) -> None:
        """One step, or a short wait if there is nothing to do."""
        self._arrive()
        share = max(1, self.train_size // max(1, len(self._queues)))
        began = self.now
        read = {n: q.take(self.steering.admit.get(n, share)) for n, q in self._queues.items()}
        takes = any(q.tuples and self.steering.hold.get(arc, 1) for arc, q in self._held.items())
        if not any(number for _, number in read.values()) and not takes:
            self.now += IDLE
            return
        figures = self._run_boxes(began, read)
        self.steps.append(figures)
        self.records.append(self.steering)
        self.window.add(figures)
        for controller in self.controllers:
            self.steering = controller(self.window, self.network, self.steering)

    @property
    def held(self) -> float:
        """Tuples that wait in queues of branches."""
        return sum(queue.tuples for queue in self._held.values())

    def _arrive(self) -> None:
        while self._filled < self.now:
            until = min(self._filled + 0.05, self.now)
            for name, rate in self.rate.items():
                self._queues[name].add(self._filled, rate(self._filled) * (until - self._filled))
            self._filled = until

    def _run_boxes(self, began: float, read: Mapping[str, tuple[float, float]]) -> StepFigures:
        frames = self._sampled()
        counts: dict[Port, float] = {}  # tuples at each port, and how many there would be had none been left out
        whole: dict[Port, float] = {}
        oldest: dict[str, float] = {}
        shares: dict[str, float] = {}
        shed: dict[str, int] = {}
        boxes: dict[str, BoxFigures] = {}
        work, dear = 0.0, self.dearness(len(self.steps) + 1)
        for box in self.network.order:
            came: dict[str, float] = {}
            if not box.inputs:
                arrival, number = read.get(box.name, (began, 0.0))
                oldest[box.name], shares[box.name] = arrival if number else began, 1.0
                for place, port in enumerate(box.outputs):
                    counts[Port(box.name, port)] = whole[Port(box.name, port)] = number if place == 0 else 0.0
                really = number - self._unread_of(box.name, number)
                seconds = dear * self.cost.get(box.name, 0.0) * really
                boxes[box.name] = BoxFigures({}, _whole({box.outputs[0]: really}), seconds)
                work += seconds
                continue
            arrivals = self.network.arrivals(box)
            oldest[box.name] = min(oldest[begin.box] for begin in arrivals.values())
            for port, begin in arrivals.items():
                arc = str(Arc(begin, Port(box.name, port)))
                number, left_out = self._dropped(arc, counts[begin], frames)
                if left_out:
                    shed[arc] = round(left_out)
                queue = self._held.get(arc)
                if arc in self.steering.hold or (queue is not None and queue.tuples):
                    queue = self._held.setdefault(arc, Waiting())
                    queue.add(oldest[begin.box], number)
                    arrival, number = queue.take(self.steering.hold.get(arc, 10**12))
                    oldest[box.name] = arrival if number else began
                    whole[Port(box.name, port)] = number
                else:
                    whole[Port(box.name, port)] = whole[begin]
                counts[Port(box.name, port)] = came[port] = number
            inputs = [n / w if (w := whole[Port(box.name, p)]) else shares[arrivals[p].box] for p, n in came.items()]
            base = sum(whole[Port(box.name, port)] for port in came)
            through = {arc: 1 - drop.share for arc, drop in self.steering.shed.items()}
            again = self._again.get(box.name, ())
            left = sum(came.values()) / base if box.independent and base else together(inputs, through, again)
            shares[box.name] = left
            gone: dict[str, float] = {}
            for port in box.outputs:
                out = Port(box.name, port)
                whole[out] = base * self._selectivity(out, (*self.network.arrivals(box).values(),))
                gone[port] = counts[out] = whole[out] * left
            seconds = dear * self.cost.get(box.name, 0.0) * sum(came.values())
            boxes[box.name] = BoxFigures(_whole(came), _whole(gone), seconds)
            work += seconds
        took = self.fixed + work / self.cores
        self.now += took
        return StepFigures(
            len(self.steps) + 1,
            1,
            began,
            took,
            boxes,
            sources={
                name: SourceFigures(
                    round(number),
                    round(self._queues[name].tuples),
                    max(0.0, began - arrival),
                    unread=round(self._unread_of(name, number)) if name in self.unread else None,
                )
                for name, (arrival, number) in read.items()
            },
            outputs={
                output.name: OutputFigures(
                    round(tuples := counts[Port(output.name, output.inputs[0])]),
                    self.now - oldest[output.name] if tuples else 0.0,
                    self._values(output.name, tuples, frames),
                )
                for output in outputs_of(self.network)
            },
            shed=shed,
            held={arc: round(queue.tuples) for arc, queue in self._held.items() if queue.tuples},
        )

    def _unread_of(self, source: str, tuples: float) -> float:
        """How many of a source's tuples are left out before they are read."""
        if source not in self.unread:
            return 0.0
        (arc,) = (str(arc) for arc in self.network.arcs if arc.begin.box == source)
        return tuples * self.steering.shed[arc].share if arc in self.steering.shed else 0.0

    def _dropped(self, arc: str, tuples: float, frames: Mapping[Port, pl.DataFrame]) -> tuple[float, float]:
        drop = self.steering.shed.get(arc)
        if drop is None:
            return tuples, 0.0
        kept = tuples * (1 - drop.share)
        if drop.keep is not None:
            found = next(one for one in self.network.arcs if str(one) == arc)
            before, after = self._sampled(without=arc).get(found.begin), frames.get(found.end)
            if before is not None and after is not None and before.height:
                kept *= after.height / before.height
        return kept, tuples - kept

    def _selectivity(self, out: Port, begins: tuple[Port, ...]) -> float:
        if str(out) in self.selectivity:
            return self.selectivity[str(out)]
        frames = self._sampled(without="*")
        if out in frames and all(begin in frames for begin in begins):
            before = sum(frames[begin].height for begin in begins)
            return frames[out].height / before if before else 0.0
        return 1.0 if out.port == self.network.box(out.box).outputs[0] else 0.0

    def _values(self, output: str, tuples: float, frames: Mapping[Port, pl.DataFrame]) -> dict[str, int]:
        box = next(one for one in outputs_of(self.network) if one.name == output)
        frame = frames.get(Port(output, box.inputs[0]))
        if box.value_of is None or frame is None or not frame.height:
            return {}
        return {n: round(c * tuples / frame.height) for n, c in histogram(frame[box.value_of], box.value).items()}

    def _sampled(self, without: str = "") -> dict[Port, pl.DataFrame]:
        """The samples at every port, as the predicates in force leave them; `without` those of an arc, or of all."""
        keeps = {arc: d.keep for arc, d in self.steering.shed.items() if d.keep and without not in (arc, "*")}
        key = tuple(sorted(keeps.items()))
        if key not in self._frames:
            self._frames[key] = self._propagate(keeps)
        return self._frames[key]

    def _propagate(self, keeps: Mapping[str, str]) -> dict[Port, pl.DataFrame]:
        frames = {Port(name, self.network.box(name).outputs[0]): sample for name, sample in self.samples.items()}
        for box in self.network.order:
            arrivals = self.network.arrivals(box)
            if not arrivals or not all(begin in frames for begin in arrivals.values()):
                continue
            for port, begin in arrivals.items():
                end = Port(box.name, port)
                frames[end] = frames[begin]
                if text := keeps.get(str(Arc(begin, end))):
                    mask = truth(frames[begin], predicate(text, box.fed_by[port].schema))
                    frames[end] = frames[begin].filter(mask)
            if box.stateless and box.outputs:
                trains = {port: Train(frames[Port(box.name, port)], BEGIN) for port in arrivals}
                given = box.process(trains, MemoryState())
                frames |= {Port(box.name, port): train.tuples for port, train in given.items()}
        return frames


def _whole(counts: Mapping[str, float]) -> dict[str, int]:
    return {port: round(number) for port, number in counts.items()}
