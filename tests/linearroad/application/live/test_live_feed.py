"""The feeds of live input: every tuple of the spool once, in whole seconds, by slot, when it is due."""

from __future__ import annotations

import math
import random
from pathlib import Path

import polars as pl
import pytest

from arterial.connectors.pace import Pace
from arterial.connectors.source import Ask, Part, Span
from arterial.linearroad.application.feed import ROAD_KEY
from arterial.linearroad.application.live.feed import LiveFeed, LiveReportFeed, LiveRequestFeed
from arterial.linearroad.application.live.spool import Spool, position
from arterial.linearroad.application.live.spooler import Spooler
from arterial.linearroad.data.cleaning import Cleaner
from arterial.linearroad.formats.line_writer import event_lines
from arterial.network.train import END
from tests.linearroad.cities import generate

CITY = generate(5)


def feeds(folder: Path, *, speed: float = math.inf, until: int | None = None) -> tuple[LiveFeed, LiveFeed, Spooler]:
    pace = Pace(0, speed, path=folder / "clock.json")
    spool = Spool(folder / "spool")
    taking = Spooler(spool, folder / "rejects.csv", pace, cleaner=Cleaner(), until=until, now=lambda: 1000.0)
    one = LiveReportFeed(folder=spool.folder, pace=pace, until=until)
    return one, LiveRequestFeed(folder=spool.folder, pace=pace, until=until), taking


@pytest.mark.parametrize("until", [None, 200])
def test_every_tuple_once_in_whole_seconds(tmp_path: Path, until: int | None) -> None:
    rng = random.Random(1)
    reports, requests, taking = feeds(tmp_path, until=until)
    data = b"".join(event_lines(CITY.table()))
    got: dict[str, list[pl.DataFrame]] = {"reports": [], "requests": []}
    at, now = 0, 0.0
    before = reports.begin()
    while before.through != END:
        if at < len(data):
            size = rng.randrange(4000)
            taking.feed(data[at : at + size])
            at += size
        else:
            taking.finish()
        now += 1.0
        ask = Ask(now, rng.choice((1, 50, 10_000)))
        after = reports.plan(before, ask)
        assert requests.plan(before, ask) == after
        for part in (Part(index, 3, ROAD_KEY) for index in range(3)):
            trains = list(reports.read_trains(Span(before, after), part))
            assert trains[-1].through == after.through
            got["reports"] += [train.tuples for train in trains]
        got["requests"] += [requests.read(before, after, Part(index, 2)) for index in range(2)]
        before = after
    wanted = pl.DataFrame(pl.from_arrow(CITY.table())).filter(pl.col("time") < (until or 10**6))
    for name, is_report in (("reports", True), ("requests", False)):
        found = pl.concat(got[name])
        right = wanted.filter((pl.col("type") == 0) == is_report).select(found.columns)
        assert sorted(found.rows()) == sorted(right.rows())
    assert 0 < position(taking.spool.folder) <= (until or 10**6)


def test_seconds_wait_for_the_clock(tmp_path: Path) -> None:
    reports, _, taking = feeds(tmp_path, speed=2.0)
    assert reports.plan(reports.begin(), Ask(999.0, 10)) == reports.begin()  # and the clock does not start
    taking.feed(b"".join(f"0,{t},7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1\n".encode() for t in (4, 5, 6, 7)))
    after = reports.plan(reports.begin(), Ask(1000.1, 10))  # second 4 came at 1000, so 5 is due at 1000.5
    assert (after.position["second"], after.position["warm up"], after.through) == (5, 0, 4)
    assert reports.waiting(after, 1000.1) == 3
    assert reports.plan(after, Ask(1000.6, 10)).through == 5
    assert reports.plan(after, Ask(2000.0, 10)).through == 6  # second 7 is not complete
