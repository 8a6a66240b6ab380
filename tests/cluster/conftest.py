"""The hosts that the tests of this folder share: a Spark master, two workers, and machines for drivers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.hosts import SparkHosts, available

LEFT_OUT = "hosts need root and iproute2 (ip, unshare): the tests on a cluster are left out"


@pytest.fixture(scope="module")
def hosts() -> Iterator[SparkHosts]:
    """A master and two workers of one core each."""
    if not available():
        pytest.skip(LEFT_OUT)
    cluster = SparkHosts(workers=2)
    try:
        yield cluster
    finally:
        cluster.close()
