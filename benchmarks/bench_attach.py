"""Ad-hoc queries: the first row of a long history, what a key filter reads, a view that is kept, the cost to the run.

`ARTERIAL_BENCH_ATTACH_SECONDS` says how long the history of reports at L = 8 is; an hour is what the target is for.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from arterial import Network, attach
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sink import Delivery
from arterial.connectors.sinks.databases.table import TableSink
from arterial.engine.run.checkpoint.folder import make_folder
from arterial.engine.run.figures.status import STATUS_FILE, Status, now
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.linearroad.application.feed import REPORT_SCHEMA
from arterial.linearroad.application.network import PLACE
from arterial.network.box import Stream
from arterial.network.train import END, Train
from benchmarks.figure import Figure

SECONDS = int(os.environ.get("ARTERIAL_BENCH_ATTACH_SECONDS", "3600"))
EXPRESSWAYS, REPORTS_A_SECOND = 8, 1_600
"""The rate is that of an expressway at its busiest."""
STEP_SECONDS = 5
"""A step of the run that is written in the place of a real one."""
FIRST_ROW = 2.0
SOONER = 10.0
GROWTH = 1.05
PEAK_SECOND, SIMULATED, WINDOW = 9_600, 300, (180, 300)


def measure() -> list[Figure]:
    """All figures."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        return [*_history(folder / "history"), *_views(folder / "views"), *_run(folder)]


def _history(checkpoint: Path) -> list[Figure]:
    """A table as a run leaves it, asked by a process of its own."""
    rows = _fill(checkpoint)
    what = f"{rows:,} reports, {SECONDS:,} s at L = {EXPRESSWAYS}"
    slow = "SELECT time, vid, xway, seg FROM kept WHERE speed < 10"
    windows = "SELECT xway, seg, avg(speed) AS v FROM kept GROUP BY xway, seg, TUMBLE(time, '1 minute')"
    place = "SELECT time, vid, speed FROM kept WHERE xway = 3 AND seg = 7"
    _ask(checkpoint, windows)  # compiles kernels
    first, whole = _ask(checkpoint, slow)
    first_window, _ = _ask(checkpoint, windows)
    _, matching = _ask(checkpoint, place)
    _, everything = _ask(checkpoint, "SELECT time, vid, speed FROM kept WHERE speed >= 0")
    return [
        Figure("attach: first row of a filter", first, "s", at_most=FIRST_ROW, remark=what),
        Figure("attach: first row of a window", first_window, "s", at_most=FIRST_ROW),
        Figure("attach: reports a second", rows / whole["seconds"], "tuples/s", remark="a filter, all history"),
        Figure(
            "attach: bytes read by a filter on the storage key",
            matching["bytes_read"] / everything["bytes_read"],
            "of all",
            at_most=0.1,
        ),
    ]


def _fill(checkpoint: Path) -> int:
    """A run that is over, with a connection point that it kept for SECONDS."""
    folder = make_folder(checkpoint)
    (checkpoint / STATUS_FILE).write_text(json.dumps(asdict(Status("stopped", "bench", 0, now(), now()))))
    sink = TableSink(checkpoint / "points" / "kept", 10**6, PLACE).bind("kept", Stream(REPORT_SCHEMA, "time"), folder)
    rng, rows = np.random.default_rng(1), 0
    count = EXPRESSWAYS * REPORTS_A_SECOND * STEP_SECONDS
    for second in range(0, SECONDS, STEP_SECONDS):
        columns: dict[str, Any] = {
            "time": second + np.arange(count) * STEP_SECONDS // count,
            "vid": rng.integers(0, 100_000, count),
            "speed": rng.integers(0, 100, count),
            "xway": np.arange(count) % EXPRESSWAYS,
            "lane": rng.integers(0, 5, count),
            "dir": rng.integers(0, 2, count),
            "seg": rng.integers(0, 100, count),
            "pos": rng.integers(0, 528_000, count),
        }
        train = pl.DataFrame(columns).cast(REPORT_SCHEMA.polars()).select(REPORT_SCHEMA.names)  # type: ignore[arg-type]
        last = second + STEP_SECONDS >= SECONDS
        sink.write(Delivery("kept", second + 1, 0, Train(train, END if last else second + STEP_SECONDS - 1)))
        sink.commit(second + 1)
        rows += count
    sink.finish()
    return rows


def _ask(checkpoint: Path, query: str) -> tuple[float, dict[str, Any]]:
    """Seconds from the start of the command to its first row; and its figures at the end."""
    began = time.perf_counter()
    with subprocess.Popen(
        _command("attach", checkpoint, "kept", query, "--figures"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        first, last = 0.0, ""
        assert process.stdout is not None
        for line in process.stdout:
            if not first and line[0] not in "#{":
                first = time.perf_counter() - began
            last = line
    return first, json.loads(last)["figures"]


def _views(folder: Path) -> list[Figure]:
    """The first rows of a view that is kept, against computing them."""
    net = Network("views")
    stream = net.source("reports", {"time": int, "seg": "int16", "vid": int, "speed": int})
    kept = stream.connection_point("kept", "10 hours", ["seg"])
    kept.output("all")
    for name, materialise in (("computed", "none"), ("at_hand", "all")):
        by = kept.group_by("seg", name=f"{name}_by")
        by.tumble(f"{name}_per_minute", v="percentile(speed, 0.9)", every=60).view(name, materialise)
    count, seconds = 10_000, 300
    order = np.arange(count * seconds)
    tuples = pl.DataFrame(
        {"time": order // count, "seg": order % 100, "vid": order * 7919 % 99_991, "speed": order % 97}
    )
    tuples = tuples.cast({"seg": pl.Int16})
    trains = [Train(tuples.slice(s * count, count), END if s + 1 == seconds else s) for s in range(seconds)]
    run_locally(net.value, {"reports": MemorySource(trains)}, {}, folder, Settings(shards=2)).wait()
    times = {}
    for name in ("at_hand", "computed", "at_hand", "computed"):  # the first of each loads code
        began = time.perf_counter()
        with attach(folder, name) as answers:
            next(answer for answer in answers if answer.frame.height)
        times[name] = time.perf_counter() - began
    sooner = times["computed"] / times["at_hand"]
    remark = f"{1000 * times['at_hand']:.0f} ms against {1000 * times['computed']:.0f} ms, {len(tuples):,} reports"
    return [Figure("first rows of a view that is kept", sooner, "times sooner", at_least=SOONER, remark=remark)]


def _run(folder: Path) -> list[Figure]:
    """The response times of Linear Road at L = 8 in real time, alone and while its history is asked for."""
    city = folder / "city"
    _linear_road(
        "simulate", "--out", city, "--xways", 1, "--seconds", SIMULATED, "--start-at", PEAK_SECOND, "--seed", 1
    )
    p99: dict[bool, list[float]] = {False: [], True: []}
    for number, asked in enumerate((False, True, True, False)):
        p99[asked].append(_p99_of_a_run(city, folder / f"run-{number}", asked=asked))
    alone, meanwhile = statistics.mean(p99[False]), statistics.mean(p99[True])
    each = "; ".join(", ".join(f"{one:.3f}" for one in p99[asked]) for asked in (True, False))
    remark = f"{meanwhile:.3f} s against {alone:.3f} s ({each})"
    return [Figure("p99 of the run while it is asked", meanwhile / alone, "of alone", at_most=GROWTH, remark=remark)]


def _p99_of_a_run(city: Path, out: Path, *, asked: bool) -> float:
    span = ("--from", WINDOW[0], "--until", WINDOW[1], "--replicate", EXPRESSWAYS, "--keep", "1 hour")
    words = _command("linear-road", "run", "--data", city, "--out", out, "--speed", 1, *span, "--json")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        while asked and running.poll() is None:
            contents = out / "work" / "checkpoint" / "points" / "kept_reports" / "contents.json"
            if contents.exists():
                query = "SELECT xway, seg, avg(speed) AS v FROM kept_reports GROUP BY xway, seg, TUMBLE(time, 60)"
                asking = _command("attach", out, "kept_reports", query)
                subprocess.run(asking, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.5)
        said = json.loads(running.communicate()[0])
    return max(float(times["p99"]) for times in said["responses"].values() if times["answers"])


def _command(*words: object) -> list[str]:
    return [sys.executable, "-c", "from arterial.cli.main import main; main()", *map(str, words)]


def _linear_road(*words: object) -> str:
    return subprocess.run(_command("linear-road", *words), check=True, stdout=subprocess.PIPE, text=True).stdout
