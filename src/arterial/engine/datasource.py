"""The sources of a network as one Python data source of Spark; its offset carries positions and control."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from arterial.engine.control import Control, apply, read_control
from arterial.engine.sources.source import Ask, Part, Progress
from arterial.engine.task import Step, errors_for_the_driver, run_head
from arterial.engine.work import ROW_SCHEMA, PackedWork, Work
from arterial.network.train import END, Train

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Offset = dict[str, Any]

_ROWS = pa.schema([("slot", pa.int32()), ("packed", pa.binary())])


ENDED, STOPPED = "ended", "stopped"
"""Marker files: all is read and done; the run was asked to stop and did, between two steps."""


def read_sources(spark: SparkSession, work: PackedWork, folder: Path, train_size: int) -> DataFrame:
    """The packed trains of all sources, already sent through the head of the plan."""
    name = f"arterial_{work.digest[:16]}"
    stops = read_control(folder).stop

    class RunSource(DataSource):
        """Made here so that it carries the run with it."""

        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return ROW_SCHEMA

        def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
            return Reader(work, folder, train_size, stops)

    spark.dataSource.register(RunSource)
    return spark.readStream.format(name).load()


class Reader(DataSourceStreamReader):
    """Plans steps on the driver and reads them in tasks."""

    def __init__(self, work: PackedWork, folder: Path, train_size: int, stops: int) -> None:
        self._work, self._folder, self._train_size, self._stops = work, folder, train_size, stops

    def initialOffset(self) -> Offset:  # noqa: N802
        """Where all sources begin."""
        with errors_for_the_driver():
            begins = {name: source.begin() for name, source in self._work.load().sources.items()}
            return _offset(0, begins, 0, read_control(self._folder))

    def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802
        """How far the next step goes; the same offset again if there is nothing to do or the run is paused."""
        with errors_for_the_driver():
            control = read_control(self._folder)
            goes_on, used = apply(control, start["steps used"])
            before = _progress(start)
            # Spark asks for the next step only when the one before is committed.
            if is_at_end(start):
                _mark(self._folder / ENDED)
            elif control.stop > self._stops:
                _mark(self._folder / STOPPED)
            if is_at_end(start) or control.stop > self._stops or not goes_on:
                return start
            after = plan_step(self._work.load(control.version), before, self._train_size, time.time())
            if after == before:
                return start
            return _offset(start["step"] + 1, after, used, control, self._waiting(after))

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """One task for each slot."""
        shards = self._work.load().plan.shards
        return [] if start == end else [InputPartition((slot, start, end)) for slot in range(shards)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a slot's part of all sources and send it through the head."""
        slot, start, end = partition.value
        with errors_for_the_driver():
            work = self._work.load(end["version"])
            trains = read_step(work, _progress(start), _progress(end), slot)
            rows = run_head(work, Step(end["step"], slot, end["born"]), trains, end["waiting"])
            yield pa.RecordBatch.from_arrays(
                [pa.array([to for to, _ in rows], pa.int32()), pa.array([packed for _, packed in rows], pa.binary())],
                schema=_ROWS,
            )

    def _waiting(self, after: Mapping[str, Progress]) -> dict[str, int | None]:
        now = time.time()
        return {name: source.waiting(after[name], now) for name, source in self._work.load().sources.items()}

    def commit(self, end: Offset) -> None:
        """Nothing to clean up: positions are in the offset."""


def plan_step(work: Work, before: Mapping[str, Progress], train_size: int, now: float) -> dict[str, Progress]:
    """How far each source goes in the next step, so that none runs ahead of another in time."""
    size = max(1, train_size // max(1, len(work.sources)))
    after = {name: source.plan(before[name], Ask(now, size)) for name, source in work.sources.items()}
    moved = [progress.through for name, progress in after.items() if progress != before[name]]
    if len(work.sources) < 2 or not moved:
        return after
    until = min(moved)
    for name, progress in after.items():
        if progress.through > until and progress != before[name]:
            after[name] = work.sources[name].plan(before[name], Ask(now, size, until))
    return after


def read_step(work: Work, before: Mapping[str, Progress], after: Mapping[str, Progress], slot: int) -> dict[str, Train]:
    """What a slot reads of each source between two positions."""
    trains = {}
    for name, source in work.sources.items():
        key = work.plan.source_keys[name] if name in work.plan.split_sources else None
        tuples = source.read(before[name], after[name], Part(slot, work.plan.shards, key))
        trains[name] = Train(tuples, after[name].through)
    return trains


def is_at_end(offset: Offset) -> bool:
    """Whether all sources of an offset are at their end."""
    return all(source["through"] == END for source in offset["sources"].values())


def _mark(path: Path) -> None:
    if not path.exists():
        path.touch()


def _offset(
    step: int,
    sources: Mapping[str, Progress],
    used_steps: int,
    control: Control,
    waiting: Mapping[str, int | None] | None = None,
) -> Offset:
    return {
        "step": step,
        "born": time.time(),
        "steps used": used_steps,
        "version": control.version,
        "waiting": dict(waiting or {}),
        "sources": {name: {"at": p.position, "through": p.through} for name, p in sources.items()},
    }


def _progress(offset: Offset) -> dict[str, Progress]:
    return {name: Progress(source["at"], source["through"]) for name, source in offset["sources"].items()}
