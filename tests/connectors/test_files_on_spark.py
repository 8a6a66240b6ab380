"""Files through a network on Spark: the answers of a local run, and a folder that is followed to its end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from arterial import Network
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.memory import MemorySink
from arterial.engine.run.local import run_locally
from arterial.engine.run.run import Settings, run
from arterial.errors import DataError
from arterial.network.network import NetworkValue

SETTINGS = Settings(shards=2, train_size=400)
HEADER = "time,sensor,value\n"


def _network() -> NetworkValue:
    net = Network("sensors")
    schema = {"time": "timestamp", "sensor": "int64", "value": "float64"}
    readings = net.source("readings", schema, disorder="4 s")
    readings.group_by("sensor").tumble("sums", every="10 s", total="sum(value)", n="count(*)").output("out")
    net.stream("readings", "late").output("late")
    return net.value


def _lines(sensor: int, count: int) -> str:
    """Readings as they come: out of order by up to 3 s, some without a time, some that do not fit, one late."""
    lines = []
    for n in range(count):
        second = n + 3 * (n % 4 == 0)
        stamp = f"2026-03-01T06:{second // 60:02d}:{second % 60:02d}Z"
        if n % 50 == 7:
            stamp = ""
        lines.append(f"{stamp},{sensor},{'bad' if n % 70 == 9 else n / 4}\n")
    return "".join([*lines, f"2026-03-01T05:00:00Z,{sensor},0\n"])


@pytest.mark.thorough
def test_as_a_local_run(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for sensor in range(3):
        (folder / f"{sensor}.csv").write_text(HEADER + _lines(sensor, 700))
    source, got = FileSource(folder), []
    for runs, checkpoint in ((run_locally, "local"), (run, "spark")):
        sinks = {"out": MemorySink(), "late": MemorySink()}
        options = {"spark": spark} if runs is run else {}
        running = runs(_network(), {"readings": source}, sinks, tmp_path / checkpoint, SETTINGS, **options)
        assert running.wait(300)
        said = [notice.split(", see")[0] for notice in running.notices]
        late = sinks["late"].read().sort("time", "sensor", "value").rows()
        got.append((sinks["out"].read().sort("time", "sensor").rows(), late, said))
    assert got[0] == got[1]
    assert got[1][2][0] == "source 'readings': 30 of 2,103 lines were set aside"
    assert len(got[1][1]) == 3 + 3 * 14
    (folder / "1.csv").write_text(HEADER)
    with pytest.raises(DataError, match=r"the run has read files that changed since: .*1\.csv: had"):
        run(_network(), {"readings": source}, {}, tmp_path / "spark", SETTINGS, spark=spark)


@pytest.mark.thorough
def test_a_folder_that_is_followed(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    source, sinks = FileSource(folder, follow=True), {"out": MemorySink()}
    running = run(_network(), {"readings": source}, sinks, tmp_path / "c", SETTINGS, spark=spark)
    (folder / "a.csv").write_text(HEADER + _lines(1, 100))
    for _ in range(600):
        if running.statistics.describe()["tuples_in"]:
            break
        time.sleep(0.1)
    running.stop()
    assert running.state == "stopped"
    running = run(_network(), {"readings": source}, sinks, tmp_path / "c", SETTINGS, spark=spark)
    with (folder / "a.csv").open("a") as file:
        file.write("2026-03-01T06:30:00Z,1,5\n")
    (folder / "b.csv").write_text(HEADER + "2026-03-01T06:30:01Z,2,7\n")
    (folder / "_END").touch()
    assert running.wait(300)
    assert running.state == "finished"
    (tmp_path / "all.csv").write_text(HEADER + _lines(1, 100) + "2026-03-01T06:30:00Z,1,5\n2026-03-01T06:30:01Z,2,7\n")
    local = {"out": MemorySink()}
    run_locally(_network(), {"readings": FileSource(tmp_path / "all.csv")}, local, tmp_path / "l", SETTINGS).wait(60)
    assert sinks["out"].read().sort("time", "sensor").equals(local["out"].read().sort("time", "sensor"))
