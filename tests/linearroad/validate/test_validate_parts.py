"""The validator's vectorised parts, each against a loop that is obviously right."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest

from arterial.linearroad.semantics.profiles import SPEC, WALMART
from arterial.linearroad.validate.expected.accidents import Intervals, all_accidents, in_reach, minutes_with, stopped
from arterial.linearroad.validate.expected.chains import Reports, chains
from arterial.linearroad.validate.expected.segments import cars_table, cells_of, lav_table
from arterial.linearroad.validate.pairing import pair
from arterial.linearroad.validate.parcels import pack, unpack
from arterial.linearroad.validate.replicas import Replicas
from arterial.linearroad.validate.tallies import tally_from, tally_to
from arterial.linearroad.validate.verdict import Example, Latency, Tally


def _reports(rng: random.Random, number: int, vehicles: int, seconds: int) -> Reports:
    keys = sorted({(rng.randrange(seconds), rng.randrange(vehicles)) for _ in range(number)})
    rows = [(t, v, rng.randrange(101), rng.randrange(5), s := rng.randrange(3), s * 5280) for t, v in keys]
    return Reports(*(np.array(column) for column in zip(*rows, strict=True)), np.arange(len(rows)))


@pytest.mark.parametrize("huge", [0, 2**61])
def test_a_report_follows_that_of_30_seconds_before(huge: int) -> None:
    reports = _reports(random.Random(1), 900, 7, 300)
    reports = Reports(
        reports.time, reports.vid + huge, *(getattr(reports, n) for n in ("speed", "lane", "seg", "pos", "line"))
    )
    found = chains(reports, SPEC)
    there = set(zip(reports.vid.tolist(), reports.time.tolist(), strict=True))
    for vid, time, follows in zip(found.reports.vid.tolist(), found.reports.time.tolist(), found.follows, strict=True):
        assert follows == ((vid, time - 30) in there)


def test_hidden_reports_of_walmart() -> None:
    reports = _reports(random.Random(2), 900, 7, 300)
    hidden = set()
    last: dict[int, int] = {}
    for time, vid, lane in zip(reports.time.tolist(), reports.vid.tolist(), reports.lane.tolist(), strict=True):
        if last.get(vid) == 4 and lane != 0:
            hidden.add((time, vid))
        else:
            last[vid] = lane
    found = chains(reports, WALMART)
    assert set(zip(found.hidden.time.tolist(), found.hidden.vid.tolist(), strict=True)) == hidden
    assert len(found.reports) + len(found.hidden) == len(reports)


def test_stopped_is_four_in_a_row() -> None:
    found = chains(_reports(random.Random(3), 4000, 5, 1000), SPEC)
    stays, runs = found.stays, []
    for stay in stays:
        runs.append(runs[-1] + 1 if stay else 1)
    assert stopped(found).tolist() == [run >= 4 for run in runs]


def test_accidents_second_by_second() -> None:
    rng = random.Random(4)
    rows = []
    for vid in range(8):
        start = rng.randrange(60)
        rows += [(start + 30 * i, vid, 0, 1, 0, rng.choice((0, 0, 0, 0, 0, 7))) for i in range(40)]
    rows.sort()
    found = chains(Reports(*(np.array(c) for c in zip(*rows, strict=True)), np.arange(len(rows))), SPEC)
    cars: dict[tuple[int, int], set[int]] = {}
    for i in np.flatnonzero(stopped(found)).tolist():
        for second in range(int(found.reports.time[i]), int(found.reports.time[i]) + 30):
            cars.setdefault((int(found.reports.pos[i]), second), set()).add(int(found.reports.vid[i]))
    expected = {key for key, several in cars.items() if len(several) >= 2}
    told = all_accidents(found, SPEC)
    spans = list(zip(told.pos.tolist(), told.since.tolist(), told.until.tolist(), strict=True))
    assert expected
    assert {(pos, second) for pos, since, until in spans for second in range(since, until)} == expected
    assert told.cars.tolist() == [max(len(cars[pos, second]) for second in range(*span)) for pos, *span in spans]
    assert set(told.lane.tolist()) == {1}


def test_minutes_of_accidents() -> None:
    pair = np.array([1, 2])
    told = Intervals(np.array([59, 120]), np.array([61, 180]), lane=pair, pos=np.array([0, 99 * 5280]), cars=pair)
    marked = minutes_with(told, 4)
    assert np.argwhere(marked).tolist() == [[0, 0], [1, 0], [2, 99]]


@pytest.mark.parametrize("direction", [0, 1])
def test_reach_is_dn(direction: int) -> None:
    effect = np.random.default_rng(5).random((3, 100)) < 0.05
    bits = in_reach(effect, direction, (0, 4))
    for row in range(3):
        for seg in range(100):
            there = [min(seg + i, 99) if direction == 0 else max(seg - i, 0) for i in range(5)]
            assert (bits[row, seg] > 0) == any(effect[row, there])
            nearest = next((s for s in there if effect[row, s]), None)
            lowest = next((i for i in range(5) if bits[row, seg] >> i & 1), None)
            assert nearest == (None if lowest is None else there[lowest])


def test_lav_is_exact() -> None:
    """Speeds that make means of exactly 40 often, some of them of thirds and sevenths."""
    rng = random.Random(6)
    rows = [
        (t, v, rng.choice((39, 40, 41)), 1, 0, 0) for t in range(600) for v in rng.sample(range(40), rng.randint(0, 3))
    ]
    found = chains(Reports(*(np.array(c) for c in zip(*rows, strict=True)), np.arange(len(rows))), SPEC)
    cells = cells_of(found.reports)
    lav, cars = lav_table(cells, 12, SPEC), cars_table(cells, found, 12)
    for minute in range(12):
        means = []
        for back in range(max(minute - 5, 0), minute):
            speeds: dict[int, list[int]] = {}
            for time, vid, speed, *_ in rows:
                if time // 60 == back:
                    speeds.setdefault(vid, []).append(speed)
            if speeds:
                assert cars[back, 0] == len(speeds)
                means.append(sum(Fraction(sum(s), len(s)) for s in speeds.values()) / len(speeds))
        assert lav[minute, 0] == (sum(means) // len(means) if means else -1)


def test_pairs_are_as_many_right_ones_as_there_can_be() -> None:
    rng = random.Random(7)
    for _ in range(100):
        size = rng.randint(1, 4)
        accepted = [rng.sample(range(4), rng.randint(0, 3)) for _ in range(size)]
        told = [rng.randrange(4) for _ in range(size)]
        expected = pl.DataFrame({"number": range(size), "key": [0] * size})
        got = pl.DataFrame({"row": range(size), "key": [0] * size, "value": told})

        def right(pairs: pl.DataFrame, accepted: list[list[int]] = accepted) -> pl.Series:
            rows = pairs.select("number", "value_got").iter_rows()
            return pl.Series([value in accepted[number] for number, value in rows], dtype=pl.Boolean)

        pairs = pair(expected, got, ["key"], right)
        best = max(sum(told[row] in accepted[n] for n, row in enumerate(order)) for order in permutations(range(size)))
        assert pairs["ok"].sum() == best
        assert pairs["number"].n_unique() == pairs["row"].n_unique() == pairs.height == size


def test_percentiles() -> None:
    latency = Latency()
    response = np.random.default_rng(8).gamma(2, 1, 5000)
    latency.add(np.arange(5000) // 10, response)
    other = Latency()
    other.add(np.array([0]), np.array([400.0]))
    latency.join(other)
    everything = np.sort(np.append(response, 400.0))
    for share in (50, 95, 99):
        place = int(np.ceil(len(everything) * share / 100)) - 1
        assert latency.percentile(share) == pytest.approx(everything[place], abs=0.0011)
    assert latency.percentile(100) == latency.greatest == 400.0
    assert latency.minutes[0] == 400.0
    assert latency.minutes[3] == response[1800:2400].max()


def test_a_tally_travels() -> None:
    tally = Tally(2, examples=[Example("wrong", 5, {"a": 1}, None, "rule 17")], outside=3)
    tally.latency.add(np.array([5, 70]), np.array([0.25, 1.5]))
    again = tally_from(tally_to(tally))
    assert (again.counts, again.examples, again.outside) == (tally.counts, tally.examples, tally.outside)
    assert again.latency.minutes == tally.latency.minutes
    assert (again.latency.counts == tally.latency.counts).all()


@pytest.mark.parametrize("replicas", [Replicas(buckets=4), Replicas(2, 1000, 1000, 1, 4)])
def test_parcels_reach_their_bucket(replicas: Replicas) -> None:
    table = pl.DataFrame({"vid": np.arange(-500, 1500), "value": np.arange(2000)})
    target = replicas.bucket_of(table["vid"].to_numpy(), "vid")
    parcels = list(pack("x", table, target, replicas.buckets))
    back = [unpack([p for p in parcels if p.bucket == b], "x", {"vid": pl.Int64, "value": pl.Int64}) for b in range(4)]
    assert all(300 < one.height < 700 for one in back)
    assert all((replicas.bucket_of(one["vid"].to_numpy(), "vid") == b).all() for b, one in enumerate(back))
    assert pl.concat(back).sort("vid").equals(table)
