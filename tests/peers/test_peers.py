"""The peers are right: what they answer to dense and dirty cities passes the validator."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.data.replicate import Replication
from arterial.linearroad.validate.job import validate
from tests.linearroad.cities import City, expenditure, generate, travel
from tests.linearroad.jams import jam
from tests.linearroad.outputs import write_city
from tests.postgres import Server

PEERS = Path(__file__).parents[2] / "peers"
REPLICAS = 2


@pytest.mark.slow
def test_duckdb_answers_as_the_validator_expects(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is a peer, which `make peers` installs")
    for seed in (1, 8, 9):
        _check([sys.executable, PEERS / "duckdb" / "system.py"], _city(seed), tmp_path / str(seed))


@pytest.mark.slow
def test_postgres_answers_as_the_validator_expects(tmp_path: Path, postgres: Server) -> None:
    _check([sys.executable, PEERS / "postgres" / "system.py"], _city(1), tmp_path, "--server", postgres.uri())


@pytest.mark.slow
def test_triggers_of_postgres_answer_as_the_validator_expects(tmp_path: Path, postgres: Server) -> None:
    system = [sys.executable, PEERS / "postgres" / "system.py"]
    for seed in (1, 8):
        _check(system, _city(seed), tmp_path / str(seed), "--server", postgres.uri(), "--triggers")


@pytest.mark.slow
def test_flink_answers_as_the_validator_expects(tmp_path: Path) -> None:
    if not (PEERS / "flink" / "target" / "lib").exists():
        pytest.skip("Flink is a peer, which `make peers` builds")
    for seed in (1, 8, 9):
        _check(["sh", PEERS / "flink" / "system.sh"], _city(seed), tmp_path / str(seed))


@pytest.mark.slow
@pytest.mark.spark
def test_structured_streaming_answers_as_the_validator_expects(tmp_path: Path) -> None:
    system = [sys.executable, PEERS / "structured-streaming" / "system.py"]
    for seed in (1, 8, 9):
        _check(system, _city(seed), tmp_path / str(seed), "--warm-up", "0")


@pytest.mark.slow
def test_pyflink_answers_as_the_validator_expects(tmp_path: Path) -> None:
    if not (PEERS.parent / "build" / "peers" / "python" / "pyflink").exists():
        pytest.skip("PyFlink is a peer, which `make peers` installs")
    for seed in (1, 8, 9):
        _check(["sh", PEERS / "pyflink" / "system.sh"], _city(seed), tmp_path / str(seed))


def _city(seed: int) -> City:
    """A jam, with requests of all kinds."""
    more = [expenditure(100 + day, 5, 1000 + day, day=day) for day in range(1, 20)]
    more += [travel(90, 5, 2000 + send, sinit=3, send=send, dow=2, tod=480) for send in (3, 9)]
    return City((*jam(seed), *more), generate(seed).tolls, ())


def _check(system: list[str | Path], city: City, folder: Path, *options: str) -> None:
    """Two replicas of the city through the system: each has vehicles of its own, and the history of the original."""
    events, tolls, _ = write_city(city, folder)
    (folder / "tolls").mkdir()
    rows = pl.DataFrame(city.tolls, ["vid", "day", "xway", "tolls"], orient="row")
    rows.write_parquet(folder / "tolls" / "0.parquet")
    rows.write_csv(folder / "tolls" / "0.csv", include_header=False)
    (folder / "start").write_text(str(time.time()))
    data = open_data(events)
    apart = Replication.of(data, REPLICAS)
    lines = _lines(apart, city)
    steps = ["--vids-apart", str(apart.vid_step), "--xways-apart", str(apart.xway_step)]
    command = [*system, folder / "answers.csv", folder / "start", "--tolls", folder / "tolls", *steps, *options]
    # The tests' options for Java are for short runs of ours, and clash with the peers' own.
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    subprocess.run(command, input=lines, check=True, timeout=550, env=environment)
    verdict = validate(data, folder / "answers.csv", tolls=tolls, timed=False, replicate=REPLICAS)
    assert verdict.passes, verdict.as_json()
    assert verdict.tallies[0].counts["right"] > 200


def _lines(apart: Replication, city: City) -> bytes:
    events = pl.DataFrame(apart.events(city.table())).sort("time", maintain_order=True)
    return events.write_csv(include_header=False).encode()
