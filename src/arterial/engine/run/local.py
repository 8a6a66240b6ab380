"""Runs a network in this process, without Spark: the same plan, sources and sinks, and so the same outputs.

Nothing survives its end: it keeps no checkpoint and begins from the start every time.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from threading import Condition, RLock, Thread
from typing import Any

import polars as pl

from arterial.connectors.points.contents import POINTS
from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.source import Source
from arterial.engine.host.arc_steering import StepSteering, reading
from arterial.engine.host.inprocess import InProcess
from arterial.engine.host.level import Outcome
from arterial.engine.host.outcome_files import OVERFLOW, report, report_of_values, write_outcome
from arterial.engine.plan.plan import HEAD
from arterial.engine.plan.successor import check_successor
from arterial.engine.run.binding import bind_sources, check_bindings, close_sources, notices_of, plan_run
from arterial.engine.run.checkpoint.folder import STATUS_FILE, make_folder
from arterial.engine.run.checkpoint.lock import lock_checkpoint, note_owner
from arterial.engine.run.control.controllers import controllers_for, cores_here
from arterial.engine.run.control.settlement import SETTLED, Settlement
from arterial.engine.run.control.view_keeper import ViewKeeper
from arterial.engine.run.figures.run_figures import RunFigures
from arterial.engine.run.figures.state_in_memory import StateInMemory
from arterial.engine.run.life import Run
from arterial.engine.run.settings import Settings
from arterial.engine.run.states import PAUSED, RUNNING
from arterial.engine.run.versions.optimizer import Optimizer
from arterial.engine.run.versions.versions import FIRST, BoundSinks, first_version, next_version
from arterial.engine.run.versions.views import leave_views, left_views
from arterial.engine.run.watch.watchers import open_watchers
from arterial.engine.steering import control
from arterial.engine.steering.decisions import forget_decision
from arterial.engine.steering.offsets import ENDED, STOPPED, Offset, first_offset, next_offset, spans_of
from arterial.errors import ArterialError, RunError
from arterial.figures.steering import Steering
from arterial.figures.steps_file import remove_steps
from arterial.network.network import NetworkValue
from arterial.storage.place import remove, remove_folder

CORES = 1
"""Its slots run one after the other."""

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
            with ExitStack() as held:
                # First of all: what is removed below may be that of a run at work.
                self._lock = lock_checkpoint(self._folder)
                held.callback(self._lock.close)
                # A local run begins from the start, so what an earlier one took in and kept is not its own.
                for earlier in (
                    self._folder / "sources",
                    self.checkpoint / POINTS,
                    self._folder / OVERFLOW,
                    self.checkpoint / SETTLED,
                ):
                    remove_folder(earlier)
                network = leave_views(network, self.checkpoint)
                self._sources = bind_sources(network, sources, self._folder)
                self._bound = BoundSinks(self._folder)
                self._version = first_version(network, sinks)
                self._sinks = self._bound.of(self._version, {(name, FIRST): sink for name, sink in sinks.items()})
                self.plan = plan_run(network, settings.shards or cores_here(), self._sources)
                controllers = controllers_for(settings, self.plan, CORES)
                watchers = open_watchers(settings.watch, self.plan, uuid.uuid4().hex, self._folder, self._sources)
                note_owner(self._lock, None)
                self._forget()
                self._figures = RunFigures(self.plan, self._folder, controllers, watchers, temporary=temporary)
                held.pop_all()
        except OSError as trouble:
            raise RunError(f"cannot write to {self.checkpoint}: {trouble.strerror}") from None
        self.notices = notices_of(self._sources)
        self._settings = settings
        self._views = ViewKeeper(CORES, settings.headroom, network, network)
        self._optimizer = Optimizer(self._folder, automatic=settings.optimise)
        self._networks = {self.version: self.plan.network}
        self._settlement = Settlement(self._folder, self._networks.__getitem__, settings.policy, settings.headroom)
        self._host = InProcess(self.plan, policy=settings.policy)
        self._state = StateInMemory(self._host)
        self._levels = len(self.plan.levels)
        self._changed, self._between, self._step = Condition(), RLock(), 0
        self._ended = False

    @property
    def sinks(self) -> Mapping[str, Sink]:
        """The sinks of the outputs and connection points, by name."""
        return self._sinks

    @property
    def sources(self) -> Mapping[str, Source]:
        """The sources, by name."""
        return self._sources

    @property
    def ended(self) -> bool:
        """Whether it came to the end of all sources."""
        return self._ended

    def stop(self, seconds: float = 60.0) -> None:
        """End it after the train at hand. It cannot be resumed."""
        self._command(control.stop)
        self._over.wait(seconds)
        if self._error is not None:
            raise self._error

    def pause(self) -> None:
        """Stop between two trains."""
        self._command(control.pause)

    def resume(self) -> None:
        """Go on."""
        self._command(control.resume)

    def step(self, trains: int = 1) -> None:
        """Pause, if it was not, and go on by so many trains."""
        self._command(lambda folder: control.step(folder, trains))

    def replace(
        self,
        network: NetworkValue,
        sinks: Mapping[str, Sink] | None = None,
        *,
        history: Mapping[str, str] | None = None,
    ) -> int:
        """Let another version of the network run from the next train on; its number."""
        with self._between:
            given = sinks or {}
            views = left_views(network)
            network = views.network
            plan = plan_run(network, self.plan.shards, self._sources)
            check_successor(self.plan, plan, self._levels)
            self._figures.check_queues(plan)
            version = next_version(self._version, network, given)
            self._sinks = self._bound.of(version, {(name, version.number): sink for name, sink in given.items()})
            self._begin_tables_again(network, history or {})
            views.leave(self.checkpoint)
            control.begin_with(self._folder, version.number, history or {})
            self._host.replace(plan)
            self._figures.follow(plan)
            self._version, self.plan = version, plan
            self._networks[version.number] = network
            control.switch(self._folder, version.number)
            views.forget(self.checkpoint)
        return version.number

    def _link_aside(self) -> str:
        raise RunError("a run with --local keeps no checkpoint, so there is nothing to save")

    def _first_step_of(self, version: int) -> int:
        return self._step + 1

    def work(self) -> None:
        """Run until all sources are at their end, or until it is stopped or fails; in the thread of the caller."""
        try:
            for source in self._sources.values():
                source.start()
            self._run_steps()
            if self._ended:
                self._settlement.settle()
                for sink in self._bound:
                    sink.finish()
        except ArterialError as mistake:
            self._error = mistake
        except (Exception, pl.exceptions.PanicException) as trouble:  # polars panics with what is no Exception
            self._error = RunError(f"the run stopped: {type(trouble).__name__}: {trouble}")
            self._error.__cause__ = trouble
        finally:
            said = close_sources(self._sources, ended=self._ended and self._error is None)
            self.notices = (*said, *self._late_notices())
            self._note_end()
            self._lock.close()
            self._remove_temporary()
            self._over.set()

    def _steered(self) -> Path:
        return self._folder

    def _forget(self) -> None:
        """Remove what an earlier run left that steered it, and its figures: a local run begins from the start."""
        control.forget_control(self._folder)
        forget_decision(self._folder)
        for marker in (ENDED, STOPPED):
            remove(self._folder / marker)
        remove(self.checkpoint / STATUS_FILE)
        remove_steps(self.checkpoint)

    def _command(self, give: Callable[[Path], object]) -> None:
        """Give a command, if there is still somebody to take it."""
        with self._changed:
            if self.active:
                with suppress(RunError) if self._temporary else nullcontext():
                    give(self._folder)
                    self._note_paused()
            self._changed.notify_all()

    def _note_paused(self) -> None:
        paused = self.paused
        if self.active and paused != (self.status.state == PAUSED):
            self._figures.become(PAUSED if paused else RUNNING)

    def _run_steps(self) -> None:
        at = first_offset(self._sources, self._folder)
        while True:
            self._answer_requests(self._folder)
            self._settle_some()
            began = time.time()
            with self._between:
                after = next_offset(self._sources, at, self._folder, self._settings.train_size, 0)
                if after is not at:
                    self._run_step(at, after)
            if after is at:
                self._ended = (self._folder / ENDED).exists()
                if self._ended or (self._folder / STOPPED).exists():
                    return
                self._note_paused()
                self._rest(IDLE_SECONDS)
                continue
            at = after
            if self.status.state == PAUSED:
                self._note_paused()  # another process let it go on
            self._rest(began + self._settings.interval - time.time())

    def _rest(self, seconds: float) -> None:
        """Wait, but not beyond the next command."""
        if seconds > 0:
            with self._changed:
                self._changed.wait(seconds)

    def _run_step(self, before: Offset, after: Offset) -> None:
        shards, spans = self.plan.shards, spans_of(before, after)
        record = Steering.from_json(after["steering"])
        steered = StepSteering(after["step"], record, after["born"], self.checkpoint / POINTS)
        reads = {}
        for name, source in self._sources.items():
            reads[name] = [reading(self.plan, record, name, source, spans[name], slot) for slot in range(shards)]
        outcomes = self._host.step_by_slot(reads, steered)
        reports: list[Mapping[str, Any]] = []
        for level, slots in enumerate(outcomes, start=HEAD):
            for slot, outcome in enumerate(slots):
                self._deliver(steered.step, slot, steered.born, outcome)
                write_outcome(self._folder, self.version, steered.step, level, slot, outcome)
                said = report(level, slot, steered, outcome, outcome.seconds)
                said = self._state.add_to(self.plan, said)
                reports.append({**said, **report_of_values(self.plan, outcome)})
        for sink in self._bound:
            sink.commit(steered.step)
        reports[0] = {**reports[0], **after["reached"], "in_turn": True}
        self._figures.add_step(self.plan, reports)
        self._step = steered.step
        self._optimise(self.version, reports)

    def _deliver(self, step: int, slot: int, born: float, outcome: Outcome) -> None:
        began = time.perf_counter()
        for output, train in outcome.deliveries.items():
            if output in self._sinks:
                writing = time.perf_counter()
                self._sinks[output].write(Delivery(output, step, slot, train, born))
                outcome.spend(output, writing)
        outcome.seconds += time.perf_counter() - began
