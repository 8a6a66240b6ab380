"""The controllers of a run, by its settings: how long trains are, who waits, what is left out (Aurora §4.3, §4.5)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from arterial.engine.plan.plan import Plan
from arterial.engine.run.settings import Settings
from arterial.engine.steering.arcs import ArcTraits, arcs_of
from arterial.engine.steering.decisions import Controller
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.service.holding.branches import branches_of
from arterial.service.holding.holder import Holder, Policy
from arterial.service.scheduling import Scheduler
from arterial.service.shedding.points import drop_points
from arterial.service.shedding.shedder import Shedder


def controllers_for(settings: Settings, plan: Plan, cores: int | None = None) -> tuple[Controller, ...]:
    """Those that the settings ask for, then the user's own; each builds on what the one before decided. Without `cores`
    the run uses those that are here."""
    cores = min(cores or cores_here(), plan.shards)
    arcs = arcs_of(plan)
    holdable = frozenset(name for name, arc in arcs.items() if arc.no_hold is None)
    found: list[Controller] = []
    if settings.shed:
        if settings.overflow:
            _check_overflow(plan.network, arcs, holdable)
        found.append(Shedder(cores, settings.headroom, settings.overflow, holdable))
    if settings.schedule != "off":  # after what is left out: a train may be the longer
        found.append(Scheduler(cores, settings.train_size, settings.overflow))
    policies: dict[str, Policy] = {"state": "state", "feedback": "feedback"}
    policy = policies.get(settings.schedule)
    if policy or settings.overflow:  # the only one that says how much of a queue goes on
        found.append(Holder(cores, policy, holdable, settings.overflow, settings.headroom))
    return (*found, *settings.controllers)


def _check_overflow(network: NetworkValue, arcs: Mapping[str, ArcTraits], holdable: frozenset[str]) -> None:
    """Refuse `overflow` for a network in which nothing but finished answers could be left out or held, which saves next
    to nothing; and say why."""
    ends = [point.arc.end.box for point in drop_points(network, settled=True)]
    ends += [arc.end.box for branch in branches_of(network, holdable) for arc in branch.arcs]
    if any(network.box(end).outputs for end in ends):
        return
    for arc in arcs.values():
        if (not_later := arc.no_shed or arc.no_overflow) and arc.no_hold:
            raise RunError(
                f"network {network.name!r}: with overflow no work could be put off. On the arc {arc.name} nothing can "
                f"be left out and settled later ({not_later}), and nothing can wait ({arc.no_hold}). Shed without "
                "overflow, or leave out --shed: what cannot be done in time then waits in the sources"
            )


def cores_here() -> int:
    """The cores that this process may use: as many as Spark would take here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
