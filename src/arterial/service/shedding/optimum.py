"""The best plan of all, by trying every one on a grid: the yardstick for the greedy choice, not for a run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arterial.service.shedding.greedy import MOST, Choices, Plan
from arterial.service.utility import outputs_of

MOST_PLANS = 300_000
"""How many plans are tried in a round."""
ROUNDS = 4


def optimum(choices: Choices, capacity: float) -> Plan:
    """The plan of most utility among those with at most so much work: a grid over all points, ever finer."""
    count = len(choices.points)
    steps = max(3, int(MOST_PLANS ** (1 / count)))
    most = np.array([choices.most(point) for point in choices.points])
    low, high = np.zeros(count), most.copy()
    best, found = -1.0, most
    for _ in range(ROUNDS):
        grids = [np.linspace(a, b, steps) for a, b in zip(low, high, strict=True)]
        plans = np.stack([axis.ravel() for axis in np.meshgrid(*grids, indexing="ij")])
        utility = np.where(_work(choices, plans) <= capacity * (1 + 1e-9), _utility(choices, plans), -1.0)
        if utility.max() > best:
            best, found = float(utility.max()), plans[:, int(utility.argmax())]
        width = (high - low) / (steps - 1)
        low, high = np.maximum(found - width, 0), np.minimum(found + width, most)
    return Plan(dict(zip(choices.points, map(float, found), strict=True)))


def uniform(choices: Choices, capacity: float) -> Plan:
    """The same share at every source, by chance: what a system does that knows nothing of utility."""
    first = [p for p in choices.points if p.by_value is None and not choices.load.network.box(p.arc.begin.box).inputs]
    low, high = 0.0, MOST
    for _ in range(30):
        middle = (low + high) / 2
        enough = choices.work(Plan(dict.fromkeys(first, middle))) <= capacity
        low, high = (low, middle) if enough else (middle, high)
    return Plan(dict.fromkeys(first, high))


def _work(choices: Choices, plans: Any) -> Any:
    """The work of many plans at once: the model's own functions, over arrays."""
    kept: dict[str, Any] = {}
    for point, out in zip(choices.points, plans, strict=True):
        kept[point.name] = kept.get(point.name, 1.0) * (1 - out)
    return np.broadcast_to(np.asarray(choices.load.work(kept)), plans.shape[1:])


def _utility(choices: Choices, plans: Any) -> Any:
    pairs = list(zip(choices.points, plans, strict=True))
    shares: Any = choices.load.delivered({point.name: 1 - out for point, out in pairs if point.by_value is None})
    outputs = outputs_of(choices.load.network)
    reached: Any = 0.0
    for output in outputs:
        left = shares[output.name] * np.ones(plans.shape[1])
        for point, out in pairs:
            if point.by_value is not None and output.name in point.outputs:
                edges = np.cumsum([0.0, *(share for _, share, _ in choices.curves[output.name].steps)])
                left = left * np.interp(out, edges, [choices.curves[output.name].worth_left(x) for x in edges])
        if output.share:
            xs, ys = zip(*output.share, strict=True)
            left = np.interp(left, xs, ys)
        reached = reached + output.weight * left
    return reached / math.fsum(output.weight for output in outputs)
