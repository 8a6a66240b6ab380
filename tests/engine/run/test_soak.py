"""A long run at half of what the machine can do: memory, disk, files and delays stay where they are.

ARTERIAL_SOAK_MINUTES=3 makes it shorter.
"""

from __future__ import annotations

import os
import statistics
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

import arterial as art
from arterial.connectors.source import Ask, Part, Progress, Source
from arterial.engine.run.run import run
from arterial.network.keys.slots import pieces
from arterial.network.train import BEGIN, END

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTES = float(os.environ.get("ARTERIAL_SOAK_MINUTES", "30"))
TICKS = 10
"""Units of time a second."""
KEYS = 2_000
MB = 1 << 20


@dataclass(frozen=True)
class Steady(Source):
    """So many tuples a tick, made from their numbers; they are due by the clock, or at once where `began` is None."""

    per_tick: int
    ticks: int
    began: float | None = None

    def begin(self) -> Progress:
        return Progress({"tick": 0}, BEGIN)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        at = before.position["tick"]
        due = at + max(1, ask.tuples // self.per_tick) if self.began is None else int((ask.now - self.began) * TICKS)
        tick = min(due, at + max(1, ask.tuples // self.per_tick), self.ticks)
        if tick <= at:
            return before
        return Progress({"tick": tick}, END if tick == self.ticks else tick - 1)

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        numbers = np.arange(before.position["tick"] * self.per_tick, after.position["tick"] * self.per_tick)
        tuples = pl.DataFrame(
            {
                "time": numbers // self.per_tick,
                "key": (numbers * 7919 % KEYS).astype(np.int32),
                "value": numbers * 104_729 % 1009,
            }
        )
        return pieces(tuples, part.count)[part.index]

    def waited(self, span: object, now: float) -> float:
        if self.began is None:
            return 0.0
        return max(0.0, now - self.began - span.before.position["tick"] / TICKS)  # type: ignore[attr-defined]


def network() -> art.Network:
    """State by key, a connection point and an output, all with a bounded memory of 20 seconds."""
    net = art.Network("soak")
    reports = net.source("reports", {"time": "int64", "key": "int32", "value": "int64"})
    reports.filter("some", "value > 990").connection_point("kept", retention=20 * TICKS).output("all")
    by_key = reports.group_by("key")
    by_key.slide("sums", over=20 * TICKS, every=TICKS, total="sum(value)", n="count(*)").filter(
        "high", "total > 100 * n"
    ).output("windows")
    return net


def start(folder: Path, source: Steady, spark: SparkSession, metrics: str | None = None) -> art.Run:
    from arterial.engine.run.watch.watchers import Watch

    log = str(folder.parent / f"{folder.name}.log")
    return run(
        network().value,
        {"reports": source},
        {name: art.FileSink(folder / name, compact=True, keep="20 seconds") for name in ("all", "windows")},
        folder / "checkpoint",
        art.Settings(shards=2, watch=Watch(metrics=metrics, log=log, log_level="debug")),
        spark=spark,
    )


def size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total


def python_memory() -> tuple[int, int]:
    """What this process and the workers of Spark hold, in bytes, and their open files; without what they share."""
    memory = files = 0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            if "python" in process.name():
                memory += process.memory_full_info().uss
                files += process.num_fds()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return memory, files


def flat(what: str, values: Sequence[float], slack: float) -> None:
    """The last quarter is not above the second one by more than a fifth and some slack."""
    quarter = len(values) // 4
    before, after = statistics.median(values[quarter : 2 * quarter]), statistics.median(values[-quarter:])
    print(f"{what}: {before:.6g} in the second quarter, {after:.6g} in the last")
    assert after <= 1.2 * before + slack, f"{what} grew from {before:.6g} to {after:.6g}"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_long_run_is_flat(tmp_path: Path, spark: SparkSession) -> None:
    trial = Steady(5_000, 400)
    began = time.monotonic()
    start(tmp_path / "trial", trial, spark).wait()
    rating = 400 * 5_000 / (time.monotonic() - began)
    per_tick = max(10, int(rating / 2 / TICKS))
    steady = Steady(per_tick, int(MINUTES * 60 * TICKS), time.time() + 2)
    soak = start(tmp_path / "soak", steady, spark, metrics="0")
    samples: dict[str, list[float]] = {"memory": [], "files": [], "disk": [], "state": [], "delay": [], "behind": []}
    while not soak.wait(min(5.0, MINUTES)):
        memory, files = python_memory()
        window = soak.status.window
        if not window or soak.metrics_url is None or not soak.active:
            continue
        try:
            with urllib.request.urlopen(soak.metrics_url, timeout=5) as reply:
                served = {family.name for family in text_string_to_metric_families(reply.read().decode())}
        except OSError:
            break  # it is over
        assert "arterial_state_bytes" in served
        behind = max(0.0, time.time() - (steady.began or 0.0) - soak.status.tuples_in["reports"] / per_tick / TICKS)
        for name, value in (
            ("memory", memory),
            ("files", files),
            ("disk", size_of(tmp_path / "soak")),
            ("state", window["state"]["bytes"]),
            ("delay", window["outputs"]["windows"]["p99"] or 0.0),
            ("behind", behind),
        ):
            samples[name].append(float(value))
    print(f"half of {rating:,.0f} tuples a second for {MINUTES:g} minutes, {len(samples['memory'])} samples")
    assert soak.state == "finished"
    assert len(samples["memory"]) >= 12
    for name, slack in (
        ("memory", 50 * MB),
        ("files", 20),
        ("disk", 24 * MB),  # steps.jsonl and the log fill up to their bounds
        ("state", MB),
        ("delay", 1.0),
        ("behind", 2.0),
    ):
        flat(name, samples[name], slack)
    assert sum(path.stat().st_size for path in tmp_path.glob("soak.log*")) <= 2 * 16 * MB
