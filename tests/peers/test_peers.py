"""The peers that poll are right: what they answer to dense and dirty cities passes the validator."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.validate.job import validate
from tests.linearroad.cities import City, expenditure, generate, travel
from tests.linearroad.jams import jam
from tests.linearroad.outputs import write_city
from tests.postgres import Server

PEERS = Path(__file__).parents[2] / "peers"


@pytest.mark.slow
def test_duckdb_answers_as_the_validator_expects(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is a peer, which `make peers` installs")
    for seed in (1, 3, 8):
        _check("duckdb", _city(seed), tmp_path / str(seed))


@pytest.mark.slow
def test_postgres_answers_as_the_validator_expects(tmp_path: Path, postgres: Server) -> None:
    _check("postgres", _city(3), tmp_path, "--server", postgres.uri())


def _city(seed: int) -> City:
    """A jam, with requests of all kinds."""
    more = [expenditure(100 + day, 5, 1000 + day, day=day) for day in range(1, 20)]
    return City((*jam(seed), *more, travel(90, 5, 2000, sinit=3, send=9, dow=2, tod=480)), generate(seed).tolls, ())


def _check(peer: str, city: City, folder: Path, *options: str) -> None:
    events, tolls, _ = write_city(city, folder)
    (folder / "tolls").mkdir()
    rows = pl.DataFrame(city.tolls, ["vid", "day", "xway", "tolls"], orient="row")
    rows.write_parquet(folder / "tolls" / "0.parquet")
    (folder / "start").write_text(str(time.time()))
    command = [sys.executable, PEERS / peer / "system.py", folder / "answers.csv", folder / "start"]
    with events.open() as lines:
        subprocess.run([*command, "--tolls", folder / "tolls", *options], stdin=lines, check=True, timeout=120)
    verdict = validate(open_data(events), folder / "answers.csv", tolls=tolls, timed=False)
    assert verdict.passes, verdict.as_json()
    assert verdict.tallies[0].counts["right"] > 100
