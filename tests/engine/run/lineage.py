"""Runs a network through which every source row carries its number, on a folder that is followed: what the soak kills.

python lineage.py DATA CHECKPOINT OUT
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from arterial import Network
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.run.run import Settings, run
from arterial.engine.spark.session import spark_session
from arterial.errors import ArterialError


def network() -> Network:
    """A row leaves once as itself, once in a window of its group, and once with its predecessor in the group."""
    net = Network("lineage")
    rows = net.source("rows", {"time": "int64", "key": "int32", "n": "int64"})
    rows.connection_point("history", "1 hour").output("passed")
    by_key = rows.group_by("key")
    by_key.tumble("sums", every=10, n="count(*)", total="sum(n)", least="min(n)", most="max(n)").output("windows")
    regrouped = rows.map("with_group", time="time", n="n", part="n % 7").group_by("part")
    regrouped.slide("peaks", size=2, advance=1, first="min(n)", second="max(n)").output("pairs")
    return net


def main(data: str, checkpoint: str, out: str) -> None:
    """Run it."""
    value = network().value
    sinks = {box.name: FileSink(Path(out) / box.name) for box in value.boxes if not box.outputs}
    spark = spark_session("lineage", master=os.environ.get("ARTERIAL_MASTER", "local[2,4]"))
    source = FileSource(data, follow=True)
    run(value, {"rows": source}, sinks, checkpoint, Settings(shards=2), spark=spark).wait()
    spark.stop()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ArterialError as mistake:
        sys.exit(f"arterial: {mistake}")
