"""The peers of the five jobs give the answers that Polars gives, and delays are counted from the last needed tuple."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks.bench_jobs import JOBS, PEERS, TUPLES, Job, Peer, random_tuples, run_peer, write_polygons
from benchmarks.bench_jobs_delay import EARLY, RATE, WARM, Due, run_live, systems_here

from tests.kafka import Broker


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.short)
def test_a_peer_gives_the_right_answers(peer: Peer, job: Job, tmp_path: Path) -> None:
    if not peer.python.exists():
        pytest.skip(f"{peer.name} is a peer, which `make peers` installs")
    write_polygons(tmp_path / "polygons.json")
    assert run_peer(peer, job, random_tuples(job, 20_000), tmp_path) > 0


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.short)
def test_live_answers_are_right(job: Job, kafka: Broker, tmp_path: Path) -> None:
    write_polygons(tmp_path / "polygons.json")
    for system in systems_here():
        made = run_live(system, job, EARLY + 12 * RATE, kafka, tmp_path)
        assert (made.missing, made.wrong) == (0, 0), system.name


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("short", "time", "known_at"), [("averages", 59, 60), ("leaders", 59, 60), ("sessions", 20, 51)]
)
def test_a_window_is_known_by_the_first_tuple_beyond_it(short: str, time: int, known_at: int) -> None:
    due, tuples = _due(short)
    first = next(n for n, at in enumerate(tuples["time"]) if at >= known_at)
    assert set(due.rows.filter(pl.col("time") == time)["needed"]) == {first}


@pytest.mark.thorough
@pytest.mark.parametrize(("short", "shared"), [("visits", ["time", "object"]), ("firsts", ["time", "id", "value"])])
def test_other_rows_are_known_by_their_own_tuple(short: str, shared: list[str]) -> None:
    due, tuples = _due(short)
    own = tuples[due.rows["needed"].to_list()]
    assert own.select(shared).equals(due.rows.select(shared))


@pytest.mark.thorough
def test_a_delay_is_from_the_last_needed_tuple_to_the_first_time_that_a_row_came() -> None:
    due, tuples = _due("leaders")
    sent, rows = np.arange(tuples.height) / RATE, due.rows.sort("needed")
    lines = rows.drop("needed").write_ndjson().encode().splitlines()
    came = [(line, sent[n] + 0.25) for line, n in zip(lines, rows["needed"], strict=True)]
    made = due.judge([*came, *((line, at + 1) for line, at in came)], sent)
    assert (made.missing, made.wrong, round(made.p99, 6)) == (0, 0, 0.25)
    other = b'{"time": 59, "page": -1, "hits": 0, "rank": 1}'
    made = due.judge([*came[5:], (other, 1.0)], sent)
    assert (made.missing, made.wrong) == (5, 1)
    assert due.judge([], sent).missing == rows.height


def _due(short: str) -> tuple[Due, pl.DataFrame]:
    job = next(job for job in JOBS if job.short == short)
    tuples = random_tuples(job, TUPLES).head(EARLY + (WARM + 6) * RATE)
    return Due(job, tuples), tuples
