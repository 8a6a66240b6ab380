"""A stopped run goes on with another number of shards, and gives what a calm one gives."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from arterial import Network, Settings
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.host.inprocess import InProcess
from arterial.engine.run import driver
from arterial.engine.run.checkpoint import rescale
from arterial.engine.run.checkpoint.manifest import kept_shards
from arterial.engine.run.life import Run
from arterial.engine.run.run import FOLDER, run
from arterial.errors import RunError
from arterial.network.train import END, Train
from tests.engine.run.recover import network, tuples
from tests.engine.state.test_regroup import Remembers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT, TRAIN = 60_000, 4_000

pytestmark = pytest.mark.thorough


def start(spark: SparkSession, folder: Path, net: Network, shards: int, interval: float = 0.3) -> Run:
    value = net.value
    sinks = {box.name: FileSink(folder / "out" / box.name) for box in value.boxes if not box.outputs}
    settings = Settings(shards=shards, train_size=TRAIN, interval=interval)
    return run(
        value, {"reports": FileSource(folder / "data.parquet")}, sinks, folder / "checkpoint", settings, spark=spark
    )


def stop_after(steps: int, running: Run) -> None:
    """Stop it when so many more steps are done."""
    goal, patience = running.statistics.step + steps, time.monotonic() + 300
    while running.statistics.step < goal:
        assert running.active
        assert time.monotonic() < patience
        time.sleep(0.02)
    running.stop()
    assert running.state == "stopped"


@pytest.mark.parametrize(
    "cuts", [("rename",), pytest.param(("finish_rescaling", "rename", "remove"), marks=pytest.mark.slow)]
)
def test_two_shards_then_three_then_one(
    cuts: tuple[str, ...], tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuples(COUNT).write_parquet(tmp_path / "data.parquet")
    own = tmp_path / "checkpoint" / FOLDER
    stop_after(3, start(spark, tmp_path, network(), 2))

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    # Before the marker is there, before the state is in place, before the marker is removed.
    for cut in cuts:
        with monkeypatch.context() as patched:
            patched.setattr(rescale, cut, killed)
            if cut == "finish_rescaling":
                patched.setattr(rescale, "READY", "draft")  # which is no marker
            with pytest.raises(KeyboardInterrupt):
                start(spark, tmp_path, network(), 3)
        # Without a number it goes on with its own; after the marker that is the new one.
        stop_after(1, start(spark, tmp_path, network(), 0))
        assert kept_shards(own) == (2 if cut == "finish_rescaling" else 3)
        if cut == "rename" != cuts[-1]:
            stop_after(1, start(spark, tmp_path, network(), 2))
    assert len(list((own / "chunks").glob("000-*"))) == 3
    stop_after(2, start(spark, tmp_path, network(), 1))
    with monkeypatch.context() as patched:  # two changes without a step between them
        patched.setattr(driver, "check_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            start(spark, tmp_path, network(), 5)
    start(spark, tmp_path, network(), 4, interval=0.0).wait()
    expected = InProcess(network().value).run([{"reports": Train(tuples(COUNT), END)}])
    for name, frame in expected.items():
        got = pl.read_parquet(tmp_path / "out" / name / "*.parquet").select(frame.columns)
        assert got.sort(frame.columns).equals(frame.sort(frame.columns)), name


@pytest.mark.slow
def test_state_in_a_form_of_its_own_is_refused_and_nothing_changed(tmp_path: Path, spark: SparkSession) -> None:
    tuples(COUNT).write_parquet(tmp_path / "data.parquet")
    net = Network("own")
    reports = net.source("reports", {"time": "int64", "key": "int32", "value": "int64"})
    reports.group_by("key").box(Remembers("mine")).output("out")
    stop_after(1, start(spark, tmp_path, net, 2))
    with pytest.raises(RunError, match=r"box 'mine'.*a form of its own"):
        start(spark, tmp_path, net, 3)
    start(spark, tmp_path, net, 0, interval=0.0).wait()
    assert pl.read_parquet(tmp_path / "out" / "out" / "*.parquet").height == COUNT
