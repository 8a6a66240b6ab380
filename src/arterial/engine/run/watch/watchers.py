"""What an operator asks a run to say of itself while it runs, and the watchers that say it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arterial.engine.plan.plan import Plan
from arterial.errors import RunError, near
from arterial.figures.steering import Steering
from arterial.figures.step import StepFigures

if TYPE_CHECKING:
    from arterial.connectors.source import Source
    from arterial.engine.run.figures.status import Status

LOG_FORMATS = ("text", "json")
LOG_LEVELS = ("debug", "info", "warning")

_log = logging.getLogger("arterial")


@dataclass(frozen=True)
class Watch:
    """What a run opens besides its own files; nothing unless asked for."""

    metrics: str | None = None
    """PORT or HOST:PORT at which metrics for Prometheus are served; on loopback if no host is named."""
    log: str | None = None
    """The file of the log; `-` is standard error."""
    log_format: str = "text"
    """One of `LOG_FORMATS`."""
    log_level: str = "info"
    """The least that is logged, one of `LOG_LEVELS`; `debug` has every step."""
    lineage: str | None = None
    """Where OpenLineage events go: a file, or an http address."""

    def __post_init__(self) -> None:
        for name, value, known in (
            ("--log-format", self.log_format, LOG_FORMATS),
            ("--log-level", self.log_level, LOG_LEVELS),
        ):
            if value not in known:
                raise RunError(f"{name} {value!r}: expected one of {', '.join(known)}{near(value, known)}")


NOTHING = Watch()


class Watcher:
    """Takes in what a run says of itself. The run calls it between steps, so each call must be short."""

    def begin(self, status: Status) -> None:
        """The run takes up its work."""

    def step(self, figures: StepFigures, status: Status, decided: Steering) -> None:
        """A step is done; `decided` is how the next one runs."""

    def become(self, status: Status) -> None:
        """The run has another state."""

    def notices(self, said: Sequence[str]) -> None:
        """What the user should know about the sources."""

    def close(self) -> None:
        """The run is over; what was opened is closed."""


class Watchers(Watcher):
    """All watchers of a run."""

    def __init__(self, watchers: Sequence[Watcher] = ()) -> None:
        self._watchers = list(watchers)
        self.metrics_url: str | None = None

    def begin(self, status: Status) -> None:
        """The run takes up its work."""
        for watcher in self._watchers:
            with _kept_out_of_the_run(watcher):
                watcher.begin(status)

    def step(self, figures: StepFigures, status: Status, decided: Steering) -> None:
        """A step is done."""
        for watcher in self._watchers:
            with _kept_out_of_the_run(watcher):
                watcher.step(figures, status, decided)

    def become(self, status: Status) -> None:
        """The run has another state."""
        for watcher in self._watchers:
            with _kept_out_of_the_run(watcher):
                watcher.become(status)

    def notices(self, said: Sequence[str]) -> None:
        """What the user should know."""
        for watcher in self._watchers:
            with _kept_out_of_the_run(watcher):
                watcher.notices(said)

    def close(self) -> None:
        """The run is over."""
        for watcher in self._watchers:
            with _kept_out_of_the_run(watcher):
                watcher.close()
        self._watchers = []


def open_watchers(watch: Watch, plan: Plan, run: str, folder: Path, sources: Mapping[str, Source]) -> Watchers:
    """Open what was asked for, or refuse before the run begins; `run` is its id, `folder` its own."""
    opened: list[Watcher] = []
    watchers = Watchers(opened)
    try:
        if watch.log is not None:
            from arterial.engine.run.watch.log import LogWatcher

            opened.append(LogWatcher(watch, plan, run))
        if watch.lineage is not None:
            from arterial.engine.run.watch.openlineage import LineageWatcher

            opened.append(LineageWatcher(watch.lineage, plan, run))
        if watch.metrics is not None:
            from arterial.engine.run.watch.metrics import Metrics
            from arterial.engine.run.watch.server import MetricsServer

            metrics = Metrics(plan, run, folder, sources)
            server = MetricsServer(watch.metrics, metrics)
            opened += [metrics, server]
            watchers.metrics_url = server.url
            _log.info("metrics at %s", server.url)
    except BaseException:
        for watcher in opened:
            watcher.close()
        raise
    watchers._watchers = opened
    return watchers


@contextmanager
def _kept_out_of_the_run(watcher: Watcher) -> Iterator[None]:
    """A watcher that fails is no reason for the run to stop."""
    try:
        yield
    except Exception as fault:
        _log.warning("%s failed, and the run goes on: %s: %s", type(watcher).__name__, type(fault).__name__, fault)
