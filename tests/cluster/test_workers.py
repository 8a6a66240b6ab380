"""A network on a cluster of real addresses: a worker is lost in the middle of the run, and another joins."""

from __future__ import annotations

import pytest

from tests.cluster.hosts import SparkHosts
from tests.cluster.running import Recovering

pytestmark = [pytest.mark.spark, pytest.mark.thorough, pytest.mark.timeout(1800)]


def test_a_worker_is_lost_and_another_joins(hosts: SparkHosts) -> None:
    hosts.until(2)
    run = Recovering(hosts, "lost", steps=8)
    process = run.start()
    run.until_step(2, process)
    assert hosts.executors("worker1") == hosts.executors("worker2") == 1, "both hosts should have worked"
    hosts.host("worker2").kill()
    hosts.add_worker("worker3")
    run.check(process)
