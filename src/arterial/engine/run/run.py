"""Runs a network on Spark: one streaming query from all sources through all levels (decision 2), until its end."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Any

from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.memory import MemorySink
from arterial.connectors.source import Source
from arterial.engine.plan.successor import check_successor
from arterial.engine.run.binding import (
    check_bindings,
    close_sources,
    first_port,
    notices_of,
    plan_run,
)
from arterial.engine.run.checkpoint.folder import FOLDER, make_folder
from arterial.engine.run.checkpoint.lock import lock_checkpoint, release
from arterial.engine.run.checkpoint.savepoint import forget_links, link_aside
from arterial.engine.run.control.controllers import controllers_for, cores_here
from arterial.engine.run.control.settlement import Settlement
from arterial.engine.run.control.view_keeper import ViewKeeper, gone_views
from arterial.engine.run.driver import Ready, commit_step, make_ready, take_reports, take_up, work_of
from arterial.engine.run.figures.run_figures import RunFigures
from arterial.engine.run.life import Run
from arterial.engine.run.settings import Settings
from arterial.engine.run.states import PAUSED, RUNNING
from arterial.engine.run.versions.optimizer import Optimizer
from arterial.engine.run.versions.versions import next_version
from arterial.engine.run.versions.views import leave_views, left_views
from arterial.engine.run.watch.watchers import open_watchers
from arterial.engine.spark.cluster import check_workers
from arterial.engine.spark.errors import as_run_error
from arterial.engine.spark.frames.frame_sink import FrameSink, frame_of
from arterial.engine.spark.frames.frame_source import FrameSource
from arterial.engine.spark.levels import add_levels
from arterial.engine.spark.logs.offset_log import last_offsets
from arterial.engine.spark.logs.spark_files import SparkFiles
from arterial.engine.spark.logs.store_files import check_writer
from arterial.engine.spark.packed_work import PackedWork
from arterial.engine.spark.session import query_settings, spark_session
from arterial.engine.spark.source import read_sources
from arterial.engine.spark.state_index import read_indexes
from arterial.engine.steering import control
from arterial.engine.steering.offsets import ENDED, STOPPED
from arterial.engine.transport.rows import REPORT
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.network.train import Train
from arterial.service.views import without
from arterial.storage.disk import durably
from arterial.storage.epoch import check_epoch, taken_over
from arterial.storage.fail_point import fail_point
from arterial.storage.place import remove
from arterial.storage.remote import is_remote, spark_name
from arterial.storage.shared_memory import MemoryFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FOLDER", "Run", "Settings", "SparkRun", "run", "warm_up"]

LOOK_SECONDS, LOOK_SECONDS_FAR = 0.05, 0.5
"""How often a run looks for its end, and for what others ask of it; in a store each look is several requests."""


def run(
    network: NetworkValue,
    sources: Mapping[str, Source | FrameSource],
    sinks: Mapping[str, Sink],
    checkpoint: str | Path,
    settings: Settings | None = None,
    *,
    spark: SparkSession | None = None,
    temporary: bool = False,
) -> SparkRun:
    """Start a network, or go on from its checkpoint.

    `sources` says what stands behind every source of the network, `sinks` what is behind its outputs; what reaches an
    output without a sink is counted and let go. A connection point is kept in the checkpoint unless a sink says where.
    A `temporary` checkpoint is removed at the end, unless lines or tuples were set aside there.
    """
    settings = settings or Settings()
    check_bindings(network, sources, sinks, settings.policy, settings.train_size)
    with ExitStack() as held:
        held.enter_context(durably(settings.durable))
        folder = make_folder(checkpoint)
        lock = lock_checkpoint(folder)
        held.callback(lock.close)
        try:
            session = spark or spark_session(f"arterial {network.name}")
            check_workers(session, folder)
            check_writer(session, folder.parent)
            process = getattr(getattr(session.sparkContext._gateway, "proc", None), "pid", None)
            known = take_up(lock, folder, process, durable=settings.durable)
            network = leave_views(network, folder.parent)
            cores = int(session.sparkContext.defaultParallelism)
            ready = make_ready(
                network,
                sources,
                sinks,
                folder,
                settings,
                cores,
                partial(read_indexes, session, folder.parent / "spark"),
            )
            frames = {name: source for name, source in sources.items() if isinstance(source, FrameSource)}
            started = SparkRun(ready, frames, folder, settings, session, lock, temporary)
        except OSError as trouble:
            raise as_run_error(trouble, folder) from None
        started.watch(held.pop_all(), known)
        return started


class SparkRun(Run):
    """A network that runs on Spark."""

    def __init__(
        self,
        ready: Ready,
        frames: Mapping[str, FrameSource],
        folder: Path,
        settings: Settings,
        session: SparkSession,
        lock: IO[str],
        temporary: bool = False,
    ) -> None:
        super().__init__()
        self._temporary = temporary
        self.checkpoint = folder.parent
        last = ready.works[-1]
        controllers = controllers_for(settings, last.plan)
        watchers = open_watchers(settings.watch, last.plan, last.run, folder, last.sources)
        on_one_machine = str(session.sparkContext.master).startswith("local")
        self._memory = MemoryFolder.make("shipments") if on_one_machine else None
        memory = str(self._memory.path) if self._memory else ""
        works = [replace(work, memory=memory) for work in ready.works]
        self._folder, self._frames, self._lock, self._files = folder, frames, lock, ready.files
        self._levels, self._sinks, self._version = ready.levels, ready.sinks, ready.version
        self._works = {each.version: each for each in works}
        self._work, self._replacing, self._between = works[-1], Lock(), Lock()
        work, self.plan = self._work, self._work.plan
        self._figures = RunFigures(works[0].plan, folder, controllers, watchers, temporary=temporary)
        for each in works:
            self._figures.follow(each.plan)
        self._views = ViewKeeper(
            min(cores_here(), work.plan.shards), settings.headroom, ready.declared, work.plan.network
        )
        gone = gone_views(ready.declared, work.plan.network)
        left_views(without(ready.declared, gone)).leave(self.checkpoint)
        self._optimizer = Optimizer(folder, automatic=settings.optimise and not frames)
        self._settlement = Settlement(folder, self._network_of, settings.policy, settings.headroom)
        self.notices = notices_of(work.sources)
        self._held, self._known = ExitStack(), ""
        self._spark_files = (
            SparkFiles(self.checkpoint / "spark") if work.durable and not is_remote(self.checkpoint) else None
        )
        self._ended = False
        for marker in (ENDED, STOPPED):
            remove(folder / marker)
        forget_links(self.checkpoint)
        control.refuse_commands(folder, "")
        control.switch(folder, work.version)
        control.refuse_commands(folder, self._no_commands())
        self._packed = PackedWork.of(work, folder)
        for each in works[:-1]:
            self._packed.add(each)
        session.sparkContext.setLogLevel("OFF")
        try:
            for source in work.sources.values():
                source.start()
            with query_settings(session, work.plan.shards, self.checkpoint):
                rows = self._rows(session, self._packed, settings)
                writer = rows.writeStream.queryName(f"arterial {work.plan.network.name} {work.run[:8]}")
                if settings.only_available:
                    writer = writer.trigger(availableNow=True)
                else:
                    writer = writer.trigger(processingTime=f"{round(settings.interval * 1000)} milliseconds")
                writer = writer.option("checkpointLocation", spark_name(folder.parent / "spark"))
                self._query = writer.foreachBatch(self._finish_step).start()
        except Exception as trouble:
            self._clear_memory()
            close_sources(work.sources, ended=False)
            self._error = as_run_error(trouble, self._folder)
            self._note_end()
            raise self._error from None

    def watch(self, held: ExitStack, known: str) -> None:
        """Begin to watch the query; `held` is given back at its end, `known` is what the user should know."""
        self._held, self._known = held, known
        self.notices = (known, *self.notices) if known else self.notices
        Thread(target=self._watch, name="arterial-watcher", daemon=True).start()

    @property
    def ended(self) -> bool:
        """Whether it came to the end of all sources."""
        return self._ended or (self._folder / ENDED).exists()

    @property
    def sinks(self) -> Mapping[str, Sink]:
        """The sinks of the outputs and connection points, by name."""
        return self._work.sinks

    @property
    def sources(self) -> Mapping[str, Source]:
        """The sources of our own, by name; not the frames of Spark."""
        return self._work.sources

    def stop(self, seconds: float = 60.0) -> None:
        """End it after the train at hand; after so many seconds, at once. It can be resumed either way."""
        if self.active and not self._frames:
            control.stop(self._folder)
            self._over.wait(seconds)
        if self.active:
            self._query.stop()
            self._over.wait(60.0)
        if self._error is not None:
            raise self._error

    def pause(self) -> None:
        """Stop between two trains."""
        self._needs_own_sources()
        control.pause(self._folder)

    def resume(self) -> None:
        """Go on."""
        control.resume(self._folder)

    def step(self, trains: int = 1) -> None:
        """Pause, if it was not, and go on by so many trains."""
        self._needs_own_sources()
        control.step(self._folder, trains)

    def replace(
        self,
        network: NetworkValue,
        sinks: Mapping[str, Sink] | None = None,
        *,
        history: Mapping[str, str] | None = None,
    ) -> int:
        """Let another version of the network run from the next train on; its number.

        It must have the same sources, no more shuffles, and its stateful boxes as they were; others may come and go. A
        new output needs a sink. What cannot be is refused, and the run goes on as it was.
        """
        self._needs_own_sources()
        with self._replacing:
            views = left_views(network)
            network = views.network
            plan = plan_run(network, self.plan.shards, self._work.sources)
            check_successor(self.plan, plan, self._levels)
            self._figures.check_queues(plan)
            given = sinks or {}
            version = next_version(self._version, network, given)
            unbound = {(name, version.number): sink for name, sink in given.items()}
            work = work_of(self._work, version, self._sinks.of(version, unbound), self._frames)
            self._begin_tables_again(network, history or {})
            views.leave(self.checkpoint)
            control.begin_with(self._folder, version.number, history or {})
            self._packed.add(work)
            fail_point("replace.packed")
            self._files.add(version, given)
            fail_point("replace.added")
            self._figures.follow(plan)
            self._works[version.number] = work
            self._version, self._work, self.plan = version, work, plan
            control.switch(self._folder, version.number)
            views.forget(self.checkpoint)
            fail_point("replace.switched")
            self._collect()
        return version.number

    def _first_step_of(self, version: int) -> int:
        """The first step that runs with the last version; 0 if it is not planned within a second."""
        patience = time.monotonic() + 1.0
        while time.monotonic() < patience:
            steps = [o["step"] for o in last_offsets(self.checkpoint / "spark") if o["version"] == version]
            if steps:
                return int(min(steps))
            time.sleep(0.05)
        return 0

    def _link_aside(self) -> str:
        with self._between, self._replacing:
            return link_aside(self.checkpoint)

    def _collect(self) -> None:
        """Let go of the versions that no step can need any more."""
        logged = [offset["version"] for offset in last_offsets(self.checkpoint / "spark")]
        oldest = min([*logged, self._version.number]) if logged else 0
        for number in [number for number in self._works if number < oldest]:
            del self._works[number]
            self._packed.remove(number)
        self._files.keep_only({*self._works, *self._settlement.versions})

    def _network_of(self, version: int) -> NetworkValue:
        """The network of a version that a step ran with, whose overflow is not settled yet."""
        work = self._works.get(version)
        return work.plan.network if work is not None else self._files.version(version).network

    def _steered(self) -> Path:
        self._needs_own_sources()
        return self._folder

    def _needs_own_sources(self) -> None:
        if why := self._no_commands():
            raise RunError(why)

    def _no_commands(self) -> str:
        """Why this run takes no commands; empty if it takes them."""
        if not self._frames:
            return ""
        return (
            f"the source {', '.join(self._frames)} is a DataFrame of Spark, which takes no commands; stop the run "
            "in its own process and start it again with the same checkpoint instead"
        )

    def _rows(self, session: SparkSession, work: PackedWork, settings: Settings) -> DataFrame:
        """The plan as a DataFrame: what the sources give, sent through all levels."""
        network = self.plan.network
        if self._frames:
            parts = [
                source.rows(name, network.streams[first_port(network, name)].schema, work)
                for name, source in self._frames.items()
            ]
            rows = reduce(lambda one, other: one.union(other), parts)
        else:
            rows = read_sources(session, work, self._folder, settings.train_size)
        return add_levels(rows, work, self._levels)

    def _finish_step(self, rows: DataFrame, number: int) -> None:
        """Run the step that Spark planned; a savepoint is taken before it or after."""
        with self._between:
            self._run_step(rows, number)

    def _run_step(self, rows: DataFrame, number: int) -> None:
        """Run a step, and take in what its tasks have to say."""
        if self._spark_files:
            self._spark_files.sync_logs()
        check_epoch(self._folder, self._work.run)
        fail_point("step.begun")
        framed = {
            name: (sink, work)
            for work in list(self._works.values())
            for name, sink in work.sinks.items()
            if isinstance(sink, FrameSink)
        }
        if framed:
            rows = rows.persist()
        try:
            reports, driven = self._take_reports(rows)
            for name, (target, work) in framed.items():
                schema = work.plan.network.streams[work.plan.network.arrival(name)].schema
                assert target.function is not None
                target.function(frame_of(rows, name, schema), number)
        finally:
            if framed:
                rows.unpersist()
            if self._memory:
                self._memory.empty()
        if not reports:
            # Spark runs a first step even for a source that is paused and gives nothing; it is none of ours.
            return
        if self._spark_files:
            self._spark_files.sync_state()
        check_epoch(self._folder, self._work.run)
        commit_step(list(self._sinks), self._works[reports[0]["version"]].plan, reports, driven, self._figures)
        self._optimise(reports[0]["version"], reports)

    def _take_reports(self, rows: DataFrame) -> tuple[list[Mapping[str, Any]], dict[str, float]]:
        """The reports of a step's tasks, and when the outputs that the driver writes were written."""
        framed = any(sink.to_frame for work in list(self._works.values()) for sink in work.sinks.values())
        reports = (rows.filter(f"substring(packed, 1, 4) = X'{REPORT.hex()}'") if framed else rows).collect()
        return take_reports((bytes(row.packed) for row in reports), self._works)

    def _watch(self) -> None:
        """Wait for the end of the query, or for the markers by which it says that it can be ended."""
        look = LOOK_SECONDS_FAR if is_remote(self._folder) else LOOK_SECONDS
        try:
            while not self._query.awaitTermination(look):  # type: ignore[arg-type]
                if any((self._folder / marker).exists() for marker in (ENDED, STOPPED)):
                    self._query.stop()
                    continue
                self._answer_requests(self._folder)
                self._settle_some()
                if (paused := self.paused) != (self.status.state == PAUSED):
                    self._figures.become(PAUSED if paused else RUNNING)
            self._ended = self.ended
            if self._spark_files:
                self._spark_files.sync_logs()
            if self._ended:
                check_epoch(self._folder, self._work.run)  # it may be another run that came to its end
                fail_point("end.reached")
                self._settlement.settle()
                for sink in self._sinks:
                    sink.finish()
                fail_point("end.sinks-finished")
        except Exception as trouble:
            self._error = as_run_error(trouble, self._folder)
            with suppress(Exception):
                self._query.stop()
        finally:
            self._clear_memory()
            said = close_sources(self._work.sources, ended=self._ended and self._error is None)
            known = (self._known,) if self._known else ()
            self.notices = (*known, *said, *self._late_notices())
            self._note_end()
            release(self._lock)
            self._held.close()
            self._remove_temporary()
            self._over.set()

    def _note_end(self) -> None:
        """Write down how it came to its end, unless the checkpoint is another run's by now."""
        if self._error is not None and (other := taken_over(self._folder, self._work.run)) is not None:
            self._error, self.taken_over = other, True
            self._figures.leave()
        super()._note_end()

    def _clear_memory(self) -> None:
        if self._memory:
            self._memory.remove()


def warm_up(network: NetworkValue, steps: int, *, shards: int = 0, spark: SparkSession | None = None) -> None:
    """Run a network on nothing for some steps, so that Spark's and the boxes' code is compiled before it counts."""
    sources: dict[str, Source] = {}
    for box in network.boxes:
        if not box.inputs:
            stream = network.streams[first_port(network, box.name)]
            sources[box.name] = MemorySource(Train(stream.schema.empty(), second) for second in range(steps))
    with tempfile.TemporaryDirectory(prefix="arterial-warm-up-") as folder:
        sinks: dict[str, Sink] = {name: MemorySink() for name in network.output_names}
        run(network, sources, sinks, folder, Settings(shards=shards), spark=spark).wait()
