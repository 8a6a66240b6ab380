"""Runs a network on Spark: one streaming query from all sources through all levels (decision 2), until its end."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.sinks.memory import MemorySink
from arterial.connectors.source import Source
from arterial.engine.run.binding import (
    bind_sinks,
    bind_sources,
    check_bindings,
    close_sources,
    first_port,
    notices_of,
    plan_run,
)
from arterial.engine.run.folder import FOLDER, make_folder, remove_unless_needed
from arterial.engine.run.life import Run
from arterial.engine.run.lock import lock_checkpoint, note_owner
from arterial.engine.run.manifest import Made, check_manifest, write_manifest
from arterial.engine.run.settings import Settings
from arterial.engine.run.states import PAUSED, RUNNING
from arterial.engine.run.statistics import Statistics
from arterial.engine.run.status import RUN_FILE, StatusFile
from arterial.engine.run.versions import check_successor, keep_network, kept_networks, offer
from arterial.engine.spark.damage import check_logs
from arterial.engine.spark.errors import as_run_error
from arterial.engine.spark.frame_sink import FrameSink, frame_of
from arterial.engine.spark.frame_source import FrameSource
from arterial.engine.spark.levels import add_levels
from arterial.engine.spark.packed_work import PackedWork
from arterial.engine.spark.session import query_settings, spark_session
from arterial.engine.spark.source import read_sources
from arterial.engine.spark.task import fed_by
from arterial.engine.spark.work import Work
from arterial.engine.steering import control
from arterial.engine.steering.offsets import ENDED, STOPPED
from arterial.engine.transport.rows import REPORT, unpack_report
from arterial.engine.transport.tuples import unpack_tuples
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.network.train import Train
from arterial.storage.place import remove
from arterial.storage.shared_memory import MemoryFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FOLDER", "Run", "Settings", "SparkRun", "run", "warm_up"]


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
    folder = make_folder(checkpoint)
    lock = lock_checkpoint(folder)
    try:
        session = spark or spark_session(f"arterial {network.name}")
        note_owner(lock, getattr(getattr(session.sparkContext._gateway, "proc", None), "pid", None))
        own = bind_sources(network, sources, folder)
        frames = {name: source for name, source in sources.items() if isinstance(source, FrameSource)}
        plan = plan_run(network, settings.shards or int(session.sparkContext.defaultParallelism), own, frames)
        check_logs(folder.parent / "spark")
        made = check_manifest(folder, plan)
        keep_network(folder, made.version, network)
        ready = bind_sinks(network, sinks, folder)
        rejects, chunks = str(folder / "rejects"), str(folder / "chunks")
        work = Work(uuid.uuid4().hex, plan, own, ready, settings.policy, rejects, chunks, made.version)
        return SparkRun(work, made.levels, frames, folder, settings, session, lock, temporary)
    except OSError as trouble:
        lock.close()
        raise as_run_error(trouble, folder) from None
    except BaseException:
        lock.close()
        raise


class SparkRun(Run):
    """A network that runs on Spark."""

    def __init__(
        self,
        work: Work,
        levels: int,
        frames: Mapping[str, FrameSource],
        folder: Path,
        settings: Settings,
        session: SparkSession,
        lock: IO[str],
        temporary: bool = False,
    ) -> None:
        super().__init__()
        self._temporary = temporary
        self.plan, self.statistics, self.checkpoint = work.plan, Statistics(work.plan), folder.parent
        on_one_machine = str(session.sparkContext.master).startswith("local")
        self._memory = MemoryFolder.make("shipments") if on_one_machine else None
        if self._memory:
            work = replace(work, memory=str(self._memory.path))
        self._folder, self._work, self._frames, self._lock = folder, work, frames, lock
        self._levels, self._works = levels, {work.version: work}
        self.notices = notices_of(work.sources)
        self._ended = False
        self._status = StatusFile(work.plan, None if temporary else self.checkpoint / RUN_FILE)
        for marker in (ENDED, STOPPED):
            remove(folder / marker)
        control.switch(folder, work.version)
        self._packed = PackedWork.of(work, folder)
        for version, network in kept_networks(folder).items():
            if version != work.version:
                plan = plan_run(network, work.plan.shards, work.sources, frames)
                self._works[version] = offer(self._packed, work, version, plan, work.sinks)
        session.sparkContext.setLogLevel("OFF")
        self._step_began = time.perf_counter()
        try:
            for source in work.sources.values():
                source.start()
            with query_settings(session, work.plan.shards):
                rows = self._rows(session, self._packed, settings)
                writer = rows.writeStream.queryName(f"arterial {work.plan.network.name} {work.run[:8]}")
                if settings.only_available:
                    writer = writer.trigger(availableNow=True)
                else:
                    writer = writer.trigger(processingTime=f"{round(settings.interval * 1000)} milliseconds")
                writer = writer.option("checkpointLocation", str(folder.parent / "spark"))
                self._query = writer.foreachBatch(self._finish_step).start()
        except Exception as trouble:
            self._clear_memory()
            close_sources(work.sources, ended=False)
            self._error = as_run_error(trouble, self._folder)
            self._note_end()
            raise self._error from None
        Thread(target=self._watch, name="arterial-watcher", daemon=True).start()

    @property
    def ended(self) -> bool:
        """Whether it came to the end of all sources."""
        return self._ended or (self._folder / ENDED).exists()

    @property
    def paused(self) -> bool:
        """Whether it waits between two trains for a command."""
        return self.active and control.read_control(self._folder).paused

    @property
    def sinks(self) -> Mapping[str, Sink]:
        """The sinks of the outputs and connection points, by name."""
        return self._work.sinks

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

    def replace(self, network: NetworkValue, sinks: Mapping[str, Sink] | None = None) -> int:
        """Let another version of the network run from the next train on; its number.

        It must have the same sources, no more shuffles, and its stateful boxes as they were; others may come and go.
        """
        self._needs_own_sources()
        plan = plan_run(network, self.plan.shards, self._work.sources)
        check_successor(self.plan, plan, self._levels)
        version = self._work.version + 1
        outputs = {box.name for box in network.boxes}
        kept = {name: sink for name, sink in self._work.sinks.items() if name in outputs}
        ready = {**bind_sinks(network, sinks or {}, self._folder), **kept}
        work = offer(self._packed, self._work, version, plan, ready)
        keep_network(self._folder, version, network)
        self.statistics.follow(plan)
        self._work = self._works[version] = work
        self.plan = plan
        write_manifest(self._folder, plan, Made(version, self._levels))
        control.switch(self._folder, version)
        return version

    def _needs_own_sources(self) -> None:
        if self._frames:
            raise RunError(
                f"the source {', '.join(self._frames)} is a DataFrame of Spark, which takes no pause; stop the run and "
                "start it again with the same checkpoint instead"
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
        """Run the step that Spark planned, and take in what its tasks have to say."""
        framed = {name: sink for name, sink in self._work.sinks.items() if isinstance(sink, FrameSink)}
        if framed:
            rows = rows.persist()
        try:
            reports = self._take_reports(rows)
            for name, sink in framed.items():
                schema = self.plan.network.streams[fed_by(self._work, name)].schema
                assert sink.function is not None
                sink.function(frame_of(rows, name, schema), number)
        finally:
            if framed:
                rows.unpersist()
            if self._memory:
                self._memory.empty()
        if not reports:
            # Spark runs a first step even for a source that is paused and gives nothing; it is none of ours.
            return
        # A step may have been planned before another version of the network took over: its sinks commit it too.
        sinks = [sink for work in list(self._works.values()) for sink in work.sinks.values()]
        for each in {id(sink): sink for sink in sinks}.values():
            each.commit(reports[0]["step"])
        now = time.perf_counter()
        self._status.add_step(self.plan, reports)
        self.statistics.add_step(reports, now - self._step_began)
        self._step_began = now

    def _take_reports(self, rows: DataFrame) -> list[Mapping[str, Any]]:
        reports: list[Mapping[str, Any]] = []
        framed = any(sink.to_frame for sink in self._work.sinks.values())
        for row in (rows.filter(f"substring(packed, 1, 4) = X'{REPORT.hex()}'") if framed else rows).collect():
            packed = bytes(row.packed)
            assert packed[:4] == REPORT, "a shipment missed its level"
            said, payload = unpack_report(packed)
            if "deliver" in said:
                name, work = said["deliver"], self._works[said["version"]]
                schema = work.plan.network.streams[fed_by(work, name)].schema
                train = Train(unpack_tuples(payload, schema), said["through"])
                work.sinks[name].write(Delivery(name, said["step"], said["slot"], train))
            else:
                reports.append(said)
        return reports

    def _watch(self) -> None:
        """Wait for the end of the query, or for the markers by which it says that it can be ended."""
        try:
            while not self._query.awaitTermination(0.05):  # type: ignore[arg-type]
                if any((self._folder / marker).exists() for marker in (ENDED, STOPPED)):
                    self._query.stop()
                elif (paused := self.paused) != (self._status.status.state == PAUSED):
                    self._status.become(PAUSED if paused else RUNNING)
            self._ended = self.ended
            if self._ended:
                for sink in self._work.sinks.values():
                    sink.finish()
        except Exception as trouble:
            self._error = as_run_error(trouble, self._folder)
            with suppress(Exception):
                self._query.stop()
        finally:
            self._clear_memory()
            self.notices = close_sources(self._work.sources, ended=self._ended and self._error is None)
            self._note_end()
            self._lock.close()
            if self._temporary:
                remove_unless_needed(self._folder)
            self._over.set()

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
        sinks: dict[str, Sink] = {box.name: MemorySink() for box in network.boxes if not box.outputs}
        run(network, sources, sinks, folder, Settings(shards=shards), spark=spark).wait()
