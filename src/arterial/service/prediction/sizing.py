"""Sizing: the machines that a network needs at given rates, by the costs of runs on another machine.

The work of a step is spread over cores as it was in the run: a second of a core took `e · C` seconds of the C cores
there, and takes as much of any other number. State and what is written of it grow with the rates. A box that runs in
one slot has one core, however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from arterial.network.network import NetworkValue
from arterial.network.qos import good_zone
from arterial.service.prediction.step_costs import Run, costs_of
from arterial.service.utility import outputs_of

CORES_OF_EXECUTOR = 4
SPARK_BYTES = 1 << 30
"""What an executor takes by itself: Spark's own process."""
WORKER_BYTES = 200 << 20
"""What a Python worker takes by itself, one for each core."""
COPIES = 3
"""State is in memory as it is, as it becomes, and as what is written of it."""
BYTES_OF_TUPLE = 200
"""What a tuple of a train takes in memory, on its way through boxes and transport."""

CORES, SERIAL, DELAY = "cores", "serial box", "delay"


@dataclass(frozen=True)
class Sizing:
    """What a network needs at given rates."""

    rates: Mapping[str, float]
    work: float
    """Seconds of a core in a second that boxes need."""
    overhead: float
    """Seconds of a core for each of those, with reading, sending and waiting for the slowest slot."""
    cores: int
    """As many as keep within the headroom, or those that were asked for."""
    enough: bool
    executors: int
    executor_memory: int
    """Bytes of memory for each executor."""
    state: int
    """Bytes of state."""
    written: int
    """Bytes of state that are written in a second."""
    step: float
    """Seconds of a step."""
    delay: float
    """The worst delay of a steady load."""
    limit: str
    """What gives way first when more comes: `cores`, `serial box` or `delay`."""
    limit_name: str
    """The box or output that this is about."""
    limit_at: float
    """It gives way at so many times the rates."""


def size(
    runs: Sequence[Run],
    network: NetworkValue,
    rates: Mapping[str, float],
    measured_cores: int,
    serial: Collection[str],
    *,
    headroom: float = 0.8,
    cores: int = 0,
    executor_cores: int = CORES_OF_EXECUTOR,
) -> Sizing | None:
    """What a network needs, by runs of it; `serial` are its boxes that run in one slot. None if they read nothing."""
    costs = costs_of(runs, measured_cores)
    if costs is None:
        return None
    rate = sum(rates.values())
    overhead = max(1.0, costs.stretch * measured_cores)
    fixed = costs.fixed + costs.stretch * costs.work.fixed
    zones = {output.name: good_zone(output.delay) for output in outputs_of(network)}
    limited = {name: max(0.0, 1 - costs.waits * fixed / good) for name, good in zones.items() if math.isfinite(good)}
    bound = min([headroom, *(most for most in limited.values() if most > 0)])
    needed = max(1, math.ceil(costs.work.per_tuple * rate * overhead / bound - 1e-9))
    chosen = cores or needed
    stretch = overhead / chosen
    busy = stretch * costs.work.per_tuple * rate
    step, every = _step(costs.fixed + stretch * costs.work.fixed, busy, costs.pause)
    work = {name: line.at(rate * every) / every for name, line in costs.boxes.items()} if every < math.inf else {}
    executors = math.ceil(chosen / executor_cores)
    state = int(costs.state * rate)
    train = rate * every * BYTES_OF_TUPLE if math.isfinite(every) else 0.0
    memory = SPARK_BYTES + min(chosen, executor_cores) * WORKER_BYTES + (COPIES * state + train) / executors
    limits = [(CORES, "", headroom / busy if busy else math.inf)]
    limits += [
        (SERIAL, name, headroom / (costs.boxes[name].per_tuple * rate))
        for name in serial
        if name in costs.boxes and costs.boxes[name].per_tuple
    ]
    limits += [(DELAY, name, most / busy if busy else math.inf) for name, most in limited.items()]
    limit, name, at = min(limits, key=lambda one: one[2])
    return Sizing(
        dict(rates),
        sum(work.values()) if work else costs.work.per_tuple * rate,
        overhead,
        chosen,
        at >= 1 - 1e-9,
        executors,
        int(memory),
        state,
        int(costs.written * rate),
        step,
        costs.waits * step,
        limit,
        name,
        at,
    )


def _step(fixed: float, busy: float, pause: float) -> tuple[float, float]:
    """How long steps are, and how long it is from one to the next."""
    if busy >= 1:
        return math.inf, math.inf
    alone = fixed / (1 - busy)
    return (alone, alone) if alone >= pause else (fixed + busy * pause, pause)
