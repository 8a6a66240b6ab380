"""Sizing: the machines that a network needs at given rates, by the costs of a run on another machine.

The work of a step is spread over cores as it was in the run: a second of a core took `e · C` seconds of the C cores
there, and takes as much of any other number. State and what is written of it grow with the rates. A box that runs in
one slot has one core, however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from arterial.figures.window import Window
from arterial.network.network import NetworkValue
from arterial.network.qos import good_zone
from arterial.service.analysis import load_of
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
    window: Window,
    network: NetworkValue,
    rates: Mapping[str, float],
    measured_cores: int,
    serial: Collection[str],
    *,
    headroom: float = 0.8,
    cores: int = 0,
    executor_cores: int = CORES_OF_EXECUTOR,
) -> Sizing | None:
    """What a network needs; `serial` are its boxes that run in one slot. None if the run read nothing."""
    load = load_of(window, network, rates, measured_cores)
    if load is None:
        return None
    work = load.work_by_box()
    total = sum(work.values())
    overhead = max(1.0, load.stretch * measured_cores)
    zones = {output.name: good_zone(output.delay) for output in outputs_of(network)}
    limited = {name: load.bearable(good) for name, good in zones.items() if math.isfinite(good)}
    bound = min([headroom, *(most for most in limited.values() if most > 0)])
    needed = max(1, math.ceil(total * overhead / bound - 1e-9))
    chosen = cores or needed
    there = replace(load, stretch=overhead / chosen)
    utilisation = there.utilisation()
    read = sum(source.tuples for step in window.steps for source in step.sources.values())
    span = window.seconds or 1e-9
    growth = sum(rates.values()) / (read / span) if read else 1.0
    executors = math.ceil(chosen / executor_cores)
    state = int(sum(slot.state_bytes for slot in window.steps[-1].slots) * max(1.0, growth))
    written = int(window.state_written / read * sum(rates.values())) if read else 0
    step = there.fixed / (1 - utilisation) if utilisation < 1 else math.inf
    train = sum(rates.values()) * step * BYTES_OF_TUPLE if math.isfinite(step) else 0.0
    memory = SPARK_BYTES + min(chosen, executor_cores) * WORKER_BYTES + (COPIES * state + train) / executors
    limits = [(CORES, "", headroom / utilisation if utilisation else math.inf)]
    limits += [(SERIAL, name, headroom / work[name]) for name in serial if work.get(name)]
    limits += [(DELAY, name, most / utilisation if utilisation else math.inf) for name, most in limited.items()]
    limit, name, at = min(limits, key=lambda one: one[2])
    return Sizing(
        dict(rates),
        total,
        overhead,
        chosen,
        at >= 1 - 1e-9,
        executors,
        int(memory),
        state,
        written,
        step,
        there.delay(utilisation),
        limit,
        name,
        at,
    )
