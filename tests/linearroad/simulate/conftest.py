"""What the tests of the simulator share: small data sets, made once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arterial.cli.parts.progress import Bar
from arterial.linearroad.simulate.job import City, simulate
from arterial.linearroad.simulate.progress import Watched
from arterial.linearroad.simulate.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def quiet(what: str, *, total: float, unit: str) -> Watched:
    return Bar(what, total=total, unit=unit, quiet=True)


@pytest.fixture(scope="session")
def make(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Settings], tuple[Path, City]]:
    """Makes a data set in a folder of its own."""

    def one(settings: Settings) -> tuple[Path, City]:
        out = tmp_path_factory.mktemp("simulated") / "data"
        return out, simulate(spark, settings, out, quiet)

    return one


@pytest.fixture(scope="session")
def rush_hour(make: Callable[[Settings], tuple[Path, City]]) -> tuple[Path, City]:
    """Two and a half expressways of light traffic for an hour: accidents, vehicles that come back."""
    return make(Settings(xways=2.5, seconds=3600, density=0.15, seed=7))


def reports_of(folder: Path) -> pa.Table:
    """All events of a data set."""
    return pa.concat_tables([pq.read_table(file) for file in sorted((folder / "events").iterdir())])
