"""Estimates on trial in a running network: put in the place of drops by chance, measured, and corrected (`forward`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from arterial.boxes.ends.output import Output
from arterial.figures.steering import Drop
from arterial.figures.step import StepFigures
from arterial.figures.window import Window
from arterial.network.network import Arc, NetworkValue
from arterial.service.shedding.curve import Curve
from arterial.service.shedding.forward import Estimate, corrected, first_estimate, split_point
from arterial.service.utility import outputs_of
from arterial.service.values import Histogram, worth_of

ENOUGH_TUPLES = 200
"""An estimate is judged by so many tuples at least, in the steps since it was changed."""


@dataclass(frozen=True)
class Trial:
    """An estimate for an output, what it is to leave out, and since when it is in force."""

    estimate: Estimate
    base: float
    """What a tuple that comes to the split point is worth at the output when nothing is left out there."""
    wanted: float = 0.0
    since: int = 0


def begin_trials(
    window: Window, network: NetworkValue, histograms: Mapping[str, Histogram], trials: Mapping[str, Trial]
) -> dict[str, Trial]:
    """A trial for every output that needs one and has none: with a value graph, but no value at its split point."""
    found = dict(trials)
    for output in outputs_of(network):
        if not output.value or output.name in found or not histograms.get(output.name):
            continue
        point = split_point(network, output)
        steps = list(window.steps)
        came = 0.0 if point is None else came_to(steps, point.arc)
        middle = _cut(Curve.of(output.value, histograms[output.name]), 0.5)
        estimate = first_estimate(network, output, middle)
        if came and estimate is not None:
            found[output.name] = Trial(estimate, _worth(steps, output) / came)
    return found


def put_on_trial(
    drops: Mapping[str, Drop], trials: Mapping[str, Trial], step: int
) -> tuple[dict[str, Drop], dict[str, Trial]]:
    """The drops of a new plan, by estimates where there are any."""
    made, begun = dict(drops), dict(trials)
    for name, trial in trials.items():
        drop = made.get(trial.estimate.arc)
        if drop is not None and drop.keep is None and (keep := trial.estimate.keep) is not None:
            made[trial.estimate.arc] = Drop(keep=keep)
            begun[name] = replace(trial, wanted=drop.share, since=step)
    return made, begun


def judged(
    window: Window, network: NetworkValue, drops: Mapping[str, Drop], trials: Mapping[str, Trial]
) -> tuple[dict[str, Drop], dict[str, Trial]]:
    """Drops and trials after looking at what the estimates in force brought."""
    made, after = dict(drops), dict(trials)
    for output in outputs_of(network):
        trial = trials.get(output.name)
        if (
            trial is None
            or trial.estimate.keep is None
            or drops.get(trial.estimate.arc) != Drop(keep=trial.estimate.keep)
        ):
            continue
        steps = [step for step in window.steps if step.step > trial.since + 1]
        arc = next(one for one in network.arcs if str(one) == trial.estimate.arc)
        came = came_to(steps, arc)
        if came < ENOUGH_TUPLES:
            continue
        left_out = sum(step.shed.get(str(arc), 0) for step in steps) / came
        worth_left = _worth(steps, output) / came / trial.base if trial.base else 0.0
        estimate = corrected(trial.estimate, trial.wanted, left_out, worth_left)
        if estimate.keep != trial.estimate.keep:
            keep = estimate.keep
            made[str(arc)] = Drop(trial.wanted) if keep is None else Drop(keep=keep)
            after[output.name] = replace(trial, estimate=estimate, since=window.steps[-1].step)
    return made, after


def came_to(steps: list[StepFigures], arc: Arc) -> float:
    """Tuples that came to an arc, passed or left out."""
    passed = sum(step.boxes[arc.end.box].tuples_in.get(arc.end.port, 0) for step in steps if arc.end.box in step.boxes)
    return float(passed + sum(step.shed.get(str(arc), 0) for step in steps))


def _worth(steps: list[StepFigures], output: Output) -> float:
    return sum(
        worth_of(step.outputs[output.name].values, output.value) for step in steps if output.name in step.outputs
    )


def _cut(curve: Curve, share: float) -> float:
    """About the value below which this share of the worth's order lies: where to begin."""
    before = 0.0
    for interval, part, _ in curve.steps:
        before += part
        if interval is not None and interval.is_finite and before >= share:
            return interval.low
    return 0.0
