"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from arterial.engine.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A busy machine makes no case wrong, only slow.
settings.register_profile("arterial", deadline=None)
settings.load_profile("arterial")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One Spark for the whole test run: starting it is the slow part."""
    session = spark_session("tests", master="local[2]", settings={"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()
