"""How much memory the boxes of a local run take for their state: measured now and then, since it takes every chunk."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from arterial.engine.host.inprocess import InProcess
from arterial.engine.plan.plan import Plan
from arterial.engine.plan.successor import queue_of

LEAST_SECONDS = 1.0
MOST_SHARE = 0.01
"""So much of the time at most is spent on it."""


class StateInMemory:
    """The state of a host, by the level and slot that reports name."""

    def __init__(self, host: InProcess) -> None:
        self._host, self._next = host, 0.0
        self._held: dict[tuple[int, int], dict[str, int]] = {}

    def add_to(self, plan: Plan, report: Mapping[str, Any]) -> dict[str, Any]:
        """A report of a slot, with what its boxes keep, and what waits before them."""
        began = time.monotonic()
        if began >= self._next:
            self._measure(plan)
            self._next = began + max(LEAST_SECONDS, (time.monotonic() - began) / MOST_SHARE)
        held = self._held.get((report["level"], report["slot"]))
        return {**report, "state": held, "state_bytes": sum(held.values())} if held else dict(report)

    def _measure(self, plan: Plan) -> None:
        levels = {box.name: level.number for level in plan.levels for part in level.superboxes for box in part.boxes}
        levels |= {queue_of(str(arc)): levels[arc.end.box] for arc in plan.network.arcs if arc.end.box in levels}
        self._held = {}
        for (slot, owner), size in self._host.state_bytes().items():
            level = levels.get(owner.partition("/")[0])
            if level is not None and size:
                self._held.setdefault((level, slot), {})[owner] = size
