"""What all tests share: one Spark session, one PostgreSQL, and the marker `spark` on every test that starts one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from arterial.engine.spark.session import spark_session
from tests.kafka import kafka as kafka
from tests.postgres import postgres as postgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A busy machine makes no case wrong, only slow. The same cases on every run, so that a red suite is red for its change;
# `make test-slow` looks for new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("same")

# Tests run for seconds, so Java's slow compiler never pays.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
# An archive of Java's classes is used if there is one (`make test-spark` makes it first).
os.environ.setdefault("ARTERIAL_ARCHIVE", "use")

# Files of tests are in memory where there is room: a run syncs each of its steps, so that the tests that visit every
# crash point would wait for the disk longer than they compute.
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30
if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark for the whole test run: starting it is the slow part."""
    session = spark_session("tests", master="local[2]", settings={"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses the session."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test without the marker `spark` cannot start Spark, neither here nor in a process of its own."""
    with pytest.MonkeyPatch.context() as environment:
        if item.get_closest_marker("spark") is None:
            environment.setenv("ARTERIAL_MASTER", "mark this test with pytest.mark.spark")
        return (yield)
