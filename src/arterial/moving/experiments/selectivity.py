"""§6.2.2: the selectivity that comes out of incremental evaluation, against that of the area.

The population is fixed, so that a query over all of the city never says that someone left. The correct selectivity is
the share of the objects that are in the area on average; the actual one counts every positive and negative update, per
object.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arterial.moving.queries.events import Range
from arterial.moving.shared.shared import SharedExecution
from arterial.moving.traffic import Traffic, TrafficSettings

SHARES = tuple(share / 10 for share in range(1, 11))


@dataclass(frozen=True)
class Selectivities:
    """For areas that are shares of the city's."""

    area: tuple[float, ...]
    correct: tuple[float, ...]
    actual: tuple[float, ...]


def measure_selectivity(*, objects: int, units: int, unit_seconds: int, kilometres: float) -> Selectivities:
    """Run queries for all shares at once."""
    traffic = Traffic(TrafficSettings(objects=objects, kilometres=kilometres, leaving=0.0))
    engine = SharedExecution()
    # Junctions lie up to a fifth of a block off their places, so the whole city is a little larger than its size.
    extent = 2.0 * max(np.abs(traffic.city.x).max(), np.abs(traffic.city.y).max())
    for i, share in enumerate(SHARES):
        half = math.sqrt(share) * extent / 2
        engine.register(i, Range(-half, -half, half, half))
    outputs, inside = np.zeros(len(SHARES)), np.zeros(len(SHARES))
    for unit in range(units):
        positions = traffic.step()
        for _ in range(unit_seconds - 1 if unit else 0):
            positions = traffic.step()
        changes = engine.step(float(unit), engine.objects_of(positions.id), positions.x, positions.y)
        outputs += np.bincount(np.array(engine.names_of(changes.query), np.int64), minlength=len(SHARES))
        inside += [len(answer) for _, answer in sorted(engine.answers().items(), key=lambda item: int(item[0]))]
    return Selectivities(
        SHARES,
        tuple((inside / units / objects).tolist()),
        tuple((outputs / objects).tolist()),
    )
