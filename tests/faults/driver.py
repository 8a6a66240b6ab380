"""Runs a network, Linear Road or moving queries on Spark to its end: the runs that the fail points kill.

python -m tests.faults.driver drawn|city|moving FOLDER [STEPS]

Each has state, dirty input or a box that fails on some tuples, connection points, outputs of several kinds, and a
network that is replaced on the way: after a step, by one that answers the same.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import SparkSession

import arterial as art
from arterial.connectors.files.source import FileSource
from arterial.connectors.sink import Sink
from arterial.connectors.sinks.files.growing import GrowingSink
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.host.failures import SET_ASIDE
from arterial.engine.run.run import Settings, SparkRun, run
from arterial.engine.spark.session import spark_session
from arterial.errors import ArterialError, RunError
from arterial.linearroad.application import run as city_run
from arterial.moving.application import run as moving_run
from arterial.moving.application.network import QueryOptions
from arterial.network.network import NetworkValue
from tests.engine.tiny import Add, Refuse

TUPLES = 24_000
CHECKPOINTS = {"drawn": "checkpoint", "city": "out/work/checkpoint", "moving": "checkpoint"}


def network() -> art.Network:
    """Two levels with state in files, rejects, a connection point, an output of each kind."""
    net = art.Network("killed")
    rows = net.source("rows", {"time": "int64", "key": "int32", "value": "int64"})
    kept = rows.box(Add("add", poison=7777)).connection_point("recent", 100_000)
    sums = kept.group_by("key").tumble("sums", every=10, total="sum(value)", n="count(*)")
    sums.output("sums_out")
    sums.group_by("n").latch("per_n", every=20, groups="count(*)").output("per_n_out")
    kept.filter("high", f"value > {TUPLES - 100}").output("high_out")
    return net


def tuples() -> pl.DataFrame:
    """The stream."""
    order = pl.int_range(TUPLES, eager=True)
    return pl.DataFrame({"time": order // 50, "key": ((order * 7919) % 1999).cast(pl.Int32), "value": order})


def sinks(out: Path) -> dict[str, Sink]:
    """One of each kind."""
    return {
        "sums_out": GrowingSink.at(out / "sums.csv"),
        "per_n_out": FileSink(out / "per_n", merge=True),
        "high_out": FileSink(out / "high", "csv", compact=True),
    }


def aside(network: NetworkValue, source: str, poison: tuple[str, int], few: str) -> tuple[NetworkValue, NetworkValue]:
    """The network with a way beside it that sets tuples aside, and the same drawn with one box more."""
    forms = []
    for more in ("", "all of them"):
        net = art.Network.of(network)
        stream = net.stream(source)
        if more:
            stream = stream.filter(more, f"{poison[0]} is not null")
        stream.box(Refuse("refuse", *poison)).filter("few", few).output("few_out")
        forms.append(net.value)
    return forms[0], forms[1]


def disturbed(folder: Path, source: str, poison: tuple[str, int], few: str, train_size: int) -> Callable[..., SparkRun]:
    """`run`, with that way beside the network, small trains, and a replacement in each start.

    The poison lies near the end, so that it is still ahead after many kills.
    """

    def start(
        network: NetworkValue,
        sources: Mapping[str, Any],
        sinks: Mapping[str, Sink],
        checkpoint: Path,
        settings: Settings,
        *,
        spark: SparkSession,
    ) -> SparkRun:
        forms = aside(network, source, poison, few)
        given = {**sinks, "few_out": GrowingSink.at(folder / "few.csv")}
        small = replace(settings, shards=2, train_size=train_size, policy=SET_ASIDE)
        running = run(forms[0], sources, given, checkpoint, small, spark=spark)
        threading.Thread(target=_replace, args=(running, forms), daemon=True).start()
        return running

    return start


def _replace(running: SparkRun, forms: tuple[NetworkValue, NetworkValue]) -> None:
    first = running.status.step
    while running.active and running.status.step < first + 2:
        time.sleep(0.01)
    with suppress(RunError):  # it may be over by now
        running.replace(forms[running.version % 2])


def drawn(folder: Path, spark: SparkSession, steps: int) -> None:
    """The drawn network."""
    data = folder / "data.parquet"
    if not data.exists():
        tuples().write_parquet(data)
    start = disturbed(folder, "rows", ("value", TUPLES - 700), "value % 97 = 1", TUPLES // steps)
    source, answers = {"rows": FileSource(data)}, sinks(folder / "out")
    start(network().value, source, answers, folder / CHECKPOINTS["drawn"], Settings(), spark=spark).wait()


def city(folder: Path, spark: SparkSession, steps: int) -> None:
    """Linear Road, over the traffic in `folder/city.csv`."""
    city_run.run_network = disturbed(folder, "reports", ("time", 111), "vid % 7 = 1", 1_600 // steps)
    options = city_run.RunOptions(folder / "city.csv", folder / "out", speed=math.inf, shards=2, keep="1 hour")
    running = city_run.LinearRoadRun(options, spark=spark)
    running.wait()
    running.finish()


def moving(folder: Path, spark: SparkSession, steps: int) -> None:
    """Moving queries, over `folder/events.csv`."""
    moving_run.run_network = disturbed(folder, "objects", ("t", 38), "x > 0", 15_000 // steps)
    options = moving_run.RunOptions(
        folder / "events.csv",
        folder / "updates.csv",
        folder / CHECKPOINTS["moving"],
        folder / "rejects.csv",
        QueryOptions(),
        shards=2,
        keep="1 hour",
    )
    running = moving_run.MovingRun(options, spark=spark)
    running.wait()
    running.finish()


KINDS = {"drawn": drawn, "city": city, "moving": moving}


def left_by(kind: str, folder: Path) -> dict[str, object]:
    """What a user sees of a run: answers without the time of emission, rejects, connection points."""
    checkpoint = folder / CHECKPOINTS[kind]
    points = [path for path in sorted((checkpoint / "points").iterdir()) if path.is_dir()]
    rejects = (checkpoint / "arterial" / "rejects").glob("part-*")
    left: dict[str, object] = {
        "few": sorted((folder / "few.csv").read_text().splitlines()),
        "points": {path.name: _rows(path.glob("part-*")) for path in points},
        "rejects": len([line for path in rejects for line in path.read_text().splitlines()]),
    }
    if kind == "drawn":
        left["sums"] = (folder / "out" / "sums.csv").read_bytes()
        left["per_n"] = (folder / "out" / "per_n.parquet").read_bytes()
        left["high"] = b"".join(path.read_bytes() for path in sorted((folder / "out" / "high").glob("[!.]*")))
    elif kind == "city":
        left["answers"] = sorted(map(_without_emit, (folder / "out" / "output.csv").read_text().splitlines()))
        left["dirty"] = (folder / "out" / "rejects.csv").read_bytes()
    else:
        left["updates"] = (folder / "updates.csv").read_bytes()
        left["dirty"] = (folder / "rejects.csv").read_bytes()
    return left


def _rows(parts: Iterable[Path]) -> list[tuple[object, ...]]:
    """All rows of a connection point, in any order."""
    frames = [pl.read_parquet(path) for path in parts]
    return sorted(pl.concat(frames).rows(), key=repr) if frames else []


def _without_emit(line: str) -> str:
    fields = line.split(",")
    del fields[3 if fields[0] == "0" else 2]
    return ",".join(fields)


def main(kind: str, folder: str, steps: str = "40") -> None:
    """Run it."""
    spark = spark_session("killed", master="local[2,4]")
    KINDS[kind](Path(folder), spark, int(steps))
    spark.stop()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ArterialError as mistake:
        sys.exit(f"arterial: {mistake}")
