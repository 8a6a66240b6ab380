"""Savepoints: a copy of a checkpoint under load goes on elsewhere with the same answers, with other networks too."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from arterial import Network, Settings
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.run.checkpoint.savepoint import LINKED, take_savepoint
from arterial.engine.run.figures.status import read_status
from arterial.engine.run.life import Run
from arterial.engine.run.run import run
from arterial.errors import RunError
from arterial.spark import _Batch, _Wanted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TUPLES, TRAIN = 24_000, 2_000


def network(every: int = 50, more: bool = False) -> Network:
    net = Network("saved")
    reports = net.source("reports", {"time": "int64", "key": "int32", "value": "int64"})
    kept = reports.connection_point("kept", retention=10_000)
    kept.group_by("key", name="by").tumble("sums", every=every, total="sum(value)").output("sums_out")
    if more:
        reports.filter("high", "value > 95").output("high_out")
    return net


def start(
    spark: SparkSession, folder: Path, checkpoint: Path, net: Network, interval: float = 0.0, **more: bool
) -> Run:
    outputs = [box.name for box in net.value.boxes if not box.outputs]
    return run(
        net.value,
        {"reports": FileSource(folder / "data.parquet")},
        {name: FileSink(checkpoint.parent / f"{checkpoint.name}-out" / name) for name in outputs},
        checkpoint,
        Settings(shards=2, train_size=TRAIN, interval=interval, **more),
        spark=spark,
    )


def parts(checkpoint: Path, output: str, since: int) -> dict[str, pl.DataFrame]:
    """The files of an output from a step on."""
    found = sorted((checkpoint.parent / f"{checkpoint.name}-out" / output).glob("part-*"))
    return {path.name: pl.read_parquet(path) for path in found if int(path.name.split("-")[1]) >= since}


def kept(checkpoint: Path) -> list[tuple[object, ...]]:
    """What the connection point has."""
    wanted = _Wanted.of({"path": str(checkpoint), "point": "kept"})
    batch = _Batch(wanted)
    return sorted(tuple(row.values()) for p in batch.partitions() for b in batch.read(p) for row in b.to_pylist())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = range(TUPLES)
    frame = {"time": [n // 10 for n in rows], "key": [n % 7 for n in rows], "value": [n * 37 % 101 for n in rows]}
    pl.DataFrame(frame, schema={"time": pl.Int64, "key": pl.Int32, "value": pl.Int64}).write_parquet(
        tmp_path / "data.parquet"
    )
    return tmp_path


@pytest.mark.thorough
def test_a_savepoint_under_load_goes_on_elsewhere(data: Path, spark: SparkSession) -> None:
    calm = data / "calm"
    start(spark, data, calm, network()).wait()
    loaded = start(spark, data, data / "loaded", network(), interval=0.4)
    patience = time.monotonic() + 60
    while loaded.status.step < 3 and time.monotonic() < patience:
        time.sleep(0.02)
    saved = [take_savepoint(data / "loaded", data / name) for name in ("first", "second")]
    loaded.wait()
    assert 3 <= saved[0].step <= saved[1].step <= TUPLES // TRAIN
    assert not list((data / "loaded" / "arterial" / LINKED).glob("*"))
    for before, after in ((parts(calm, "sums_out", 0), parts(data / "loaded", "sums_out", 0)),):
        assert before.keys() == after.keys()
        assert all(before[name].equals(after[name]) for name in before)
    status = read_status(data / "first")
    assert status is not None
    assert (status.state, status.error) == ("stopped", None)

    start(spark, data, data / "first", network()).wait()
    expected, found = parts(calm, "sums_out", saved[0].step + 1), parts(data / "first", "sums_out", saved[0].step + 1)
    assert expected
    assert expected.keys() == found.keys()
    assert all(expected[name].equals(found[name]) for name in expected)
    points = [
        pl.concat([pl.read_parquet(p) for p in (c / "points" / "kept").rglob("*.parquet")])
        for c in (calm, data / "first")
    ]
    assert points[0].height
    assert sorted(points[0].rows()) == sorted(points[1].rows())

    with pytest.raises(RunError, match=r"is of another network: new: high, high_out.*--replace"):
        start(spark, data, data / "second", network(more=True))
    with pytest.raises(RunError, match=r"box 'sums': it keeps state and is changed; give it another name"):
        start(spark, data, data / "second", network(every=60), successor=True)
    again = start(spark, data, data / "second", network(more=True), successor=True)
    again.wait()
    assert again.version == 2
    found = parts(data / "second", "sums_out", saved[1].step + 1)
    assert found.keys() == parts(calm, "sums_out", saved[1].step + 1).keys()
    high = pl.concat(parts(data / "second", "high_out", 0).values())
    assert high["value"].min() == 96
    assert high["time"].max() == (TUPLES - 1) // 10

    stopped = take_savepoint(data / "second", data / "third")
    assert stopped.step >= saved[1].step
    assert json.loads((data / "third" / "savepoint.json").read_text())["network"] == "saved"


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    (checkpoint / "arterial").mkdir(parents=True)
    with pytest.raises(RunError, match="no step was ever planned there on Spark"):
        take_savepoint(checkpoint, tmp_path / "to")
    with pytest.raises(RunError, match=r"is in the checkpoint itself; give a folder elsewhere"):
        take_savepoint(checkpoint, checkpoint / "to")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(RunError, match=r"full: is there already; give a new folder"):
        take_savepoint(checkpoint, tmp_path / "full")
