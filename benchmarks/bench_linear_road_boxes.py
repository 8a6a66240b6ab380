"""Linear Road from library boxes beside the network of kernels: in this process, on Spark, and a window in real time.

In this process the time of the processor is measured, box by box, without reading, writing and the history.
`ARTERIAL_BENCH_BOXES_L` sets the L of the window (default 64), which the validator judges.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import polars as pl

from arterial.engine.host.inprocess import InProcess
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.semantics.profiles import SPEC
from arterial.network.network import NetworkValue
from arterial.network.train import Train
from benchmarks.figure import Figure

EXAMPLE = Path(__file__).parents[1] / "examples" / "linear_road_boxes.py"
PEAK_SECOND, SECONDS = 9_600, 420
WINDOW = (360, 420)
FREE_L, FREE_UNTIL = 32, 180
WINDOW_L = int(os.environ.get("ARTERIAL_BENCH_BOXES_L", "64"))


def measure() -> list[Figure]:
    """The ratio of both networks, and the window."""
    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as scratch:
        folder = Path(scratch)
        city, history, prepared = folder / "city", folder / "history", folder / "prepared"
        _arterial("simulate", "--out", city, "--xways", 1, "--seconds", SECONDS, "--start-at", PEAK_SECOND, "--seed", 1)
        _arterial("history", "--data", city, "--out", history)
        subprocess.run([sys.executable, str(EXAMPLE), str(history), str(prepared)], check=True)
        ours = ("--tolls", history, "--segments", history)
        own = (
            *("--tolls", prepared / "tolls.parquet", "--segments", prepared / "segments.parquet"),
            *("--network", f"{EXAMPLE}:linear_road"),
        )
        rates = {}
        for name, kit in (("kernels", ours), ("boxes", own)):
            free = ("--out", folder / name, "--speed", "max", "--replicate", FREE_L, "--until", FREE_UNTIL)
            run = json.loads(_arterial("run", "--data", city, *kit, *free, "--json"))
            rates[name] = run["window_reports"] / run["streaming_seconds"]
        span = ("--from", WINDOW[0], "--until", WINDOW[1], "--replicate", WINDOW_L)
        out = ("--out", folder / "window", "--speed", 1, "--json")
        run = json.loads(_arterial("run", "--data", city, *own, *span, *out))
        judged = subprocess.run(
            _command("validate", "--data", city, *ours, *span, "--output", folder / "window", "--no-causes", "--json"),
            stdout=subprocess.PIPE,
            text=True,
        )
        worst = max(times["worst"] for times in run["responses"].values() if times["answers"])
        return [
            *in_process(city),
            Figure(f"boxes, --speed max, L = {FREE_L}", rates["boxes"] / 1e3, "thousand reports/s"),
            Figure("their share of the kernels' speed", rates["boxes"] / rates["kernels"], "ratio"),
            Figure(
                f"boxes, L = {WINDOW_L} passes the validator",
                float(json.loads(judged.stdout)["passes"]),
                "yes = 1",
                at_least=1,
            ),
            Figure(f"boxes, L = {WINDOW_L}: worst response", worst, "s", at_most=5),
        ]


def in_process(city: Path, times: int = 32, seconds: int = 40, step: int = 4) -> list[Figure]:
    """Microseconds of the processor for a report, in trains of some seconds of many expressways."""
    events = pl.read_parquet(city / "events" / "*.parquet").filter(pl.col("time") < seconds)
    copies = [
        events.with_columns(vid=pl.col("vid") + r * _VIDS_APART, xway=(pl.col("xway") + r).cast(pl.Int32))
        for r in range(times)
    ]
    events = pl.concat(copies).sort("time", maintain_order=True)
    costs, parts = {}, Counter[str]()
    for name, network in (("kernels", linear_road_network(SPEC, History())), ("boxes", _own_network())):
        costs[name], parts = _cost(network, events, seconds, step)
    dearest = ", ".join(f"{box} {100 * cost / parts.total():.0f} %" for box, cost in parts.most_common(6))
    return [
        Figure(f"boxes in process, L = {times}", costs["boxes"], "µs of processor a report", remark=dearest),
        Figure(f"kernels in process, L = {times}", costs["kernels"], "µs of processor a report"),
        Figure("boxes beside kernels, in process", costs["boxes"] / costs["kernels"], "times the processor"),
    ]


_VIDS_APART = 1_000_000


def _cost(network: NetworkValue, events: pl.DataFrame, seconds: int, step: int) -> tuple[float, Counter[str]]:
    """What a report costs after the first train, and what each box took."""
    sources = [box.name for box in network.boxes if not box.inputs]
    host = InProcess(
        network, split_sources=["reports"], ordered_sources=[name for name in sources if name != "reports"]
    )
    nothing = {
        name: next(stream for port, stream in network.streams.items() if port.box == name).schema.empty()
        for name in sources
    }
    reports, spent, parts = 0, 0.0, Counter[str]()
    for box in host.plan.network.boxes:
        _time(box, parts)
    for begin in range(0, seconds, step):
        some, end = events.filter(pl.col("time").is_between(begin, begin + step - 1)), begin + step - 1
        asks = pl.col("type") != 0
        given = {"reports": some.filter(~asks).select(REPORT_SCHEMA.names), "requests": some.filter(asks)}
        given["requests"] = given["requests"].select(REQUEST_SCHEMA.names)
        trains = {name: Train(given.get(name, nothing[name]), end) for name in sources}
        if begin == step:
            parts.clear()
        started = time.process_time()
        host.step(trains)
        if begin:
            spent, reports = spent + time.process_time() - started, reports + len(trains["reports"])
    return spent / reports * 1e6, parts


def _time(box: Any, parts: Counter[str]) -> None:
    process = box.process

    def timed(trains: Any, state: Any) -> Any:
        started = time.process_time()
        made = process(trains, state)
        parts[box.name] += time.process_time() - started  # type: ignore[assignment]
        return made

    object.__setattr__(box, "process", timed)


def _own_network() -> NetworkValue:
    spec = spec_from_file_location("linear_road_boxes", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    value: NetworkValue = module.linear_road(vids_apart=_VIDS_APART, xways_apart=1).value
    return value


def _arterial(*words: Any) -> str:
    return subprocess.run(_command(*words), check=True, stdout=subprocess.PIPE, text=True).stdout


def _command(*words: Any) -> list[str]:
    return [sys.executable, "-m", "arterial", "linear-road", *map(str, words)]
