"""The reports of the random cities of `cities`, with requests for balances among them."""

from __future__ import annotations

import random

from arterial.linearroad.reference import Event
from tests.linearroad.cities import balance
from tests.linearroad.kernels.cities import city


def jam(seed: int, *, crowd: int = 90, seconds: int = 500) -> list[Event]:
    """The reports and balance requests of one random city, ordered by time."""
    rng = random.Random(seed)
    reports = [Event(0, *report) for report in city(seed, crowd=crowd, seconds=seconds)]
    vehicles = 1 + max(report.vid for report in reports)
    requests = [balance(rng.randrange(seconds + 100), rng.randrange(vehicles + 1), qid) for qid in range(100)]
    events = [*reports, *requests]
    rng.shuffle(events)
    return sorted(events, key=lambda event: event.time)
