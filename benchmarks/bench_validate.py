"""How fast the validator judges expressways of three hours; the output is its own answers with random delays."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from arterial.linearroad.data.dataset import Data, open_data
from arterial.linearroad.formats.answers import ANSWER_SCHEMA, Answers
from arterial.linearroad.formats.dialects import FLAT_FILE, PAPER, encode, parse, read_output, write_output
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.semantics.city import RUN_SECONDS
from arterial.linearroad.validate import validate
from arterial.linearroad.validate.expected.expected import Expectation, expected
from benchmarks.figure import Figure
from benchmarks.peak import Peak

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

XWAYS = 50


def measure() -> list[Figure]:
    """Judge one and fifty expressways on Spark, and read an output file."""
    from arterial.engine.spark.session import spark_session

    with tempfile.TemporaryDirectory(prefix="arterial-bench-") as name:
        folder = Path(name)
        one = _city(folder)
        write_output(answers_of(expected(one.read(0, RUN_SECONDS))), folder / "output", PAPER)
        text = (folder / "output" / FLAT_FILE).read_bytes()
        began = time.monotonic()
        lines = parse(text, PAPER).lines
        reading = time.monotonic() - began
        began = time.monotonic()
        spark = spark_session("bench validate")
        start = time.monotonic() - began
        first = start + _judge(one, folder / "output", spark)
        many = _several(one, folder)
        memory = Peak(os.getpid())
        with memory:
            all_of_them = _judge(many, folder / "output-all", spark)
    return [
        Figure("validate one expressway × 3 h", first, "s", at_most=60, remark="Spark's start included"),
        Figure("validate fifty expressways × 3 h", all_of_them, "s", at_most=1200, remark="one, with other vehicles"),
        Figure("memory meanwhile, all processes", memory.bytes / 2**30, "GiB", remark="the most at once"),
        Figure("read output lines", lines / reading, "lines/s", remark="one process"),
    ]


def _judge(data: Data, output: Path, spark: SparkSession) -> float:
    verdict = validate(data, output, spark=spark)
    if not verdict.passes:
        raise AssertionError("the validator refuses its own answers")
    return verdict.seconds


def answers_of(found: Expectation) -> Answers:
    """An output that gives the expected answers with random response times within the limits."""
    rng = np.random.default_rng(1)

    def table(answer_type: int, rows: pl.DataFrame) -> pa.Table:
        schema = ANSWER_SCHEMA[answer_type]
        delay = pl.Series(np.minimum(rng.gamma(4, 0.15, rows.height), 4.9))
        return rows.with_columns((pl.col("time") + delay).alias("emit")).select(schema.names).to_arrow().cast(schema)

    alerts = found.alerts.drop("seg").rename({"nearest": "seg"})
    tables = (found.notices, alerts, found.balances, found.expenditures, found.travels)
    return Answers.of({answer_type: table(answer_type, rows) for answer_type, rows in enumerate(tables)})


def _city(folder: Path) -> Data:
    """Three hours of one expressway, simulated."""
    from arterial.cli.main import app

    app(["linear-road", "simulate", "--xways", "1", "--out", str(folder / "city")], standalone_mode=False)
    return open_data(folder / "city")


def _several(one: Data, folder: Path) -> Data:
    """The same expressway many times, with vehicles and query ids of their own, and the output of all."""
    (folder / "all" / "events").mkdir(parents=True)
    shutil.copy(one.folder / "city.json", folder / "all" / "city.json")
    (folder / "output-all").mkdir()
    events = pl.read_parquet(next(iter(one.parquet_files.values())))
    answers = read_output(folder / "output", PAPER).answers
    with (folder / "output-all" / FLAT_FILE).open("wb") as out:
        for xway in range(XWAYS):
            more = xway * 10_000_000
            shifted = events.with_columns(
                pl.col("vid") + more,
                pl.when(pl.col("qid") >= 0).then(pl.col("qid") + more).otherwise(pl.col("qid")).alias("qid"),
                pl.when(pl.col("xway") >= 0).then(xway).otherwise(pl.col("xway")).cast(pl.Int32).alias("xway"),
            )
            file = folder / "all" / "events" / f"xway-{xway:03}.parquet"
            pq.write_table(shifted.to_arrow().cast(EVENT_SCHEMA), file, row_group_size=1 << 17)
            for answer_type, table in answers.tables():
                moved = pl.DataFrame(pl.from_arrow(table)).with_columns(
                    pl.col("^(vid|qid)$") + more, pl.col("^xway$") + xway
                )
                out.write(encode(answer_type, moved.to_arrow(), PAPER))
    return open_data(folder / "all")
