"""Connection points of Linear Road: a running city can be asked."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from arterial import attach
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.local import run_locally
from arterial.engine.run.settings import Settings
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA
from arterial.linearroad.application.network import History, linear_road_network
from arterial.linearroad.semantics.city import SEGMENT_FEET
from arterial.linearroad.semantics.profiles import SPEC
from arterial.network.train import END, Train

SEGMENT = 42


@pytest.mark.thorough
def test_which_segments_had_an_accident(tmp_path: Path) -> None:
    minutes = 8
    rows = []
    for time in range(0, 60 * minutes, 30):
        for vid in (1, 2):  # both stand at one place: an accident
            rows.append((time, vid, 0, 0, 1, 0, SEGMENT, SEGMENT * SEGMENT_FEET))
        for vid in range(100, 140):  # others come near, a segment a report
            seg = SEGMENT - 5 + (time // 30 + vid) % 9
            rows.append((time, vid, 60, 0, 1, 0, seg, seg * SEGMENT_FEET + 7 * vid))
    reports = pl.DataFrame(rows, schema=REPORT_SCHEMA.polars(), orient="row")
    seconds = sorted(reports["time"].unique())
    last = len(seconds) - 1
    trains = [
        Train(reports.filter(pl.col("time") == second), END if n == last else second)
        for n, second in enumerate(seconds)
    ]
    requests = [Train(REQUEST_SCHEMA.empty(), train.through) for train in trains]
    run = run_locally(
        linear_road_network(SPEC, History(), keep="1 hour"),
        {"reports": MemorySource(trains), "requests": MemorySource(requests)},
        {"alerts": MemorySink(), "notices": MemorySink()},
        tmp_path / "c",
        Settings(shards=2),
    )
    query = "SELECT DISTINCT xway, dir, seg FROM kept_alerts SINCE '1 hour'"
    found = run.attach("kept_alerts", query).collect()["answer"]
    assert run.wait(60)
    assert found.select("xway", "dir", "seg").rows() == [(0, 0, SEGMENT)]
    kept = attach(tmp_path / "c", "kept_reports").collect()["answer"]
    assert kept.sort(pl.all()).equals(reports.sort(pl.all()))
    notices = attach(tmp_path / "c", "kept_notices", "SELECT vid, toll FROM kept_notices").collect()["answer"]
    assert notices.height == run["notices"].height
