"""Linear Road from library boxes only: right in small cities, by our validator, and without code of its own."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from typer.testing import CliRunner

import arterial as art
from arterial.cli.main import app
from arterial.errors import ArterialError
from arterial.linearroad.application.feed import REPORT_SCHEMA, REQUEST_SCHEMA
from arterial.linearroad.application.run import LinearRoadRun, RunOptions
from arterial.linearroad.formats.dialects import dialect, read_output
from arterial.linearroad.reference import answer
from arterial.network.network import NetworkValue
from tests.linearroad.cities import City, generate, small
from tests.linearroad.outputs import write_city
from tests.seeds import seeds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).parents[2] / "examples" / "linear_road_boxes.py"
_drawn = run_path(str(EXAMPLE))
linear_road, usual_traffic = _drawn["linear_road"], _drawn["usual_traffic"]

ANSWERS = {
    "notices": ["vid", "time", "lav", "toll"],
    "alerts": ["time", "vid", "xway", "seg", "dir"],
    "balances": ["time", "result_time", "qid", "balance"],
    "expenditures": ["time", "qid", "balance"],
    "travels": ["time", "qid", "travel_time", "toll"],
}
SEGMENTS = ["day", "minute", "xway", "dir", "seg", "lav", "cnt", "toll"]


def tables(city: City, free_cars: int) -> dict[str, pl.DataFrame]:
    """The relations that the network loads."""
    schema = {"vid": pl.Int64, "day": pl.Int16, "xway": pl.Int32, "tolls": pl.Int64}
    tolls = pl.DataFrame([tuple(row) for row in city.tolls], schema, orient="row")
    rows = pl.DataFrame([tuple(row) for row in city.segments], dict.fromkeys(SEGMENTS, pl.Int64), orient="row")
    return {
        "tolls": tolls.unique(["vid", "day", "xway"], keep="last"),
        "segments": usual_traffic(rows.lazy(), free_cars).collect(),
    }


@pytest.mark.parametrize("seed", seeds(40, usual=14))
def test_it_answers_what_the_interpreter_answers(seed: int) -> None:
    city = generate(seed)
    events = pl.DataFrame(city.table())
    sources = {
        "reports": events.filter(pl.col("type") == 0).select(REPORT_SCHEMA.names),
        "requests": events.filter(pl.col("type") != 0).select(REQUEST_SCHEMA.names),
    }
    made = art.collect(linear_road(free_cars=1), sources | tables(city, 1))
    right = answer(city.table(), city.tolls, city.segments, small("spec"))
    for name, columns in ANSWERS.items():
        assert sorted(made[name].select(columns).rows()) == sorted(getattr(right, name)), name


def test_it_has_no_code_of_its_own() -> None:
    net = linear_road()
    assert {type(box).__module__.partition(".boxes.")[0] for box in net.value.boxes} == {"arterial"}
    assert art.Network.from_json(net.to_json()).value == net.value
    assert 55 <= len(net.value.boxes) <= 75
    assert set(net.value.groups) == {
        *("trips", "segment statistics", "accidents", "tolls", "notices and alerts", "accounts"),
        *("daily expenditure", "travel time"),
    }


@pytest.mark.thorough
def test_on_spark_with_replicas(tmp_path: Path, spark: SparkSession) -> None:
    city = generate(5)
    data, _, _ = write_city(city, tmp_path / "city")
    places = {name: tmp_path / f"{name}.parquet" for name in ("tolls", "segments")}
    for name, rows in tables(city, 50).items():
        rows.write_parquet(places[name])
    options = RunOptions(
        data, tmp_path / "out", places["tolls"], places["segments"], speed=math.inf, replicate=2, shards=2
    )

    def network(vids: int, xways: int) -> NetworkValue:
        value: NetworkValue = linear_road(vids_apart=vids, xways_apart=xways).value
        return value

    run = LinearRoadRun(options, spark=spark, network=network)
    assert run.wait(200)
    run.finish()
    right = answer(city.table(), city.tolls, city.segments)
    given = read_output(tmp_path / "out", dialect("paper")).answers
    for kind, table in given.tables():
        name, columns = list(ANSWERS.items())[kind]
        made = table.filter(pl.DataFrame(table).select(_is_original(table.column_names, run)).to_series().to_arrow())
        assert sorted(tuple(row.values()) for row in made.select(columns).to_pylist()) == sorted(getattr(right, name))
        assert table.num_rows == 2 * made.num_rows


def _is_original(columns: list[str], run: LinearRoadRun) -> pl.Expr:
    """Whether a row answers the first replica."""
    step = run.input.replication
    return pl.col("vid") < step.vid_step if "vid" in columns else pl.col("qid") < step.qid_step


def test_options_of_our_network_are_refused(tmp_path: Path) -> None:
    words = ["linear-road", "run", "--data", "city", "--out", str(tmp_path), "--network", f"{EXAMPLE}:linear_road"]
    words += ["--profile", "thesis2003", "--ftmin", "7", "--keep", "1 hour"]
    with pytest.raises(ArterialError, match="answers by its own rules: leave out --profile, --ftmin, --keep"):
        CliRunner().invoke(app, words, catch_exceptions=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_the_validator_passes_it(seed: int, tmp_path: Path) -> None:
    """A crowded expressway for nine minutes, with its history."""
    city, history, prepared = tmp_path / "city", tmp_path / "history", tmp_path / "prepared"
    _arterial("simulate", "--out", city, "--start-at", 9000, "--seconds", 540, "--seed", seed)
    _arterial("history", "--data", city, "--out", history)
    subprocess.run([sys.executable, str(EXAMPLE), str(history), str(prepared)], check=True, env=os.environ)
    own = ("--tolls", prepared / "tolls.parquet", "--segments", prepared / "segments.parquet")
    network = ("--network", f"{EXAMPLE}:linear_road")
    _arterial("run", "--data", city, "--out", tmp_path / "out", "--speed", "max", "--replicate", 2, *own, *network)
    kit = ("--data", city, "--tolls", history, "--segments", history, "--replicate", 2)
    verdict = json.loads(_arterial("validate", *kit, "--output", tmp_path / "out", "--no-causes", "--json"))
    assert verdict["passes"]


def _arterial(*words: Any) -> str:
    command = [sys.executable, "-m", "arterial", "linear-road", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
