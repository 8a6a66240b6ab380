"""Runs the network of Linear Road in this process, on events cut into trains at any seconds."""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from arterial.engine.host.inprocess import InProcess
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.reference import Expected, SegmentRow, TollRow
from arterial.linearroad.semantics.profiles import Profile
from arterial.network.train import END, Train
from arterial.testing import compare_state


def stream_answers(
    events: pa.Table,
    profile: Profile,
    *,
    history: History | None = None,
    shards: int = 1,
    cuts: random.Random | None = None,
    balance_at: str = "request",
) -> Expected:
    """The answers of the network; with `cuts` in random trains, and restarted between some of them."""
    network = linear_road_network(profile, history or History(), balance_at=balance_at)
    host = InProcess(network, shards=shards, ordered_sources=("requests",), split_sources=("reports",))
    found: dict[str, list[pl.DataFrame]] = {}
    for train in _trains(events, cuts):
        if cuts and cuts.random() < 0.1:
            host.restart()
        for name, given in host.step(train).items():
            found.setdefault(name, []).append(given.tuples)
    answers = {name: pl.concat(parts) for name, parts in found.items()}
    return Expected(
        notices=answers["notices"].select("vid", "time", "lav", "toll").rows(),
        alerts=answers["alerts"].select("time", "vid", "xway", "seg", "dir").rows(),
        balances=answers["balances"].select("time", "result_time", "qid", "balance").rows(),
        expenditures=answers["expenditures"].select("time", "qid", "balance").rows(),
        travels=answers["travels"].select("time", "qid", "travel_time", "toll").rows(),
    )


def check_state(events: pa.Table, profile: Profile, *, shards: int, cuts: random.Random) -> None:
    """Raise if the state depends on what workers remember: one has all trains, others take turns."""
    network = linear_road_network(profile, History())
    calm, disturbed = (
        InProcess(network, shards=shards, ordered_sources=("requests",), split_sources=("reports",)) for _ in range(2)
    )
    for number, train in enumerate(_trains(events, cuts)):
        calm.step(train)
        disturbed.step(train)
        compare_state(calm, disturbed, f"train {number + 1}")
        cuts.choice((disturbed.restart, disturbed.change_worker))()


def history_in(folder: Path, tolls: Sequence[TollRow], segments: Sequence[SegmentRow]) -> History:
    """A history as the CSV files of anyone; the stream makes its look-ups of them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Path] = {}
    for name, rows in (("tolls", tolls), ("segments", segments)):
        if rows:
            paths[name] = folder / f"{name}.csv"
            with paths[name].open("w", newline="") as file:
                csv.writer(file).writerows(rows)
    return History(**paths)


def _trains(events: pa.Table, cuts: random.Random | None) -> Iterator[dict[str, Train]]:
    frame = pl.DataFrame(pl.from_arrow(events))
    last = int(frame["time"].max() or 0) if len(frame) else 0  # type: ignore[arg-type]
    ends = sorted(cuts.sample(range(last + 1), min(last + 1, cuts.randrange(12)))) if cuts else []
    for begin, end in itertools.pairwise([-1, *ends, last]):
        now = frame.filter((pl.col("time") > begin) & (pl.col("time") <= end))
        through = END if end == last else end
        yield {
            "reports": Train(now.filter(pl.col("type") == 0).select(REPORT_SCHEMA.names), through),
            "requests": Train(now.filter(pl.col("type") != 0).select(REQUEST_SCHEMA.names), through),
        }
