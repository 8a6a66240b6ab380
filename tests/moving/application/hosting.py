"""A run of the application without Spark: the same network, feeds and sink on the engine's in-process host."""

from __future__ import annotations

from pathlib import Path

from arterial.connectors.pace import MAX, Pace
from arterial.connectors.sink import Delivery
from arterial.connectors.source import Part, Progress
from arterial.engine.host.inprocess import InProcess
from arterial.engine.steering.offsets import plan_step
from arterial.moving.application.feed import EventFeed
from arterial.moving.application.merging import merged
from arterial.moving.application.network import UPDATES, QueryOptions, moving_network
from arterial.moving.application.prepare import OBJECTS, QUERIES, Prepared, prepare
from arterial.moving.application.update_sink import UpdateSink
from arterial.network.keys.slots import pieces
from arterial.network.train import END, Train
from arterial.storage.appended import AppendedFiles


def run_in_process(
    events: Path,
    out: Path,
    work: Path,
    options: QueryOptions,
    *,
    train_size: int,
    restart_every: int = 3,
    shards: int = 1,
) -> Prepared:
    """Run a file; every few steps only the state's chunks, the journal and the positions survive."""
    rejects = out.with_name(out.name + ".rejects.csv")
    ready = prepare(events, work / "events", rejects=rejects, space=options.space, timeout=options.timeout)
    pace = Pace(0, MAX, ready.ticks)
    feeds = {which: EventFeed(ready, which, pace) for which in (OBJECTS, QUERIES)}
    network = moving_network(ready, options, spread=shards > 1)
    host = InProcess(network, shards=shards, ordered_sources=feeds)
    sink = opened_sink(out, work, pace, spread=shards > 1)
    at = {name: feed.begin() for name, feed in feeds.items()}
    step = 0
    while any(progress.through != END for progress in at.values()):
        after: dict[str, Progress] = plan_step(feeds, at, train_size, 0.0)
        trains = {n: Train(feed.read(at[n], after[n], Part(0, 1)), after[n].through) for n, feed in feeds.items()}
        levels = host.step_by_slot(
            {n: [[Train(part, train.through)] for part in pieces(train.tuples, shards)] for n, train in trains.items()}
        )
        for _ in range(2):  # a step may be run again
            for slot, outcome in enumerate(levels[-1]):
                if UPDATES in outcome.deliveries:
                    sink.write(Delivery(UPDATES, step, slot, outcome.deliveries[UPDATES]))
            sink.commit(step)
        if step % restart_every == 0:
            host.restart()
            with out.open("ab") as torn:
                torn.write(b"half a li")
            sink = opened_sink(out, work, pace, spread=shards > 1)
        at, step = after, step + 1
    return ready


def opened_sink(out: Path, work: Path, pace: Pace, *, spread: bool = False) -> UpdateSink:
    """The sink of the updates, as at the start of a run."""
    sink = UpdateSink(AppendedFiles({"0": out}, work / "parts", merged), pace=pace, spread=spread)
    sink.files.open(work)
    return sink
