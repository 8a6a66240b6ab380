"""§6: the size of the cache against the accuracy of answers.

Objects report in turns, each in one of five time units, so that a query may come to where an object was last seen
before that reports again. What is compared is the answer of every query with the exact one, at the end of every time
unit.
"""

from __future__ import annotations

from dataclasses import dataclass

from arterial.moving.queries.events import MovingNearest, MovingRange
from arterial.moving.shared.remembering import RememberingExecution, Uncertainty
from arterial.moving.traffic import Traffic, TrafficSettings

SIZES = (0.0, 12.5, 25.0, 37.5, 50.0, 62.5, 75.0, 87.5, 100.0)
EVERY = 5
FASTEST = 36.0
"""Metres per second: what the conservative cache must reckon with."""


@dataclass(frozen=True)
class Accuracies:
    """Accuracy by size of the cache in per cent, for moving ranges and for moving nearest neighbours."""

    sizes: tuple[float, ...]
    ranges: tuple[float, ...]
    nearest: tuple[float, ...]


def measure_accuracy(*, objects: int, units: int, queries: int, kilometres: float) -> Accuracies:
    """Run every size of cache over the same traffic."""
    traffic = Traffic(TrafficSettings(objects=objects, kilometres=kilometres, leaving=0.0, every=EVERY))
    stream = [traffic.step() for _ in range(units)]
    accuracy: dict[str, list[float]] = {"ranges": [], "nearest": []}
    for size in SIZES:
        for kind in accuracy:
            engine = RememberingExecution(cache=size, longest_step=EVERY * FASTEST)
            for focal in range(queries):
                query = MovingRange(focal, 600.0, 600.0) if kind == "ranges" else MovingNearest(10, focal)
                engine.register(focal, query)
            for unit, positions in enumerate(stream):
                engine.step(float(unit), engine.objects_of(positions.id), positions.x, positions.y)
                if unit == 2 * EVERY:  # the warm-up is not counted
                    engine.uncertainty = Uncertainty()
            accuracy[kind].append(engine.uncertainty.accuracy)
    return Accuracies(SIZES, tuple(accuracy["ranges"]), tuple(accuracy["nearest"]))
