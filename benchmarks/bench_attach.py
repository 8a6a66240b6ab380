"""Ad-hoc queries: the first row of a long history, what a key filter reads, a view that is kept, the cost to the run.

`ARTERIAL_BENCH_ATTACH_SECONDS` says how long the history of reports at L = 8 is; an hour is what the target is for.
"""

from __future__ import annotations

import json
import os
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
from arterial.engine.run.checkpoint.folder import STATUS_FILE, make_folder
from arterial.engine.run.figures.status import Status, now
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.figures.step import StepFigures
from arterial.figures.steps_file import read_steps
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
PEAK_SECOND = 10_600
WARM_UP, TURNS, TURN_SECONDS = 60, 16, 10
"""How long a run in real time goes on before it is as fast as it gets; how often it is asked and not asked, and for how
long each time. A step a second makes ten delays a turn, of which the p99 would be the worst: so the delays of all turns
of a kind are taken together."""


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
    """Linear Road at L = 8 in real time: its response times while its history is asked for, and by turns while not."""
    city, out = folder / "city", folder / "run"
    span = SECONDS + WARM_UP + 2 * TURNS * (TURN_SECONDS + 1)
    _linear_road(
        "simulate", "--out", city, "--xways", 1, "--seconds", span, "--start-at", PEAK_SECOND - SECONDS, "--seed", 1
    )
    delays = _delays_by_turns(city, out)
    asked, alone = (np.percentile(delays[kind], (50, 90, 99)) for kind in (True, False))
    each = ", ".join(f"{a:.3f}/{b:.3f}" for a, b in zip(asked, alone, strict=True))
    remark = f"{len(delays[True])} and {len(delays[False])} steps by turns; p50, p90, p99 asked/alone in s: {each}"
    return [Figure("p99 of the run while it is asked", asked[2] / alone[2], "of alone", at_most=GROWTH, remark=remark)]


def _delays_by_turns(city: Path, out: Path) -> dict[bool, list[float]]:
    """The delays of steps while the run is asked, and while not. Turns of one run that follow each other are alike but
    for that; two runs differ by far more."""
    query = "SELECT xway, seg, avg(speed) AS v FROM kept_reports GROUP BY xway, seg, TUMBLE(time, 60)"
    words = ("--from", SECONDS, "--replicate", EXPRESSWAYS, "--keep", "1 hour", "--json")
    run = _command("linear-road", "run", "--data", city, "--out", out, "--speed", 1, *words)
    turns: list[tuple[bool, float, float]] = []
    with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while running.poll() is None and not _in_real_time(out):
            time.sleep(0.2)
        time.sleep(WARM_UP)
        for number in range(2 * TURNS):
            asked, began = number % 4 in (1, 2), time.time()
            asking = subprocess.Popen(
                _command("attach", out, "kept_reports", query) if asked else ["sleep", str(TURN_SECONDS)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(max(0.0, began + TURN_SECONDS - time.time()))
            turns.append((asked, began, time.time()))
            asking.kill()
            asking.wait()
        running.terminate()
    steps = _steps(out)
    delays: dict[bool, list[float]] = {False: [], True: []}
    for asked, began, ended in turns:
        delays[asked] += [_delay(step) for step in steps if began <= step.born < ended and _delay(step)]
    return delays


def _in_real_time(out: Path) -> bool:
    """Whether the run has worked off what came before, which it does without waiting."""
    return any((step.sources["reports"].through or 0) >= SECONDS for step in _steps(out)[-1:])


def _steps(out: Path) -> list[StepFigures]:
    return list(read_steps(out / "work" / "checkpoint"))


def _delay(step: StepFigures) -> float:
    return max((output.delay for output in step.outputs.values() if output.tuples), default=0.0)


def _command(*words: object) -> list[str]:
    return [sys.executable, "-c", "from arterial.cli.main import main; main()", *map(str, words)]


def _linear_road(*words: object) -> str:
    return subprocess.run(_command("linear-road", *words), check=True, stdout=subprocess.PIPE, text=True).stdout
