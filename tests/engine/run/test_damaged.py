"""Damaged checkpoints: every kind of file, missing, cut, overwritten or zeroed, gives its name and what to do.

The files that Arterial reads itself are tried without Spark. Those that Spark reads are tried with one Spark session on
copies of one checkpoint: a few in `make test`, all in the slow suite.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import arterial as art
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.run.run import Settings, run
from arterial.engine.spark.logs.damage import check_logs, found_by_spark
from arterial.errors import RunError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Hurt = Callable[[Path], object]
HURTS: dict[str, Hurt] = {
    "missing": lambda path: path.unlink(),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "garbage": lambda path: path.write_bytes(bytes((31 * n + 7) % 256 for n in range(path.stat().st_size))),
    "zeroed": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}
LOGS = ("metadata", "offsets/1", "offsets/2", "commits/1")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Spark's logs after three planned steps, of which two are done."""
    (tmp_path / "metadata").write_text('{"id":"a3007f51"}')
    for log, count in (("offsets", 3), ("commits", 2)):
        (tmp_path / log).mkdir()
        for number in range(count):
            (tmp_path / log / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}\n{"step":1}\n')
    return tmp_path


def test_whole_logs_pass(logs: Path) -> None:
    check_logs(logs)
    check_logs(logs / "nowhere")


@pytest.mark.parametrize("how", HURTS)
@pytest.mark.parametrize("name", LOGS)
def test_damaged_logs_are_named(logs: Path, name: str, how: str) -> None:
    HURTS[how](logs / name)
    if (name, how) == ("offsets/2", "missing"):
        check_logs(logs)  # nothing shows that it was planned
        return
    with pytest.raises(RunError, match=f"the checkpoint is damaged: .*{name} .*restore the whole folder"):
        check_logs(logs)


def test_a_lost_offset_is_named(logs: Path) -> None:
    (logs / "offsets" / "2").unlink()
    (logs / "offsets" / "1").unlink()
    with pytest.raises(RunError, match="offsets/1 is missing"):
        check_logs(logs)


def test_damage_that_spark_finds_is_named() -> None:
    for text, said in (
        ("Checksum error: file:/c/spark/state/0/1/3_a.changelog at 0 exp: 1", "3_a.changelog has other content"),
        ("java.io.FileNotFoundException: File file:/c/spark/state/0/1/3_a.zip does not exist", "3_a.zip is missing"),
        ("[STDS_FAILED_TO_READ_OPERATOR_METADATA] location=file:/c/spark/state/0 and", "spark/state/0 cannot be read"),
        ("[CANNOT_LOAD_STATE_STORE.X] file:/c/spark/state/0/1/3_a.zip, EOF", "3_a.zip cannot be read"),
    ):
        assert said in str(found_by_spark(text))
    assert found_by_spark("java.io.FileNotFoundException: /data/reports.csv") is None


def _network() -> art.Network:
    net = art.Network("damaged")
    rows = net.source("s", {"time": int, "key": int, "value": int})
    rows.group_by("key").tumble("t", every=100, total="sum(value)", n="count(*)").output("o")
    return net


def _go(checkpoint: Path, data: Path, spark: SparkSession, size: int = 5000) -> art.Run:
    sinks = {"o": FileSink(checkpoint / "o")}
    settings = Settings(shards=2, train_size=size)
    return run(_network().value, {"s": FileSource(data)}, sinks, checkpoint, settings, spark=spark)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A folder with a run that was stopped after some steps."""
    folder = tmp_path_factory.mktemp("damaged")
    order = pl.int_range(4000, eager=True)
    rows = {"time": order // 10, "key": (order * 7) % 97, "value": order % 13}
    pl.DataFrame(rows).write_parquet(folder / "d.parquet")
    running = _go(folder / "good", folder / "d.parquet", spark, 500)
    while running.status.step < 3 and running.active:
        time.sleep(0.02)
    running.stop()
    assert running.state == "stopped"
    return folder


def _resume(stopped: Path, copy: Path, damaged: str, how: str, spark: SparkSession) -> str:
    """What a run says that goes on from a damaged copy: its error, or its state."""
    shutil.copytree(stopped / "good", copy)
    HURTS[how](sorted(copy.glob(damaged))[-1])
    try:
        running = _go(copy, stopped / "d.parquet", spark)
        running.wait(120)
    except RunError as error:
        return str(error)
    return running.state


def test_damaged_state_and_manifest_are_named(stopped: Path, tmp_path: Path, spark: SparkSession) -> None:
    said = _resume(stopped, tmp_path / "a", "spark/state/0/1/*.changelog", "zeroed", spark)
    assert "the checkpoint is damaged: " in said
    assert ".changelog " in said
    assert "restore the whole folder from a copy" in said
    assert not list(stopped.glob("good/spark/state/*/*/[0-9]*.crc"))  # Hadoop's checksum found it; a second costs time
    for how in HURTS:
        said = _resume(stopped, tmp_path / how, "arterial/manifest.json", how, spark)
        assert "manifest.json" in said
        assert "Restore it from a copy" in said


@pytest.mark.slow
@pytest.mark.parametrize("how", HURTS)
@pytest.mark.parametrize(
    "damaged",
    [
        "status.json",
        "arterial/versions.json",
        "arterial/networks/*.json",
        "arterial/networks/*.pickle",
        "arterial/control.json",
        "spark/metadata",
        "spark/offsets/[0-9]*",
        "spark/commits/[0-9]*",
        "spark/state/0/0/*.changelog",
        "spark/state/0/0/*.zip",
        "spark/state/0/0/SSTs/*.sst",
        "spark/state/0/_metadata/v2/0",
        "spark/state/0/_stateSchema/default/*",
    ],
)
def test_every_damaged_file_is_named_or_not_needed(
    stopped: Path, tmp_path: Path, spark: SparkSession, damaged: str, how: str
) -> None:
    said = _resume(stopped, tmp_path / "copy", damaged, how, spark)
    if said == "finished":
        out = pl.concat([pl.read_parquet(path) for path in sorted((tmp_path / "copy" / "o").glob("part-*.parquet"))])
        assert out["n"].sum() == 4000
        return
    assert str(tmp_path) in said, said
    assert "Py4J" not in said.partition("(all that Spark said")[0]
    assert any(word in said.lower() for word in ("restore", "delete it")), said
