"""What all tests share: one Spark session, one PostgreSQL, and the marker `spark` on every test that starts one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from typer.testing import CliRunner, Result

from arterial.cli.main import app
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

# Tests run for seconds: neither Java's slow compiler nor threads for it and for its collector pay.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:CICompilerCount=1 -XX:+UseSerialGC")
# An archive of Java's classes is used if there is one (`make test-spark` makes it first).
os.environ.setdefault("ARTERIAL_ARCHIVE", "use")

# Files of tests are in memory where there is room: a run syncs each of its steps, so that the tests that visit every
# crash point would wait for the disk longer than they compute.
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30
if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


LONG = (
    "cluster/test_workers.py",
    "engine/attach/test_on_spark.py",
    "faults/test_fail_points.py",
    "studio/test_page.py",
    "faults/test_crash_points.py",
    "conformance/test_boxes.py",
    "moving/boxes/test_pipeline.py",
    "linearroad/validate/test_validate_expected.py",
    "cli/test_run.py",
    "test_how_to.py",
)
"""Files that take half a minute or more, the longest first. They begin first, so that no process is left alone with one
of them at the end (`make test` gives a file to a process as a whole)."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark for the whole test run: starting it is the slow part."""
    session = spark_session("tests", master="local[2]", settings={"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()


@pytest.fixture
def here(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command in this process and in the test's folder, on the Spark of all tests, which it leaves running."""
    monkeypatch.setattr("arterial.engine.spark.session.stop_spark", lambda session: None)
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses the session or a broker, and put the long files first."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "spark" in fixtures:
            item.add_marker("spark")
        if "kafka" in fixtures:  # a broker takes seconds to start
            item.add_marker("thorough")
    here = Path(__file__).parent
    turn = {here / name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: turn.get(item.path, len(LONG)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test without the marker `spark` cannot start Spark, neither here nor in a process of its own."""
    with pytest.MonkeyPatch.context() as environment:
        if item.get_closest_marker("spark") is None:
            environment.setenv("ARTERIAL_MASTER", "mark this test with pytest.mark.spark")
        return (yield)
