"""Runs a network in this process, without Spark: the same plan, sources and sinks, and so the same outputs.

Nothing survives its end: it keeps no checkpoint and begins from the start every time.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Condition, Thread
from typing import Any

from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.source import Part, Progress, Source, Span
from arterial.engine.host.failures import write_rejects
from arterial.engine.host.inprocess import InProcess
from arterial.engine.host.level import Outcome
from arterial.engine.plan.plan import HEAD
from arterial.engine.run.binding import bind_sinks, bind_sources, check_bindings, close_sources, notices_of, plan_run
from arterial.engine.run.folder import make_folder, remove_unless_needed
from arterial.engine.run.life import Run
from arterial.engine.run.lock import lock_checkpoint, note_owner
from arterial.engine.run.settings import Settings
from arterial.engine.run.states import PAUSED, RUNNING
from arterial.engine.run.statistics import Statistics
from arterial.engine.run.status import RUN_FILE, StatusFile
from arterial.engine.steering.control import Control, apply
from arterial.engine.steering.offsets import plan_step, reached
from arterial.errors import ArterialError, RunError
from arterial.network.network import NetworkValue
from arterial.network.train import END

IDLE_SECONDS = 0.01
"""How long it waits where no source has anything to read yet."""


def run_locally(
    network: NetworkValue,
    sources: Mapping[str, Any],
    sinks: Mapping[str, Sink],
    checkpoint: str | Path,
    settings: Settings | None = None,
    *,
    temporary: bool = False,
) -> LocalRun:
    """Start a network in a thread of this process.

    The folder `checkpoint` keeps what is set aside and the tables of connection points, and nothing to go on from. A
    `temporary` one is removed at the end, unless lines or tuples were set aside there.
    """
    run = LocalRun(network, sources, sinks, checkpoint, settings or Settings(), temporary=temporary)
    Thread(target=run.work, name="arterial-local", daemon=True).start()
    return run


class LocalRun(Run):
    """A network that runs in this process."""

    def __init__(
        self,
        network: NetworkValue,
        sources: Mapping[str, Any],
        sinks: Mapping[str, Sink],
        checkpoint: str | Path,
        settings: Settings,
        *,
        temporary: bool = False,
    ) -> None:
        super().__init__()
        check_bindings(network, sources, sinks, settings.policy, settings.train_size)
        for name, bound in {**sources, **sinks}.items():
            if not isinstance(bound, Source | Sink) or getattr(bound, "to_frame", False):
                raise RunError(
                    f"network {network.name!r}, {name!r}: a {type(bound).__name__} needs Spark; run it there"
                )
        self._temporary = temporary
        self._folder = make_folder(checkpoint)
        self.checkpoint = self._folder.parent
        try:
            # A local run begins from the start, so what an earlier one took in of its sources is not its own.
            shutil.rmtree(self._folder / "sources", ignore_errors=True)
            self._sources = bind_sources(network, sources, self._folder)
            self._sinks = bind_sinks(network, sinks, self._folder)
            self.plan = plan_run(network, settings.shards or _cores(), self._sources)
            self._lock = lock_checkpoint(self._folder)
            note_owner(self._lock, None)
            self._status = StatusFile(self.plan, None if temporary else self.checkpoint / RUN_FILE)
        except OSError as trouble:
            raise RunError(f"cannot write to {self.checkpoint}: {trouble.strerror}") from None
        self.statistics = Statistics(self.plan)
        self.notices = notices_of(self._sources)
        self._settings = settings
        self._host = InProcess(self.plan, policy=settings.policy)
        self._control, self._changed = Control(), Condition()
        self._ended = False

    @property
    def sinks(self) -> Mapping[str, Sink]:
        """The sinks of the outputs and connection points, by name."""
        return self._sinks

    @property
    def ended(self) -> bool:
        """Whether it came to the end of all sources."""
        return self._ended

    @property
    def paused(self) -> bool:
        """Whether it waits between two trains for a command."""
        return self.active and self._control.paused

    def stop(self, seconds: float = 60.0) -> None:
        """End it after the train at hand. It cannot be resumed."""
        self._command(stop=1)
        self._over.wait(seconds)
        if self._error is not None:
            raise self._error

    def pause(self) -> None:
        """Stop between two trains."""
        self._command(paused=True)

    def resume(self) -> None:
        """Go on."""
        self._command(paused=False)

    def step(self, trains: int = 1) -> None:
        """Pause, if it was not, and go on by so many trains."""
        self._command(paused=True, steps=self._control.steps + trains)

    def replace(self, network: NetworkValue, sinks: Mapping[str, Sink] | None = None) -> int:
        """Only a run on Spark can go on with another version of its network."""
        raise RunError(
            f"network {network.name!r}: a local run cannot change its network; stop it and start another run"
        )

    def work(self) -> None:
        """Run until all sources are at their end, or until it is stopped or fails; in the thread of the caller."""
        try:
            for source in self._sources.values():
                source.start()
            self._run_steps()
            if self._ended:
                for sink in self._sinks.values():
                    sink.finish()
        except ArterialError as mistake:
            self._error = mistake
        except Exception as trouble:
            self._error = RunError(f"the run stopped: {type(trouble).__name__}: {trouble}")
            self._error.__cause__ = trouble
        finally:
            self.notices = close_sources(self._sources, ended=self._ended and self._error is None)
            self._note_end()
            self._lock.close()
            if self._temporary:
                remove_unless_needed(self._folder)
            self._over.set()

    def _command(self, **changes: Any) -> None:
        with self._changed:
            self._control = replace(self._control, **changes)
            if self.active and not self._control.stop:
                self._status.become(PAUSED if self._control.paused else RUNNING)
            self._changed.notify_all()

    def _run_steps(self) -> None:
        at = {name: source.begin() for name, source in self._sources.items()}
        step, used = 0, 0
        while not self._control.stop:
            if all(progress.through == END for progress in at.values()):
                self._ended = True
                return
            goes_on, used_then = apply(self._control, used)
            began = time.time()
            after = plan_step(self._sources, at, self._settings.train_size, began) if goes_on else at
            if after == at:
                self._rest(IDLE_SECONDS)
                continue
            step, used = step + 1, used_then
            self._run_step(step, began, at, after)
            at = after
            self._rest(began + self._settings.interval - time.time())

    def _rest(self, seconds: float) -> None:
        """Wait, but not beyond the next command."""
        if seconds > 0:
            with self._changed:
                self._changed.wait(seconds)

    def _run_step(self, step: int, born: float, before: Mapping[str, Progress], after: Mapping[str, Progress]) -> None:
        shards = self.plan.shards
        reads = {}
        for name, source in self._sources.items():
            span = Span(before[name], after[name])
            key = self.plan.source_keys[name] if name in self.plan.split_sources else None
            reads[name] = [source.read_trains(span, Part(slot, shards, key)) for slot in range(shards)]
        outcomes = self._host.step_by_slot(reads)
        reports: list[Mapping[str, Any]] = []
        for level, slots in enumerate(outcomes, start=HEAD):
            for slot, outcome in enumerate(slots):
                self._deliver(step, slot, born, outcome)
                if outcome.rejects:
                    write_rejects(self._folder / "rejects", step, level, slot, outcome.rejects)
                reports.append(_report(step, born, outcome))
        for sink in self._sinks.values():
            sink.commit(step)
        reports[0] = {**reports[0], **reached(self._sources, after, born)}
        self._status.add_step(self.plan, reports)
        self.statistics.add_step(reports, time.time() - born)

    def _deliver(self, step: int, slot: int, born: float, outcome: Outcome) -> None:
        for output, train in outcome.deliveries.items():
            if output in self._sinks:
                self._sinks[output].write(Delivery(output, step, slot, train, born))


def _cores() -> int:
    """The cores that this process may use: as many as Spark would take here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _report(step: int, born: float, outcome: Outcome) -> dict[str, Any]:
    return {
        "step": step,
        "delay": time.time() - born,
        "boxes": {
            name: [counts.tuples_in, counts.tuples_out, counts.seconds] for name, counts in outcome.counts.items()
        },
        "rejects": len(outcome.rejects),
    }
