"""§6.1: how many tuples go through a plan with GPAC-IN at its bottom, and with GPAC at the application level above it.

The plans select trucks (5 % of the objects), or join with a set of favourite objects (5 % of them), and ask for those
in an area. With the selection the tuples counted are those that leave the lowest box; with the join, those that enter
the join, as its probes are what costs. Objects report every time unit and are disconnected when they leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from arterial.moving.queries.events import MovingRange, Range
from arterial.moving.shared.shared import SharedExecution
from arterial.moving.traffic import Traffic, TrafficSettings

SELECTIVITIES = (0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
TRUCK = 1


@dataclass(frozen=True)
class PipelineCounts:
    """Tuples in the pipeline; those of GPAC pushed down are per selectivity."""

    selectivities: tuple[float, ...]
    reports: int
    selected: int
    """What leaves the selection when it is at the bottom: the application level's count, whatever the area."""
    stationary: tuple[int, ...]
    moving: tuple[int, ...]

    def pays_below(self, counts: tuple[int, ...]) -> float:
        """The greatest selectivity of those tried at which pushing down below the selection saves tuples; 0 if none."""
        return max(
            (s for s, count in zip(self.selectivities, counts, strict=True) if count < self.selected), default=0.0
        )


def count_tuples(*, objects: int, new: int, units: int, unit_seconds: int, kilometres: float) -> PipelineCounts:
    """Count tuples for areas of all selectivities at once, standing still in the middle and moving with an object."""
    traffic = Traffic(TrafficSettings(objects=objects, new=new, kilometres=kilometres, leaving=0.7))
    engine = SharedExecution(timeout=1.5)
    side = {share: math.sqrt(share) * kilometres * 1000 for share in SELECTIVITIES}
    for i, share in enumerate(SELECTIVITIES):
        half = side[share] / 2
        engine.register(f"stationary {i}", Range(-half, -half, half, half))
    counts = dict.fromkeys([f"{kind} {i}" for kind in ("stationary", "moving") for i in range(len(SELECTIVITIES))], 0)
    reports = selected = 0
    focal: int | None = None
    for unit in range(units):
        positions = traffic.step()
        for _ in range(unit_seconds - 1 if unit else 0):
            positions = traffic.step()
        if focal is None or focal not in positions.id:  # the one that carried the queries has left: the next car does
            focal = int(positions.id[np.argmin(np.hypot(positions.x, positions.y))])
            for i, share in enumerate(SELECTIVITIES):
                engine.register(f"moving {i}", MovingRange(focal, side[share], side[share]))
        changes = engine.step(float(unit), engine.objects_of(positions.id), positions.x, positions.y)
        rows, sizes = np.unique(changes.query, return_counts=True)
        for name, size in zip(engine.names_of(rows), sizes.tolist(), strict=True):
            counts[str(name)] += size
        engine.forget()
        reports += len(positions.id)
        selected += int((positions.kind == TRUCK).sum())
    return PipelineCounts(
        SELECTIVITIES,
        reports,
        selected,
        *(tuple(counts[f"{kind} {i}"] for i in range(len(SELECTIVITIES))) for kind in ("stationary", "moving")),
    )
