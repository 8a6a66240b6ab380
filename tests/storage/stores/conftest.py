"""Both stores, each started once; `store` gives the tests one after the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.host import workers as workers
from tests.stores import RunningStore, running_hdfs, running_s3


@pytest.fixture(scope="session")
def s3() -> Iterator[RunningStore]:
    with running_s3() as store:
        yield store


@pytest.fixture(scope="session")
def hdfs() -> Iterator[RunningStore]:
    with running_hdfs() as store:
        yield store


@pytest.fixture(params=["s3", "hdfs"])
def store(request: pytest.FixtureRequest) -> RunningStore:
    found: RunningStore = request.getfixturevalue(request.param)
    return found
