"""A table of a database that changes under a run on Spark, where another process plans the steps."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import arterial as art
from tests.connectors.tables.test_file import network


@pytest.mark.thorough
def test_a_change_reaches_the_run(spark: SparkSession, tmp_path: Path) -> None:
    def ask(text: str) -> None:
        with closing(sqlite3.connect(tmp_path / "city.db")) as db, db:
            db.execute(text)

    ask("CREATE TABLE places (place TEXT PRIMARY KEY, zone INTEGER)")
    ask("INSERT INTO places VALUES ('a', 1)")
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "1.csv").write_text("time,place\n1,a\n2,a\n")
    places = f"sqlite:///{tmp_path}/city.db?refresh=20 ms"
    run = art.run(
        network(), reports=f"{reports}?follow&idle=0.1", places=places, checkpoint=tmp_path / "c", spark=spark
    )
    until = time.monotonic() + 60
    while run["out"].height < 1:
        assert time.monotonic() < until
        time.sleep(0.05)
    ask("UPDATE places SET zone = 22")
    time.sleep(0.5)
    (reports / "2.csv").write_text("time,place\n3,a\n4,a\n")
    (reports / "_END").touch()
    run.wait(60)
    assert run["out"].sort("time")["zone"].to_list()[-2:] == [22, 22]
    assert run["out"].sort("time")["zone"].to_list()[0] == 1
