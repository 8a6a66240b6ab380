"""All experiments at one scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arterial.moving.experiments.arrival import Delays, measure_delays
from arterial.moving.experiments.cache import Accuracies, measure_accuracy
from arterial.moving.experiments.pipelines import PipelineCounts, count_tuples
from arterial.moving.experiments.selectivity import Selectivities, measure_selectivity


@dataclass(frozen=True)
class Scale:
    """How large: the paper's world is 10,000 objects, 100 more every time unit, for 1,000 time units."""

    objects: int = 10_000
    new: int = 100
    units: int = 200
    unit_seconds: int = 30
    kilometres: float = 12.0
    tuples: int = 300_000
    cache_objects: int = 4_000
    cache_units: int = 80
    cache_queries: int = 50

    @staticmethod
    def quick() -> Scale:
        """A small world, for a look and for tests."""
        return Scale(
            objects=500,
            new=5,
            units=20,
            kilometres=3.0,
            tuples=20_000,
            cache_objects=300,
            cache_units=25,
            cache_queries=6,
        )


@dataclass(frozen=True)
class Results:
    """What all experiments found."""

    scale: Scale
    pipelines: PipelineCounts
    delays: Delays
    selectivities: Selectivities
    accuracies: Accuracies


STEPS = 4


def run_experiments(scale: Scale, progress: Callable[[int], None] = lambda done: None) -> Results:
    """Run all; `progress` is called after each of the `STEPS`."""
    pipelines = count_tuples(
        objects=scale.objects,
        new=scale.new,
        units=scale.units,
        unit_seconds=scale.unit_seconds,
        kilometres=scale.kilometres,
    )
    progress(1)
    delays = measure_delays(objects=scale.objects, tuples=scale.tuples)
    progress(1)
    selectivities = measure_selectivity(
        objects=scale.objects,
        units=max(scale.units // 10, 20),
        unit_seconds=scale.unit_seconds,
        kilometres=scale.kilometres,
    )
    progress(1)
    accuracies = measure_accuracy(
        objects=scale.cache_objects,
        units=scale.cache_units,
        queries=scale.cache_queries,
        kilometres=scale.kilometres / 3,
    )
    progress(1)
    return Results(scale, pipelines, delays, selectivities, accuracies)
