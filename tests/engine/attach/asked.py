"""A small city that runs in this process, for queries to be attached to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import polars as pl

from arterial import Network
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.source import Ask, Progress
from arterial.engine.run.local import LocalRun, run_locally
from arterial.engine.run.settings import Settings
from arterial.network.train import END, Train

SECONDS = 120


def city(**views: str) -> Network:
    """Reports, kept for an hour by segment; views of the slow ones as they are named."""
    net = Network("city")
    reports = net.source("reports", {"time": int, "vid": int, "seg": "int16", "speed": int})
    kept = reports.connection_point("kept", "1 hour", ["seg"])
    kept.filter("slow", "speed < 30").output("alerts")
    for name, materialise in views.items():
        slow = kept.filter(f"{name}_slow", "speed < 50").group_by("seg", name=f"{name}_by_seg")
        slow.tumble(f"{name}_counts", n="count(*)", every=10).view(name, materialise)
    return net


def reports(seconds: int = SECONDS) -> pl.DataFrame:
    """Ten reports a second."""
    order = pl.int_range(seconds * 10, eager=True)
    return pl.DataFrame(
        {
            "time": order // 10,
            "vid": (order * 7919) % 101,
            "seg": ((order * 31) % 20).cast(pl.Int16),
            "speed": (order * 17) % 97,
        }
    )


def trains(seconds: int = SECONDS, every: int = 3) -> list[Train]:
    """Trains of some seconds each, the last with the end."""
    tuples = reports(seconds)
    cut = []
    for begin in range(0, seconds, every):
        through = begin + every - 1
        part = tuples.filter(pl.col("time").is_between(begin, through))
        cut.append(Train(part, through if begin + every < seconds else END))
    return cut


class Gated(MemorySource):
    """Gives so many trains, and more when it is let."""

    def __init__(self, cut: list[Train], first: int) -> None:
        super().__init__(cut)
        self.may = first
        self.all = Event()

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """The next train, if it may be given."""
        if before.position["train"] >= self.may and not self.all.is_set():
            return before
        return super().plan(before, ask)


def running(folder: Path, first: int, net: Network | None = None, seconds: int = SECONDS) -> tuple[LocalRun, Gated]:
    """A run that waits after some trains."""
    source = Gated(trains(seconds), first)
    run = run_locally((net or city()).value, {"reports": source}, {}, folder, Settings(shards=2))
    return run, source


def finished(folder: Path, net: Network | None = None, tuples: pl.DataFrame | None = None) -> LocalRun:
    """A run that is over, on these tuples or the city's reports."""
    given = trains() if tuples is None else [Train(tuples, END)]
    run = run_locally((net or city()).value, {"reports": MemorySource(given)}, {}, folder, Settings(shards=2))
    assert run.wait(60)
    return run


def until(pieces: Iterator[object], through: int) -> list[object]:
    """The pieces of an answer up to a time."""
    found = []
    for piece in pieces:
        found.append(piece)
        if piece.through >= through:  # type: ignore[attr-defined]
            break
    return found
