"""The figures of a run as metrics, in Prometheus' text format.

All comes from what `status.json` says and from the figures of steps. A step costs a few additions; the text is made
when somebody asks for it.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from copy import copy, deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from arterial.engine.plan.plan import Plan
from arterial.engine.run.states import PAUSED, RUNNING, STATES
from arterial.engine.run.watch.watchers import Watcher
from arterial.figures.steering import Steering
from arterial.figures.step import StepFigures
from arterial.figures.window import spent_in
from arterial.version import __version__

if TYPE_CHECKING:
    from arterial.connectors.source import Source
    from arterial.engine.run.figures.status import Status

T = TypeVar("T")

BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Upper bounds of the histograms' buckets, in seconds; 5 and 10 are the limits of Linear Road."""

MOST_NAMES = 1000
"""So many names of one kind (boxes, say) have series of their own; the rest is counted as left out."""

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"

FAMILIES: Mapping[str, tuple[str, str]] = {
    "arterial_run_info": (GAUGE, "Always 1; its labels say which run this is."),
    "arterial_run_state": (GAUGE, "1 for the state that the run is in, 0 for the others."),
    "arterial_run_started_timestamp_seconds": (GAUGE, "When the run was started first, in seconds since 1970."),
    "arterial_restarts_total": (COUNTER, "How many processes took the run up again."),
    "arterial_network_version": (GAUGE, "The version of the network that runs."),
    "arterial_steps_total": (COUNTER, "Steps done since the run was started first."),
    "arterial_step_duration_seconds": (HISTOGRAM, "How long steps took; of this process."),
    "arterial_utility": (GAUGE, "The utility of all outputs together in the last window, from 0 to 1."),
    "arterial_source_tuples_total": (COUNTER, "Tuples read, by source."),
    "arterial_source_rate": (GAUGE, "Tuples a second in the last window, by source."),
    "arterial_source_waiting_tuples": (GAUGE, "Tuples that wait to be read, where the source knows."),
    "arterial_source_waited_seconds": (GAUGE, "How long the oldest tuple of the last step had waited to be read."),
    "arterial_source_watermark_lag_seconds": (GAUGE, "How far the complete time of a source is behind the clock."),
    "arterial_source_read_share": (GAUGE, "How much of a source is read, from 0 to 1, where it knows its end."),
    "arterial_output_tuples_total": (COUNTER, "Tuples delivered, by output."),
    "arterial_output_rate": (GAUGE, "Tuples a second in the last window, by output."),
    "arterial_output_delay_seconds": (
        HISTOGRAM,
        "The delay of delivered tuples, by output: each with its step's worst.",
    ),
    "arterial_output_utility": (GAUGE, "The utility of an output in the last window, from 0 to 1."),
    "arterial_box_tuples_in_total": (COUNTER, "Tuples that came into a box."),
    "arterial_box_tuples_out_total": (COUNTER, "Tuples that a box emitted."),
    "arterial_box_seconds_total": (COUNTER, "Seconds of a core that a box took."),
    "arterial_shed_tuples_total": (COUNTER, "Tuples left out, by arc."),
    "arterial_held_tuples": (GAUGE, "Tuples that wait in the queue of an arc."),
    "arterial_set_aside_tuples_total": (COUNTER, "Lines and tuples set aside because they could not be used."),
    "arterial_state_bytes": (GAUGE, "The size of the state of all boxes."),
    "arterial_state_read_bytes_total": (COUNTER, "Bytes of state read; of this process."),
    "arterial_state_written_bytes_total": (COUNTER, "Bytes of state written; of this process."),
    "arterial_checkpoint_age_seconds": (GAUGE, "Seconds since the last step was done, or since the start."),
    "arterial_checkpoint_duration_seconds": (
        GAUGE,
        "Seconds that the last step spent outside its tasks: planning, scheduling and committing it.",
    ),
    "arterial_disk_free_bytes": (GAUGE, "Free space where the checkpoint is."),
    "arterial_process_resident_bytes": (GAUGE, "Memory of the driver's Python process."),
    "arterial_process_cpu_seconds_total": (COUNTER, "Seconds of a core that the driver's Python process took."),
    "arterial_names_left_out": (GAUGE, "Names without series of their own, because there are too many."),
}
"""Every metric: its type and what it says. `ops/` and its tests go by this list."""


@dataclass
class _Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def add(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(BOUNDS, value)] += times
        self.total += value * times

    def __deepcopy__(self, memo: object) -> _Histogram:
        return _Histogram(self.counts.copy(), self.total)

    def samples(self, name: str, labels: Mapping[str, str]) -> Iterator[tuple[str, Mapping[str, str], float]]:
        below = 0
        for bound, count in zip((*BOUNDS, float("inf")), self.counts, strict=True):
            below += count
            yield f"{name}_bucket", {**labels, "le": "+Inf" if bound == float("inf") else f"{bound:g}"}, below
        yield f"{name}_sum", labels, self.total
        yield f"{name}_count", labels, below


class Metrics(Watcher):
    """Keeps the last status of a run, and adds up what it does not: the histograms."""

    def __init__(
        self, plan: Plan, run: str, folder: Path | None = None, sources: Mapping[str, Source] | None = None
    ) -> None:
        self._network, self._run, self._folder, self._sources = plan.network.name, run, folder, sources or {}
        self._lock = Lock()
        self._status: Status | None = None
        self._last: StepFigures | None = None
        self._done = time.time()
        self._steps = _Histogram()
        self._delays = {box.name: _Histogram() for box in plan.outputs}
        self._read = self._written = 0

    def begin(self, status: Status) -> None:
        """The run takes up its work."""
        self._status = status

    def step(self, figures: StepFigures, status: Status, decided: Steering) -> None:
        """Take in a step."""
        with self._lock:
            self._status, self._last, self._done = status, figures, time.time()
            self._steps.add(figures.seconds)
            for name, output in figures.outputs.items():
                if output.tuples:
                    self._delays.setdefault(name, _Histogram()).add(output.delay, output.tuples)
            for slot in figures.slots:
                self._read += slot.state_read
                self._written += slot.state_written

    def become(self, status: Status) -> None:
        """Another state."""
        self._status = status

    def health(self) -> tuple[bool, str]:
        """Whether the run is alive, and its state; before it has one it starts."""
        state = self._status.state if self._status else "starting"
        return state in ("starting", RUNNING, PAUSED), state

    def ready(self) -> tuple[bool, str]:
        """Whether it takes tuples now."""
        state = self.health()[1]
        return state == RUNNING, state

    def text(self) -> str:
        """All metrics, as Prometheus reads them."""
        found: dict[str, list[str]] = {}
        for family, name, labels, value in self._as_of_now()._samples():
            found.setdefault(family, []).append(_line(name, {"network": self._network, **labels}, value))
        lines = []
        for family, (kind, said) in FAMILIES.items():
            if family in found:
                lines += [f"# HELP {family} {_escaped(said, quotes=False)}", f"# TYPE {family} {kind}", *found[family]]
        return "\n".join(lines) + "\n"

    def _as_of_now(self) -> Metrics:
        """A copy, so that the run, which adds to this one, waits only while it is made."""
        with self._lock:
            now = copy(self)
            now._steps, now._delays = deepcopy(self._steps), deepcopy(self._delays)
        return now

    def _samples(self) -> Iterator[tuple[str, str, Mapping[str, str], float]]:
        """Family, name, labels and value of each series; those of the run itself first."""
        yield _one("arterial_run_info", 1, run=self._run, version=__version__)
        for state in STATES:
            yield _one("arterial_run_state", self._status is not None and self._status.state == state, state=state)
        yield _one("arterial_checkpoint_age_seconds", max(0.0, time.time() - self._done))
        for family, value in self._machine():
            yield _one(family, value)
        for sample in self._steps.samples("arterial_step_duration_seconds", {}):
            yield ("arterial_step_duration_seconds", *sample)
        left_out = 0
        for name, delays in _bounded(self._delays):
            for sample in delays.samples("arterial_output_delay_seconds", {"output": name}):
                yield ("arterial_output_delay_seconds", *sample)
        yield _one("arterial_state_read_bytes_total", self._read)
        yield _one("arterial_state_written_bytes_total", self._written)
        if self._last is not None:
            around = spent_in(self._last).get((None, None, None), 0.0)
            yield _one("arterial_checkpoint_duration_seconds", around)
        if self._status is not None:
            left_out = sum(
                max(0, len(names) - MOST_NAMES) for names in (self._status.boxes, self._status.shed, self._delays)
            )
            yield from self._of_status(self._status)
        yield _one("arterial_names_left_out", left_out)

    def _of_status(self, status: Status) -> Iterator[tuple[str, str, Mapping[str, str], float]]:
        window = status.window
        yield _one("arterial_run_started_timestamp_seconds", datetime.fromisoformat(status.started).timestamp())
        yield _one("arterial_restarts_total", status.restarts)
        yield _one("arterial_network_version", status.network_version)
        yield _one("arterial_steps_total", status.step)
        yield _one("arterial_set_aside_tuples_total", status.set_aside)
        for name, number in _bounded(status.tuples_in):
            yield _one("arterial_source_tuples_total", number, source=name)
        for name, number in _bounded(status.tuples_out):
            yield _one("arterial_output_tuples_total", number, output=name)
        for name, (came, went, seconds) in _bounded(status.boxes):
            yield _one("arterial_box_tuples_in_total", came, box=name)
            yield _one("arterial_box_tuples_out_total", went, box=name)
            yield _one("arterial_box_seconds_total", seconds, box=name)
        for name, number in _bounded(status.shed):
            yield _one("arterial_shed_tuples_total", number, arc=name)
        if not window:
            return
        yield _one("arterial_utility", window["utility"])
        yield _one("arterial_state_bytes", window["state"]["bytes"])
        for name, number in _bounded(window["held"]):
            yield _one("arterial_held_tuples", number, arc=name)
        # The lag is as of the step; it grows while no other comes.
        since = max(0.0, time.time() - self._last.born) if self._last and status.is_active else 0.0
        for name, source in _bounded(window["sources"]):
            for family, value in (
                ("arterial_source_rate", source["rate"]),
                ("arterial_source_waiting_tuples", self._waiting(status, name, source["waiting"])),
                ("arterial_source_waited_seconds", source["waited"]),
                ("arterial_source_watermark_lag_seconds", None if source["lag"] is None else source["lag"] + since),
                ("arterial_source_read_share", source["share"]),
            ):
                if value is not None:
                    yield _one(family, value, source=name)
        for name, output in _bounded(window["outputs"]):
            yield _one("arterial_output_rate", output["rate"], output=name)
            if output["utility"] is not None:
                yield _one("arterial_output_utility", output["utility"], output=name)

    def _waiting(self, status: Status, name: str, said: int | None) -> int | None:
        """How many tuples of a source wait: by now, where that is known, since a run that hangs says nothing new."""
        through = self._last.sources[name].through if self._last and name in self._last.sources else None
        source = self._sources.get(name)
        if source is None or through is None or not status.is_active:
            return said
        found = source.waiting_after(through)
        return said if found is None else found

    def _machine(self) -> Iterator[tuple[str, float]]:
        """What the system says of this process and of the disk; left out where it says nothing."""
        times = os.times()
        yield "arterial_process_cpu_seconds_total", times.user + times.system
        try:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            yield "arterial_process_resident_bytes", pages * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            pass
        if self._folder is not None:
            try:
                disk = os.statvfs(self._folder)
            except OSError:
                return
            yield "arterial_disk_free_bytes", disk.f_bavail * disk.f_frsize


def _bounded(named: Mapping[str, T]) -> list[tuple[str, T]]:
    return list(named.items())[:MOST_NAMES]


def _one(family: str, value: float, **labels: str) -> tuple[str, str, Mapping[str, str], float]:
    return family, family, labels, float(value)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    said = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{said}}} {value!r}"


def _escaped(text: str, *, quotes: bool = True) -> str:
    """A label's value, or a line of help, as the format wants it."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def names_of(families: Iterable[str] = FAMILIES) -> set[str]:
    """The names of all series: a histogram has three."""
    names = set()
    for family in families:
        if FAMILIES[family][0] == HISTOGRAM:
            names |= {f"{family}_bucket", f"{family}_sum", f"{family}_count"}
        else:
            names.add(family)
    return names
