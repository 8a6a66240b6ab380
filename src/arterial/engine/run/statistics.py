"""Statistics of a run: per box and arc tuples in and out, cost, selectivity, queue and delay (Aurora §2.2, §5)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any

from arterial.engine.plan.plan import Plan
from arterial.network.network import Port
from arterial.network.schema import Type
from arterial.network.train import BEGIN, END


@dataclass
class BoxStatistics:
    """What a box has done so far."""

    tuples_in: int = 0
    tuples_out: int = 0
    seconds: float = 0.0
    delay: float = 0.0
    """Seconds from reading the oldest tuple of the last train to when it had passed this box's level."""
    by_port: dict[str, int] = field(default_factory=dict)

    @property
    def selectivity(self) -> float | None:
        """Tuples out for each tuple in."""
        return self.tuples_out / self.tuples_in if self.tuples_in else None

    @property
    def microseconds_per_tuple(self) -> float | None:
        """The cost of a tuple."""
        return 1e6 * self.seconds / self.tuples_in if self.tuples_in else None


class Statistics:
    """Adds up the reports of all tasks. Many threads may read it while the run goes on."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = Lock()
        self._boxes: dict[str, BoxStatistics] = {box.name: BoxStatistics() for box in plan.network.boxes}
        self._last: dict[str, dict[str, int]] = {}
        self._waiting: dict[str, int | None] = {}
        self._through: dict[str, int] = {}
        self._share: dict[str, float | None] = {}
        self._first: tuple[float, float] | None = None
        self._began = time.monotonic()
        self.steps = 0
        self.step = 0
        self.rejects = 0
        self.step_seconds = 0.0
        self.delay = 0.0

    def add_step(self, reports: list[Mapping[str, Any]], seconds: float) -> None:
        """Take in the reports of one step."""
        with self._lock:
            self.steps += 1
            self.step_seconds = seconds
            self._last = {}
            delays = []
            for report in reports:
                self.step = max(self.step, report["step"])
                self.rejects += report["rejects"]
                self._waiting.update(report.get("waiting", {}))
                self._share.update(report.get("share", {}))
                # A source at its end holds back no other, and its last time is as good as any.
                self._through.update({k: t for k, t in report.get("through", {}).items() if BEGIN < t < END})
                delays.append(report["delay"])
                for name, (tuples_in, tuples_out, cost) in report["boxes"].items():
                    self._add_box(name, tuples_in, tuples_out, cost, report["delay"])
            self.delay = max(delays, default=0.0)
            if self._first is None and (share := self._read_share()) is not None:
                self._first = (time.monotonic(), share)

    def follow(self, plan: Plan) -> None:
        """Go on with another version of the network; boxes that both have keep their counts."""
        with self._lock:
            self._plan = plan
            for box in plan.network.boxes:
                self._boxes.setdefault(box.name, BoxStatistics())

    def box(self, name: str) -> BoxStatistics:
        """What one box has done."""
        with self._lock:
            return self._boxes[name]

    @property
    def tuples_in(self) -> int:
        """The tuples that all sources gave."""
        return sum(self._boxes[box.name].tuples_out for box in self._plan.sources)

    @property
    def tuples_out(self) -> int:
        """The tuples that arrived at outputs."""
        return sum(self._boxes[box.name].tuples_in for box in self._plan.outputs)

    @property
    def selectivities(self) -> dict[str, float | None]:
        """Tuples out for each tuple in, of every box: what the optimizer goes by."""
        with self._lock:
            return {name: box.selectivity for name, box in self._boxes.items()}

    @property
    def event_time(self) -> int | str | None:
        """The time through which all sources are read, as their time columns have it; None before the first step."""
        if not self._through:
            return None
        name, through = min(self._through.items(), key=lambda item: item[1])
        network = self._plan.network
        stream = network.streams[Port(name, network.box(name).outputs[0])]
        if stream.schema[stream.time] is not Type.TIMESTAMP:
            return through
        try:
            at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=through)
        except OverflowError:
            return through
        return at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")

    @property
    def share(self) -> float | None:
        """How much of the sources is read, from 0 to 1, where that is known: that of the one which is behind."""
        with self._lock:
            return self._read_share()

    @property
    def remaining(self) -> float | None:
        """So many seconds are left if it goes on as it did since the first step."""
        with self._lock:
            return self._left()

    def describe(self) -> dict[str, Any]:
        """All of it as plain data."""
        with self._lock:
            seconds = time.monotonic() - self._began
            return {
                "network": self._plan.network.name,
                "step": self.step,
                "steps": self.steps,
                "seconds": round(seconds, 3),
                "step_seconds": round(self.step_seconds, 4),
                "delay": round(self.delay, 4),
                "event_time": self.event_time,
                "share": None if (share := self._read_share()) is None else round(share, 4),
                "remaining": None if (left := self._left()) is None else round(left, 1),
                "tuples_in": self.tuples_in,
                "tuples_out": self.tuples_out,
                "tuples_per_second": round(self.tuples_in / seconds) if seconds else 0,
                "set_aside": self.rejects,
                "boxes": {b.name: self._describe(b.name, self._boxes[b.name]) for b in self._plan.network.boxes},
                "arcs": [
                    {
                        "from": str(arc.begin),
                        "to": str(arc.end),
                        "tuples": self._boxes[arc.begin.box].by_port.get(arc.begin.port, 0),
                        "queue": self._queue(arc.begin.box, arc.begin.port),
                    }
                    for arc in self._plan.network.arcs
                ],
            }

    def _read_share(self) -> float | None:
        shares = list(self._share.values())
        known = [share for share in shares if share is not None]
        return min(known) if known and len(known) == len(shares) else None

    def _left(self) -> float | None:
        share = self._read_share()
        if share is None or self._first is None:
            return None
        if share >= 1:
            return 0.0
        since, before = self._first
        return (time.monotonic() - since) * (1 - share) / (share - before) if share > before else None

    def _describe(self, name: str, box: BoxStatistics) -> dict[str, Any]:
        selectivity, cost = box.selectivity, box.microseconds_per_tuple
        return {
            "kind": self._plan.network.box(name).kind,
            "in": box.tuples_in,
            "out": box.tuples_out,
            "seconds": round(box.seconds, 6),
            "microseconds_per_tuple": None if cost is None else round(cost, 4),
            "selectivity": None if selectivity is None else round(selectivity, 4),
            "delay": round(box.delay, 4),
        }

    def _queue(self, box: str, port: str) -> int:
        """The tuples on an arc: the length of its last train, and behind a source what is still to be read."""
        waiting = self._waiting.get(box) or 0
        return self._last.get(box, {}).get(port, 0) + waiting

    def _add_box(
        self, name: str, tuples_in: Mapping[str, int], tuples_out: Mapping[str, int], cost: float, delay: float
    ) -> None:
        box = self._boxes[name]
        box.tuples_in += sum(tuples_in.values())
        box.tuples_out += sum(tuples_out.values())
        box.seconds += cost
        box.delay = delay
        last = self._last.setdefault(name, {})
        for port, number in tuples_out.items():
            box.by_port[port] = box.by_port.get(port, 0) + number
            last[port] = last.get(port, 0) + number
