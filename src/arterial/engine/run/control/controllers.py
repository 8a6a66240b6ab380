"""The controllers of a run, by its settings: how long trains are, who waits, what is left out (Aurora §4.3, §4.5)."""

from __future__ import annotations

import os

from arterial.engine.plan.plan import Plan
from arterial.engine.run.settings import Settings
from arterial.engine.steering.arcs import arcs_of
from arterial.engine.steering.decisions import Controller
from arterial.errors import RunError
from arterial.service.holding import Holder
from arterial.service.scheduling import Scheduler
from arterial.service.shedding.points import drop_points
from arterial.service.shedding.shedder import Shedder


def controllers_for(settings: Settings, plan: Plan) -> tuple[Controller, ...]:
    """Those that the settings ask for, then the user's own; each builds on what the one before decided."""
    cores = min(cores_here(), plan.shards)
    found: list[Controller] = []
    if settings.shed:
        if settings.overflow:
            _check_overflow(plan)
        found.append(Shedder(cores, settings.headroom, settings.overflow))
    if settings.schedule != "off":  # after what is left out: a train may be the longer
        found.append(Scheduler(cores, settings.train_size))
    if settings.schedule in ("state", "feedback"):
        holdable = frozenset(name for name, arc in arcs_of(plan).items() if arc.no_hold is None)
        found.append(Holder(cores, "state" if settings.schedule == "state" else "feedback", holdable))
    return (*found, *settings.controllers)


def _check_overflow(plan: Plan) -> None:
    """Refuse `overflow` for a network in which only answers could be left out and settled later, which saves next to
    nothing; and say why."""
    network = plan.network
    if any(network.box(point.arc.end.box).outputs for point in drop_points(network, settled=True)):
        return
    why = next((arc.no_overflow or arc.no_shed for arc in arcs_of(plan).values() if arc.no_overflow or arc.no_shed), "")
    raise RunError(
        f"network {network.name!r}: with overflow no work could be left out, since it could not be settled later: "
        f"{why}. Shed without overflow, or let tuples wait (schedule state or feedback)"
    )


def cores_here() -> int:
    """The cores that this process may use: as many as Spark would take here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
