"""A run on Spark says through the studio how much state each box keeps in its checkpoint, slot by slot."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession
from starlette.testclient import TestClient

from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.drawing import Network
from arterial.engine.run.run import run
from arterial.engine.run.settings import Settings
from arterial.network.train import END, Train
from arterial.studio.app import make_app
from arterial.studio.subject import Run


def test_state_by_box_of_a_run_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    net = Network("state")
    reports = net.source("reports", {"time": int, "vehicle": int}).filter("some", "vehicle > 0")
    by_vehicle = reports.group_by("vehicle", name="by_vehicle")
    by_vehicle.tumble("many", every="1 hour", n="count(*)").output("counts")
    by_vehicle.filter("few_vehicles", "vehicle <= 20").tumble("few", every="1 hour", n="count(*)").output("small")
    tuples = pl.DataFrame({"time": [1] * 2000, "vehicle": list(range(1, 2001))})
    # The last train closes no window, so that the state of both boxes is still there at its end.
    trains = [Train(tuples, 1), Train(tuples.with_columns(time=pl.lit(2, pl.Int64)), 2), Train(tuples.head(0), END)]
    sinks = {name: MemorySink() for name in ("counts", "small")}
    settings = Settings(shards=2, train_size=2000)
    run(net.value, {"reports": MemorySource(trains)}, sinks, tmp_path / "c", settings, spark=spark).wait()
    with TestClient(make_app(Run(tmp_path / "c")), base_url="http://localhost") as client:
        facts = client.get("/api/network").json()
        assert {box["name"] for box in facts["boxes"] if box["stateful"]} == {"many", "few"}
        steps = client.get("/api/steps").json()
    # A slot is [level, slot, seconds, boxes, read, written, bytes, state by box].
    held = [slot for slot in steps[0]["slots"] if len(slot) > 7 and slot[7]]
    assert sorted(slot[1] for slot in held) == [0, 1]
    for slot in held:
        assert slot[7].keys() == {"many", "few"}
        assert slot[7]["many"] > 5 * slot[7]["few"] > 0  # a hundred times as many groups
        assert slot[6] >= sum(slot[7].values())
