"""How long tuples wait on arcs that are held, and how many at each output have waited beyond its good zone.

The oldest go on first, so it is enough to know how many had come by when, and how many went on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from arterial.figures.step import StepFigures
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.qos import good_zone
from arterial.service.utility import outputs_of

FINE = 0.25
"""Seconds: by so much a wait may be taken to be shorter than it is."""


class Waits:
    """What came to the arcs that are held, and went on, since this process began.

    >>> from arterial import Delay, Network
    >>> net = Network("n")
    >>> _ = net.source("s", {"time": "int64"}).filter("f", "time > 0").output("o", qos=Delay(1.5, 9))
    >>> waits = Waits()
    >>> for second, held in enumerate([10, 20, 30, 40]):
    ...     waits.add(StepFigures(second, 1, float(second), 0.0, held={"s.out → f.in": held}), net.value)
    >>> waits.overdue(net.value, {Port("f", "out"): 0.5})
    {'o': 10.0}
    """

    def __init__(self) -> None:
        self._came: dict[str, deque[tuple[float, int]]] = {}
        self._gone: dict[str, int] = {}
        self._now = 0.0

    def add(self, step: StepFigures, network: NetworkValue) -> None:
        """Take in a step."""
        self._now = step.born + step.seconds
        for arc in network.arcs if step.held or self._came else ():
            name = str(arc)
            if name not in step.held:
                self._came.pop(name, None)
                self._gone.pop(name, None)
                continue
            went = step.boxes[arc.end.box].tuples_in.get(arc.end.port, 0) if arc.end.box in step.boxes else 0
            gone = self._gone[name] = self._gone.get(name, 0) + went
            came = self._came.setdefault(name, deque())
            if not came or self._now - came[-1][0] >= FINE:
                came.append((self._now, gone + step.held[name]))
            while len(came) > 1 and came[1][1] <= gone:
                came.popleft()

    def overdue(self, network: NetworkValue, passes: Mapping[Port, float]) -> dict[str, float]:
        """By output, the tuples that would have been delivered within its good zone, but for a queue.

        `passes` says how many tuples leave a port for each that enters its box; one, where it says nothing.
        """
        limits = {output.name: good_zone(output.delay) for output in outputs_of(network)}
        found: dict[str, float] = {}
        ends: dict[Port, dict[str, float]] = {}
        for box in reversed(network.order) if self._came else ():
            reached = {} if box.outputs else {box.name: 1.0}
            for begin in (Port(box.name, port) for port in box.outputs):
                for end in network.departures(begin):
                    for output, number in ends[end].items():
                        reached[output] = reached.get(output, 0.0) + number * passes.get(begin, 1.0)
            for port, begin in network.arrivals(box).items():
                ends[Port(box.name, port)] = reached
                arc = str(Arc(begin, Port(box.name, port)))
                for output, number in reached.items() if arc in self._came else ():
                    if late := self._longer(arc, limits[output]):
                        found[output] = found.get(output, 0.0) + late * number
        return found

    def _longer(self, arc: str, seconds: float) -> int:
        """The tuples on an arc that have waited longer than so many seconds."""
        came = [total for at, total in self._came[arc] if at < self._now - seconds]
        return max(0, came[-1] - self._gone[arc]) if came else 0
