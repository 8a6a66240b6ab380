"""What the driver does for a run around the tasks of its steps, whatever runs those: Spark, or a simulation of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from arterial.connectors.sink import Delivery, Sink
from arterial.connectors.source import Source
from arterial.engine.plan.plan import Plan
from arterial.engine.plan.successor import check_successor, owners
from arterial.engine.run.binding import bind_sources, plan_run
from arterial.engine.run.checkpoint.lock import NOT_DURABLE, cut_off, note_owner
from arterial.engine.run.checkpoint.manifest import (
    check_manifest,
    declared_boxes,
    declared_levels,
    describe_boxes,
    kept_shards,
)
from arterial.engine.run.checkpoint.rescale import Indexes, finish_rescaling, rescale
from arterial.engine.run.checkpoint.trusted import check_private
from arterial.engine.run.control.settlement import versions_with_overflow
from arterial.engine.run.figures.run_figures import RunFigures
from arterial.engine.run.settings import Settings
from arterial.engine.run.versions.version_files import VERSIONS, VersionFiles
from arterial.engine.run.versions.versions import FIRST, BoundSinks, Version, first_version, next_version
from arterial.engine.spark.logs.damage import check_logs
from arterial.engine.spark.logs.offset_log import last_offsets
from arterial.engine.spark.logs.spark_files import repair
from arterial.engine.spark.work import Work
from arterial.engine.steering.decisions import read_decision
from arterial.engine.transport.rows import REPORT, unpack_report
from arterial.engine.transport.tuples import unpack_tuples
from arterial.errors import RunError
from arterial.network.network import NetworkValue
from arterial.network.train import Train
from arterial.storage.epoch import take_over
from arterial.storage.fail_point import fail_point


def take_up(lock: IO[str], folder: Path, spark: int | None, *, durable: bool) -> str:
    """Look how the run before this one ended, and write down that this one has the lock; what the user should know."""
    was_durable = cut_off(lock)
    if was_durable:
        repair(folder.parent / "spark")
    note_owner(lock, spark, durable=durable)
    return "" if was_durable is not False else NOT_DURABLE


@dataclass(frozen=True)
class Ready:
    """What a run begins with: the work of every version of the network that a step may need, the last one last."""

    works: tuple[Work, ...]
    version: Version
    declared: NetworkValue
    """The network as it was given; the one that runs may be another by now."""
    files: VersionFiles
    sinks: BoundSinks
    levels: int


def make_ready(
    network: NetworkValue,
    sources: Mapping[str, Any],
    sinks: Mapping[str, Sink],
    folder: Path,
    settings: Settings,
    cores: int,
    indexes: Indexes | None = None,
) -> Ready:
    """Bind everything that stands behind a network, and check the checkpoint, which is locked.

    `indexes` reads the state in Spark's part of it: with that a run may go on with another number of shards.
    """
    run = uuid.uuid4().hex
    take_over(folder, run)
    fail_point("start.taken-over")
    own = bind_sources(network, sources, folder)
    frames = [name for name, source in sources.items() if not isinstance(source, Source)]
    finish_rescaling(folder)
    check_logs(folder.parent / "spark")
    check_private(folder)
    files = VersionFiles(folder)
    # Where the user gives no number, a run that goes on keeps its own: the cores may be others by now.
    before = kept_shards(folder)
    plan = plan_run(network, settings.shards or before or cores, own, frames)
    if before and files and indexes and plan.shards != before:
        last = files.version(files.last)
        running = plan_run(last.network, plan.shards, own, frames)
        rescale(folder, run, running, owners(running, last.born), before, indexes)
    if settings.successor and files:
        _let_succeed(files, plan, sinks, folder, own, frames)
    made = check_manifest(folder, plan, files.version(files.last).network if files else None)
    fail_point("start.manifest")
    versions, given = _versions(files, network, sinks, folder, declared=made.declared)
    unbound = {**_kept_sinks(files, versions, given), **given}
    work, bound = Work(run, plan, own, {}, settings.policy, str(folder), durable=settings.durable), BoundSinks(folder)
    works = tuple(work_of(work, version, bound.of(version, unbound), frames) for version in versions)
    fail_point("start.bound")
    return Ready(works, versions[-1], network, files, bound, made.levels)


def work_of(work: Work, version: Version, sinks: Mapping[str, Sink], frames: Iterable[str]) -> Work:
    """The work of a version, for tasks; `work` is that of another."""
    plan = plan_run(version.network, work.plan.shards, work.sources, frames)
    return replace(work, version=version.number, plan=plan, sinks=sinks, born=version.born)


def _let_succeed(
    files: VersionFiles,
    plan: Plan,
    sinks: Mapping[str, Sink],
    folder: Path,
    sources: Mapping[str, Source],
    frames: Iterable[str],
) -> None:
    """Make another network the next version of a run that is stopped, or refuse with the reason."""
    last, network = files.version(files.last), plan.network
    if describe_boxes(network) in (describe_boxes(last.network), declared_boxes(folder)):
        return
    before = plan_run(last.network, plan.shards, sources, frames)
    check_successor(before, plan, declared_levels(folder))
    if held := read_decision(folder).held:
        arc, waiting = next(iter(held.items()))
        raise RunError(
            f"network {network.name!r}: {waiting:,} tuples wait on the arc {arc} of the version that stopped; start "
            "that one, let them through, and stop it again"
        )
    there = last.network.delivering
    fresh = {
        name: sink
        for name, sink in sinks.items()
        if name not in there or last.network.box(name).fed_by != network.box(name).fed_by
    }
    files.add(next_version(last, network, fresh), {})


def _versions(
    files: VersionFiles, network: NetworkValue, sinks: Mapping[str, Sink], folder: Path, *, declared: bool
) -> tuple[list[Version], dict[tuple[str, int], Sink]]:
    """The versions that a step may still need, the last one last, and the given sinks by the version they are of.

    `network` is the declared one, or the one that runs. It stands for itself, not for what is kept of it, and its sinks
    are those that are given now. Versions that nothing needs are let go.
    """
    logged = {offset["version"] for offset in last_offsets(folder.parent / "spark")}
    if not files:
        if logged:
            raise RunError(
                f"the checkpoint is damaged: {folder / VERSIONS} is missing. Restore it from a copy, or begin from the "
                "start (--force, or a new folder as checkpoint)."
            )
        files.add(first_version(network, sinks), sinks)
    wanted = sorted(logged | {files.last})
    files.keep_only({*wanted, *versions_with_overflow(folder)})
    versions, mine = [files.version(number) for number in wanted], describe_boxes(network)
    last = versions[-1]
    of = {name: FIRST if declared else last.sinks.get(name, last.number) for name in network.delivering}
    ready = []
    for version in versions:
        named = {name: version.sinks.get(name, of.get(name)) for name in version.network.delivering}
        with_sink = {n: v for n, v in named.items() if v is not None and (v != of.get(n) or n in sinks)}
        same = describe_boxes(version.network) == mine
        ready.append(replace(version, network=network if same else version.network, sinks=with_sink))
    return ready, {(name, of[name]): sink for name, sink in sinks.items()}


def _kept_sinks(
    files: VersionFiles, versions: list[Version], given: Mapping[tuple[str, int], Sink]
) -> dict[tuple[str, int], Sink]:
    """The sinks that came with replacements; those of the command need no pickle, as it gives them each time."""
    missing = {n for version in versions for name, n in version.sinks.items() if (name, n) not in given}
    return {key: sink for number in missing for key, sink in files.sinks(number).items()}


def take_reports(rows: Iterable[bytes], works: Mapping[int, Work]) -> tuple[list[Mapping[str, Any]], dict[str, float]]:
    """What the tasks of a step report; what they send for sinks on the driver is given to those, and when it was."""
    reports: list[Mapping[str, Any]] = []
    driven: dict[str, float] = {}
    for packed in rows:
        assert packed[:4] == REPORT, "a shipment missed its level"
        said, payload = unpack_report(packed)
        if "deliver" in said:
            name, work = said["deliver"], works[said["version"]]
            schema = work.plan.network.streams[work.plan.network.arrival(name)].schema
            train = Train(unpack_tuples(payload, schema), said["through"])
            work.sinks[name].write(Delivery(name, said["step"], said["slot"], train))
            driven[name] = time.time()
        else:
            for name, receipt in said.get("wrote", {}).items():
                works[said["version"]].sinks[name].receive(said["step"], receipt)
            reports.append(said)
    return reports, driven


def commit_step(
    sinks: Iterable[Sink],
    plan: Plan,
    reports: list[Mapping[str, Any]],
    driven: Mapping[str, float],
    figures: RunFigures,
) -> None:
    """All tasks of a step are done: let the sinks commit it, and count it. Spark commits it then.

    The step may have been planned before another version of the network took over: the sinks of both commit it.
    """
    fail_point("step.tasks-done")
    for sink in sinks:
        sink.commit(reports[0]["step"])
    fail_point("step.sinks-committed")
    figures.add_step(plan, reports, driven)
    fail_point("step.counted")
