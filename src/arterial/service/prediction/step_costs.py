"""What a step costs by the tuples that it reads, from the figures of one run or several.

A step has a fixed cost, and so has each box in it: a run at a low rate shows these, one that is as fast as it can what
each tuple costs. Both together say what steps between and beyond them take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from arterial.figures.calls import Line
from arterial.figures.step import StepFigures
from arterial.figures.window import Window
from arterial.service.load import UNLIKE, fit, without_odd_steps

RESTS = 1.1
"""A step rested before it if it was planned so many times its duration after the one before."""

ENOUGH = 3
"""So many steps that rested show how a run goes that keeps up."""

WAITS = 2.0
"""Where no run kept up: the worst delay is so many steps. A tuple waits for a step, then takes one."""

Run = Sequence[StepFigures]


@dataclass(frozen=True)
class StepCosts:
    """What the steps of a network cost on the cores of a run."""

    boxes: Mapping[str, Line]
    """Seconds of a core."""
    fixed: float
    """F: seconds of a step without what its boxes do."""
    stretch: float
    """e: seconds of a step for each second of a core."""
    pause: float
    """Seconds from one step to the next while the run keeps up: so often a source has something new. 0: always."""
    waits: float
    """The worst delay of a tuple, in steps."""
    written: float
    """Bytes of state that are written for each tuple."""
    state: float
    """Bytes of state for each tuple a second."""

    @property
    def work(self) -> Line:
        """Seconds of a core that all boxes need in a step."""
        return Line(sum(box.fixed for box in self.boxes.values()), sum(box.per_tuple for box in self.boxes.values()))


def costs_of(runs: Sequence[Run], cores: int) -> StepCosts | None:
    """The costs that runs on so many cores show; None if they read nothing."""
    usual = [[step for step in without_odd_steps(Window(math.inf, run)).steps if _read(step)] for run in runs]
    steps = [step for run in usual for step in run]
    if not steps:
        return None
    resting = [(before, step) for run in usual for before, step in pairwise(run) if _rests(before, step)]
    if len(resting) < ENOUGH:
        resting = []
    # What is written of state depends on how long a step is; a run that keeps up has steps as they will be.
    paced = [step for _, step in resting] or steps
    gaps = [step.born - before.born for before, step in resting]
    tuples = sum(map(_read, paced))
    seconds = sum(gaps) or sum(step.seconds for step in steps) or 1e-9
    held = max(paced, key=lambda step: step.born)
    names = {name for step in steps for name in step.boxes}
    fixed, stretch = fit(steps, cores)
    return StepCosts(
        {name: _line(_points(steps, name)) for name in names},
        fixed,
        stretch,
        median(gaps) if gaps else 0.0,
        _waits(paced) if resting else WAITS,
        sum(slot.state_written for step in paced for slot in step.slots) / tuples,
        sum(slot.state_bytes for slot in held.slots) * seconds / tuples,
    )


def _points(steps: Run, box: str) -> list[tuple[int, float]]:
    return [(_read(step), step.boxes[box].seconds) for step in steps if box in step.boxes]


def _read(step: StepFigures) -> int:
    return sum(source.tuples for source in step.sources.values())


def _rests(before: StepFigures, step: StepFigures) -> bool:
    return step.born - before.born > RESTS * before.seconds


def _waits(steps: Run) -> float:
    """The delay that only one step of twenty exceeds, in steps."""
    worst = sorted(max([step.seconds, *(one.delay for one in step.outputs.values() if one.tuples)]) for step in steps)
    usual = median(step.seconds for step in steps)
    return worst[len(worst) * 19 // 20] / usual if usual else WAITS


def _line(points: list[tuple[int, float]]) -> Line:
    """By the median of pairs, one with few tuples and one with many; through 0 where all have as many."""
    least, most = min(n for n, _ in points), max(n for n, _ in points)
    quarter = (most - least) / 4
    few = [point for point in points if point[0] <= least + quarter]
    many = [point for point in points if point[0] >= most - quarter]
    slopes = [(b - a) / (more - less) for less, a in few for more, b in many if more > less * UNLIKE]
    if not slopes:
        return Line(0.0, median(seconds / n for n, seconds in points))
    slope = max(0.0, median(slopes))
    return Line(max(0.0, median(seconds - slope * n for n, seconds in few)), slope)
