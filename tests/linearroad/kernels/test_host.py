"""The kernels together against the plain model, on random cities cut at random into trains."""

from __future__ import annotations

import random

import numpy as np
import pytest

from arterial.linearroad.kernels.host import LinearRoadKernels
from tests.linearroad.kernels.cities import city, columns, cuts
from tests.linearroad.kernels.model import Model, Report


def rows(table: object, *names: str) -> list[tuple[int, ...]]:
    """A table of answers as tuples."""
    return list(zip(*(getattr(table, name).tolist() for name in names), strict=True))


def run(
    reports: list[Report], rng: random.Random, requests: list[tuple[int, int, int]]
) -> tuple[list, list, list, list]:
    """All answers of the kernels."""
    kernels = LinearRoadKernels()
    notices, alerts, charges, balances = [], [], [], []
    bounds = cuts(reports, rng)
    for n, (start, stop) in enumerate(zip(bounds, bounds[1:], strict=False)):
        last = n == len(bounds) - 2
        after = -1 if n == 0 else reports[start - 1].time
        through = 10**6 if last else reports[stop - 1].time
        now = [r for r in requests if after < r[0] <= through]
        asked = {name: np.array([r[i] for r in now], np.int64) for i, name in enumerate(("time", "vid", "qid"))}
        if rng.random() < 0.1:
            kernels.accounts.memo.clear()
        answered = kernels.feed(columns(reports[start:stop]), asked)
        notices += rows(answered.notices, "vid", "time", "lav", "toll")
        alerts += rows(answered.alerts, "time", "vid", "xway", "seg", "dir")
        charges += rows(answered.charges, "vid", "time", "toll")
        balances += rows(answered.balances, "time", "qid", "result_time", "balance")
    return notices, alerts, charges, balances


def check(seed: int) -> tuple[int, int, int]:
    """Compare one city; the number of its alerts, charges and accidents."""
    rng = random.Random(seed)
    reports = city(seed)
    model = Model(reports)
    vids = sorted({r.vid for r in reports})
    requests = sorted((rng.randrange(520), rng.choice(vids), qid) for qid in range(200))
    notices, alerts, charges, balances = run(reports, rng, requests)
    assert notices == model.notices, seed
    assert alerts == model.alerts, seed
    assert charges == model.charges, seed
    assert balances == [(t, qid, *model.balance(vid, t)) for t, vid, qid in requests], seed
    return len(alerts), len(charges), len(model.accidents)


def test_random_cities() -> None:
    seen = np.array([check(seed) for seed in range(60)]).sum(axis=0)
    assert seen.min() > 100, "these cities test something"


@pytest.mark.slow
def test_many_random_cities() -> None:
    for seed in range(1000, 3000):
        check(seed)
