"""Runs a network on Spark: one streaming query, its checkpoint, its end, its errors."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from arterial.engine import control
from arterial.engine.compile import compile_network
from arterial.engine.datasource import ENDED, STOPPED, read_sources
from arterial.engine.failures import FAIL, POLICIES
from arterial.engine.manifest import check_manifest
from arterial.engine.packing import NOTE, unpack_note, unpack_tuples
from arterial.engine.plan import Plan
from arterial.engine.session import spark_session
from arterial.engine.sinks.sink import Delivery, Sink
from arterial.engine.sources.source import Source
from arterial.engine.statistics import Statistics
from arterial.engine.step import add_levels
from arterial.engine.task import fed_by
from arterial.engine.troubles import as_run_error
from arterial.engine.work import PackedWork, Work
from arterial.errors import ArterialError, RunError
from arterial.network.network import NetworkValue
from arterial.network.train import Train

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRAIN_SIZE = 500_000
FOLDER = "arterial"


@dataclass(frozen=True)
class Settings:
    """How a network is run."""

    shards: int = 0
    """How many shards; 0 means as many as Spark has cores. A checkpoint keeps the number it began with."""
    train_size: int = TRAIN_SIZE
    """About so many tuples of all sources together make a train, if so many wait."""
    policy: str = FAIL
    """What happens when a box fails on a tuple: `fail`, or `set aside`."""
    interval: float = 0.0
    """Seconds from the beginning of one step to that of the next, at least."""


def run(
    network: NetworkValue,
    sources: Mapping[str, Source],
    sinks: Mapping[str, Sink],
    checkpoint: str | Path,
    settings: Settings | None = None,
    *,
    spark: SparkSession | None = None,
    after_step: Callable[[int], None] | None = None,
) -> Run:
    """Start a network, or go on from its checkpoint.

    `sources` and `sinks` give every source and output of the network, by name, what stands behind it. `after_step` is
    called on the driver when all slots are done with a step and before Spark commits it: maybe twice for a step.
    """
    settings = settings or Settings()
    _check(network, sources, sinks, settings)
    session = spark or spark_session(f"arterial {network.name}")
    folder = _make_folder(Path(checkpoint).absolute())
    shards = settings.shards or int(session.sparkContext.defaultParallelism)
    bound = {
        box.name: sources[box.name].bind(box.name, *_entry(network, box.name), folder)
        for box in network.boxes
        if not box.inputs
    }
    plan = _plan(network, shards, bound)
    check_manifest(folder, plan)
    ready = {name: sink.bind(name, network.streams[_begin(network, name)]) for name, sink in sinks.items()}
    work = Work(uuid.uuid4().hex, plan, bound, ready, settings.policy, str(folder / "rejects"))
    return Run(work, folder, settings, session, after_step)


class Run:
    """A running network."""

    def __init__(
        self,
        work: Work,
        folder: Path,
        settings: Settings,
        session: SparkSession,
        after_step: Callable[[int], None] | None = None,
    ) -> None:
        self._after_step = after_step
        self.plan, self.statistics = work.plan, Statistics(work.plan)
        self.checkpoint, self._folder, self._work, self._session = folder.parent, folder, work, session
        self._over = Event()
        self._error: ArterialError | None = None
        for marker in (ENDED, STOPPED):
            (folder / marker).unlink(missing_ok=True)
        packed = PackedWork.of(work)
        session.sparkContext.setLogLevel("OFF")
        shuffle = str(session.conf.get("spark.sql.shuffle.partitions"))
        session.conf.set("spark.sql.shuffle.partitions", str(work.plan.shards))
        try:
            rows = read_sources(session, packed, folder, settings.train_size)
            rows = add_levels(rows, packed, len(work.plan.levels))
            self._query = (
                rows.writeStream.queryName(f"arterial {work.plan.network.name} {work.run[:8]}")
                .option("checkpointLocation", str(folder.parent / "spark"))
                .trigger(processingTime=f"{round(settings.interval * 1000)} milliseconds")
                .foreachBatch(self._finish_step)
                .start()
            )
        except Exception as trouble:
            raise as_run_error(trouble, self._folder) from None
        finally:
            session.conf.set("spark.sql.shuffle.partitions", shuffle)
        self._step_began = time.perf_counter()
        self._watcher = Thread(target=self._watch, name="arterial-watcher", daemon=True)
        self._watcher.start()

    @property
    def active(self) -> bool:
        """Whether it still runs."""
        return not self._over.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is over; whether it is. Raises what ended it, if that was an error."""
        over = self._over.wait(seconds)
        if over and self._error is not None:
            raise self._error
        return over

    def stop(self, seconds: float = 60.0) -> None:
        """End it after the train at hand; after so many seconds, at once. It can be resumed either way."""
        if self.active:
            control.stop(self._folder)
            if not self._over.wait(seconds):
                self._query.stop()
                self._over.wait(seconds)
        if self._error is not None:
            raise self._error

    def pause(self) -> None:
        """Stop between two trains."""
        control.pause(self._folder)

    def resume(self) -> None:
        """Go on."""
        control.resume(self._folder)

    def step(self, trains: int = 1) -> None:
        """Let a paused run go on by so many trains."""
        control.step(self._folder, trains)

    def _finish_step(self, rows: DataFrame, step: int) -> None:
        """Run the step that Spark planned, and take in what its tasks have to say."""
        receipts: list[Mapping[str, Any]] = []
        for row in rows.select("packed").collect():
            packed = bytes(row.packed)
            assert packed[:4] == NOTE, "a consignment missed its level"
            said, payload = unpack_note(packed)
            if "deliver" in said:
                name = said["deliver"]
                schema = self.plan.network.streams[fed_by(self._work, name)].schema
                train = Train(unpack_tuples(payload, schema), said["through"])
                self._work.sinks[name].write(Delivery(name, said["step"], said["slot"], train))
            else:
                receipts.append(said)
        if self._after_step and receipts:
            self._after_step(receipts[0]["step"])
        now = time.perf_counter()
        self.statistics.add_step(receipts, now - self._step_began)
        self._step_began = now

    def _watch(self) -> None:
        """Wait for the end of the query, or for the markers by which it says that it can be ended."""
        try:
            while not self._query.awaitTermination(0.02):  # type: ignore[arg-type]
                if any((self._folder / marker).exists() for marker in (ENDED, STOPPED)):
                    self._query.stop()
            if (self._folder / ENDED).exists():
                for sink in self._work.sinks.values():
                    sink.finish()
        except Exception as trouble:
            self._error = as_run_error(trouble, self._folder)
        finally:
            self._over.set()


def _check(network: NetworkValue, sources: Mapping[str, Any], sinks: Mapping[str, Any], settings: Settings) -> None:
    enter = [box.name for box in network.boxes if not box.inputs]
    leave = [box.name for box in network.boxes if not box.outputs]
    for what, names, given in (("source", enter, sources), ("output", leave, sinks)):
        if what == "source" and (missing := set(names) - set(given)):
            raise RunError(f"network {network.name!r}: nothing given for the {what} {', '.join(sorted(missing))}")
        points = {box.name for box in network.boxes if box.kind == "connection_point"}
        if unknown := set(given) - set(names) - points:
            raise RunError(
                f"network {network.name!r} has no {what} {', '.join(sorted(unknown))}; it has: {', '.join(names)}"
            )
    if settings.policy not in POLICIES:
        raise RunError(f"the policy is {settings.policy!r}; expected one of: {', '.join(POLICIES)}")
    if settings.train_size < 1:
        raise RunError(f"the train size is {settings.train_size}; expected at least 1 tuple")


def _plan(network: NetworkValue, shards: int, sources: Mapping[str, Source]) -> Plan:
    waits = [name for name, source in sources.items() if not source.ordered]
    plan = compile_network(network, shards, in_arrival_order=waits)
    splits = [name for name, key in plan.source_keys.items() if sources[name].splits_by(key)]
    return compile_network(network, shards, in_arrival_order=waits, split_sources=splits) if splits else plan


def _entry(network: NetworkValue, source: str) -> tuple[Any, str]:
    box = network.box(source)
    stream = next(stream for port, stream in network.streams.items() if port.box == source and port.port == box.outputs[0])
    return stream.schema, stream.time


def _begin(network: NetworkValue, box: str) -> Any:
    return next(iter(network.arrivals(network.box(box)).values()))


def _make_folder(checkpoint: Path) -> Path:
    folder = checkpoint / FOLDER
    try:
        (folder / "rejects").mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{uuid.uuid4().hex}"
        probe.touch()
        probe.unlink()
    except OSError as trouble:
        raise RunError(
            f"cannot keep a checkpoint in {checkpoint}: {trouble.strerror}. Give a folder that can be written to."
        ) from None
    return folder
