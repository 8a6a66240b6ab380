"""The peers of the five jobs give the answers that Polars gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.bench_jobs import JOBS, PEERS, Job, Peer, random_tuples, run_peer, write_polygons


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.short)
def test_a_peer_gives_the_right_answers(peer: Peer, job: Job, tmp_path: Path) -> None:
    if not peer.python.exists():
        pytest.skip(f"{peer.name} is a peer, which `make peers` installs")
    write_polygons(tmp_path / "polygons.json")
    assert run_peer(peer, job, random_tuples(job, 20_000), tmp_path) > 0
