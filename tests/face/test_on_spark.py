"""`arterial.run` on real Spark: what a user defines in a module, in a script and in a notebook cell."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import arterial as art
from tests.face.programs import BOX, NETWORK
from tests.face.test_collect import speeding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FRAME = pl.DataFrame({"time": list(range(0, 200, 2)), "vehicle": [1, 2] * 50, "speed": [101 + i for i in range(100)]})
TWO = art.Settings(shards=2)

RUN = """
from helper import SECONDS

if __name__ == "__main__":
    two = art.Settings(shards=2)
    run = art.run(net, reports=Counting(SECONDS), pairs=Printing(), alerts="alerts.csv", settings=two)
    run.wait()
    print("over", run["alerts"]["over"].to_list())
"""


def test_outputs_are_those_of_a_local_run(spark: SparkSession, tmp_path: Path) -> None:
    for where in ("local", "spark"):
        out = tmp_path / where
        run = art.run(
            speeding(),
            reports=FRAME,
            alerts=out / "alerts.csv",
            local=where == "local",
            spark=None if where == "local" else spark,
            settings=TWO,
        )
        assert run.wait(300)
        assert run.state == "finished"
        assert not run.checkpoint.exists()
        assert run["late"].height == 0
        assert "100 tuples in" in run._repr_html_()
    assert (tmp_path / "spark" / "alerts.csv").read_bytes() == (tmp_path / "local" / "alerts.csv").read_bytes()


def test_frames_of_spark_in_and_out(spark: SparkSession, tmp_path: Path) -> None:
    FRAME.with_columns(pl.col("vehicle").cast(pl.Int32)).write_parquet(tmp_path / "in.parquet")
    columns = "time long, vehicle int, speed long"
    stream = spark.readStream.schema(columns).parquet(str(tmp_path / "in.parquet") + "*")
    seen: list[int] = []

    def write(frame: DataFrame, step: int) -> None:
        seen.append(frame.count())

    settings = art.Settings(shards=2, only_available=True)
    art.run(speeding(), reports=stream, alerts=write, late=None, spark=spark, settings=settings).wait(300)
    assert sum(seen) > 0
    whole = spark.read.parquet(str(tmp_path / "in.parquet"))
    assert art.collect(speeding(), reports=whole)["alerts"].height == 8


def test_a_checkpoint_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "reports.parquet")
    for expected in (100, 0):
        run = art.run(
            speeding(),
            reports=tmp_path / "reports.parquet",
            alerts=tmp_path / "alerts",
            checkpoint=tmp_path / "checkpoint",
            spark=spark,
            settings=TWO,
        )
        run.wait(300)
        assert run.statistics.tuples_in == expected
        assert run["alerts"].height == 8
    with pytest.raises(art.RunError, match="are not mixed"):
        art.run(speeding(), reports=FRAME, alerts=tmp_path / "alerts", spark=spark)


def test_what_cannot_be_sent_is_named(spark: SparkSession) -> None:
    lock = threading.Lock()

    @art.function(reads=["x"], produces="int64")
    def locked(x: pl.Series) -> pl.Series:
        with lock:
            return x

    net = art.Network("locked")
    net.source("s", {"time": int, "x": int}).map("m", y=locked).output("out")
    tuples = [{"time": 1, "x": 1}]
    assert art.collect(net, s=tuples)["out"].height == 1
    with pytest.raises(art.RunError, match=r"the box 'm' cannot be sent to Spark's workers.*lock"):
        art.run(net, s=tuples, spark=spark)


@pytest.mark.spark
@pytest.mark.parametrize("where", ["cell", pytest.param("script", marks=pytest.mark.slow)])
def test_a_users_own_things(where: str, tmp_path: Path) -> None:
    """They are in `__main__`; the script also imports a module beside it, from another folder than the current one."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "helper.py").write_text("SECONDS = 30\n")
    code = NETWORK + BOX + RUN
    if where == "script":
        (folder / "program.py").write_text(code)
        words = [str(folder / "program.py")]
    else:  # a cell has no file: the same is true of the code of -c
        words = ["-c", f"import sys; sys.path.insert(0, {str(folder)!r})\nexec(compile({code!r}, '<cell 1>', 'exec'))"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, timeout=500)
    assert done.returncode == 0, done.stderr
    *pairs, over = done.stdout.splitlines()
    assert over == f"over {list(range(1, 20))}"
    assert sorted(pairs) == sorted(2 * [str({"time": t, "vehicle": 1, "speed": 90 + t}) for t in range(21, 30)])
    assert (tmp_path / "alerts.csv").read_text().startswith("time,vehicle,over\n11,1,1\n")
