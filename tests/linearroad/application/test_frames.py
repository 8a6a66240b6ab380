"""Linear Road on DataFrames of Spark, those that are there and those that come."""

from __future__ import annotations

import math
import os
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from arterial.errors import ArterialError
from arterial.linearroad.application.frames import run_frame
from arterial.linearroad.application.run import RunOptions
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.reference import answer
from arterial.linearroad.semantics.profiles import profile
from tests.linearroad.application.live.test_live import CITY, WAIT_SECONDS, Rows, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAPER_NAMES = [*("Type", "Time", "VID", "Spd", "XWay", "Lane", "Dir", "Seg", "Pos"), *EVENT_SCHEMA.names[9:]]


@pytest.fixture(scope="module")
def right() -> Rows:
    return [sorted(rows) for rows in astuple(answer(CITY.table(), (), (), profile("spec")))]


def options(out: Path) -> RunOptions:
    return RunOptions("frame", out, speed=math.inf, shards=2)


def test_a_frame_of_rows_in_any_order(spark: SparkSession, tmp_path: Path, right: Rows) -> None:
    table = CITY.table().rename_columns(PAPER_NAMES).to_pandas().sample(frac=1.0, random_state=1)
    run = run_frame(spark.createDataFrame(table).repartition(3), options(tmp_path / "out"))
    assert run.wait(WAIT_SECONDS)
    assert run.finish()["data"] == "frame"
    assert rows_of(tmp_path / "out") == right


def test_a_stream_of_rows(spark: SparkSession, tmp_path: Path, right: Rows) -> None:
    table, folder = CITY.table(), tmp_path / "arriving"
    folder.mkdir()
    third = table.num_rows // 3
    for number in range(3):  # cut inside a second, wherever that is
        pq.write_table(table.slice(number * third, third if number < 2 else None), folder / f"{number}.parquet")
        os.utime(folder / f"{number}.parquet", (number, number))  # Spark takes them in the order of their age
    schema = spark.read.parquet(str(folder)).schema
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    run = run_frame(frame, options(tmp_path / "out"), only_available=True)
    assert run.wait(WAIT_SECONDS)
    figures = run.finish()
    assert figures["reports"] + figures["requests"] == table.num_rows
    assert rows_of(tmp_path / "out") == right


def test_columns_that_are_missing_are_named(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(CITY.table().to_pandas()).drop("qid", "tod")
    with pytest.raises(ArterialError, match="no column qid, tod"):
        run_frame(frame, options(tmp_path / "out"))
