"""Descriptions of tiny data, computed by hand, and of more against obvious loops."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.errors import DataError
from arterial.linearroad.data.dataset import Data, open_data
from arterial.linearroad.describe import description as description_module
from arterial.linearroad.describe.accidents import Accident, accident_minutes, find_accidents
from arterial.linearroad.describe.chains import Chains
from arterial.linearroad.describe.description import describe
from arterial.linearroad.describe.page import page_of
from arterial.linearroad.describe.segments import latest_average_velocity, minute_statistics, near, tolls
from arterial.linearroad.describe.terminal import curve, speed_map, toll_map
from tests.linearroad.traffic import balance, drive_along, expenditure, report, text_of, travel


def data_of(tmp_path: Path, rows: list[tuple[int, ...]]) -> Data:
    path = tmp_path / "events.csv"
    path.write_bytes(text_of(sorted(rows, key=lambda row: row[1])))
    return open_data(path)


def crowd(minutes: int, vehicles: int = 60, speed: int = 20) -> list[tuple[int, ...]]:
    """Slow vehicles that crawl in segment 50, two reports a minute."""
    return [
        report(60 * minute + 30 * half + vid % 30, vid, speed, lane=1, pos=50 * 5280 + vid + 10 * (2 * minute + half))
        for vid in range(vehicles)
        for minute in range(minutes)
        for half in (0, 1)
    ]


def test_counts(tmp_path: Path) -> None:
    rows = [
        report(0, 1, 40, lane=0, pos=0), report(30, 1, 60, pos=3000), report(60, 1, 60, pos=5500),
        report(90, 1, 20, lane=4, pos=5600), report(500, 1, 30, lane=0, dir=1, pos=6000),
        report(10, 2, 50, lane=2, xway=1, pos=10), balance(30, 1, 1), expenditure(60, 1, 2),
        travel(60, 1, 3), travel(60, 1, 4),
    ]  # fmt: skip
    found = describe(data_of(tmp_path, rows)).as_json()
    assert (found["reports"], found["requests"]) == (6, {"2": 1, "3": 1, "4": 2})
    assert (found["vehicles"], found["trips"], found["trips_from_a_ramp"], found["trips_to_an_exit"]) == (2, 3, 2, 1)
    assert found["mean_speed"] == pytest.approx((40 + 60 + 60 + 20 + 30 + 50) / 6)
    # The first of each trip, and segment 1 at second 60; lane 4 is never notified.
    assert found["toll_notices"] == 4
    assert found["accidents"] == []
    assert found["share_of_tolls_above_0"] == 0


def test_a_crowd_pays_by_the_formula(tmp_path: Path) -> None:
    rows = [*crowd(3), report(150, 1000, 20, lane=1, pos=50 * 5280), report(150, 1001, 20, lane=1, pos=99 * 5280)]
    description = describe(data_of(tmp_path, rows))
    sketch = description.sketches[0]
    assert sketch.cars[0, 0, 50] == 60
    assert sketch.lav[1, 0, 50] == 20
    assert sketch.toll[0, 0, 50] == 0
    assert sketch.toll[1, 0, 50] == 2 * (60 - 50) ** 2
    # 60 vehicles enter in minute 0 free of toll; of the two that come in minute 2 one pays.
    assert description.toll_share() == pytest.approx(1 / 62)
    assert description.toll_share(slice(40, 60)) == pytest.approx(1 / 61)
    assert description.mean_toll() == 200


def test_an_accident_is_found_and_makes_tolls_free(tmp_path: Path) -> None:
    place = 52 * 5280 + 7
    stopped = [report(time, vid, 0, lane=2, pos=place) for vid in (900, 901) for time in range(5 + vid % 2, 300, 30)]
    gone = [report(305 + vid % 2, vid, 10, lane=2, pos=place + 50) for vid in (900, 901)]
    late = [report(60 * minute + 59, 2000 + minute, 20, lane=1, pos=50 * 5280) for minute in range(8)]
    description = describe(data_of(tmp_path, [*crowd(8), *stopped, *gone, *late]))
    assert description.accidents == [Accident(0, 0, 2, place, 96, 305, 2)]
    # It exists in minutes 1 to 5, so it has effect in minutes 2 to 6.
    assert (description.sketches[0].toll[:, 0, 50] > 0).tolist() == [False, True, *[False] * 5, True]
    assert description.alerts == 5


def test_vehicles_that_stop_apart_are_no_accident() -> None:
    apart = [[0, 1, 100, 7, 0, 60], [0, 1, 100, 8, 60, 120], [0, 2, 100, 9, 0, 120], [1, 1, 100, 5, 0, 120]]
    assert find_accidents(0, np.array(apart)) == []
    off_the_road = [[0, 0, 100, 7, 0, 60], [0, 0, 100, 8, 0, 60], [0, 4, 9, 7, 0, 60], [0, 4, 9, 8, 0, 60]]
    assert find_accidents(0, np.array(off_the_road)) == []


def test_three_cars_and_a_second_accident_at_one_place() -> None:
    rows = [[0, 1, 5280, 1, 0, 90], [0, 1, 5280, 2, 30, 120], [0, 1, 5280, 3, 40, 70], [0, 1, 5280, 4, 200, 260]]
    rows.append([0, 1, 5280, 5, 210, 240])
    assert find_accidents(3, np.array(rows)) == [
        Accident(3, 0, 1, 5280, 30, 90, 3),
        Accident(3, 0, 1, 5280, 210, 240, 2),
    ]


def test_the_minutes_of_an_accident_and_its_reach() -> None:
    there = accident_minutes([Accident(0, 0, 1, 50 * 5280, 59, 120, 2)], 5)
    assert np.argwhere(there).tolist() == [[0, 0, 50], [1, 0, 50]]
    reach = near(there)
    assert np.argwhere(reach[:, 0]).tolist() == [[minute, segment] for minute in (1, 2) for segment in range(46, 51)]
    west = np.zeros((2, 2, 100), bool)
    west[0, 1, 0] = True
    assert np.flatnonzero(near(west)[1, 1]).tolist() == [0, 1, 2, 3, 4]


reports = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 100), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=60
)


@settings(deadline=None)
@given(reports)
def test_minute_statistics_against_a_loop(rows: list[tuple[int, int, int, int]]) -> None:
    vid, speed, dir, seg = (np.array(column) for column in zip(*rows, strict=True))
    cars, speeds = minute_statistics(vid, speed, dir, seg)
    by_vehicle: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for v, s, d, g in rows:
        by_vehicle[d, g][v].append(s)
    for d in (0, 1):
        for g in range(100):
            vehicles = by_vehicle[d, g]
            assert cars[d, g] == len(vehicles)
            if vehicles:
                mean = sum(Fraction(sum(s), len(s)) for s in vehicles.values()) / len(vehicles)
                assert speeds[d, g] == pytest.approx(float(mean))
            else:
                assert np.isnan(speeds[d, g])


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 100)), min_size=1, max_size=15))
def test_lav_against_a_loop(means: list[int | None]) -> None:
    speeds = np.array([np.nan if mean is None else mean for mean in means])
    found = latest_average_velocity(speeds)
    for minute in range(len(means)):
        known = [mean for mean in means[max(0, minute - 5) : minute] if mean is not None]
        assert np.isnan(found[minute]) if not known else found[minute] == sum(known) // len(known)


def test_a_lav_of_exactly_40_is_no_congestion() -> None:
    cars = np.full((6, 1, 1), 60)
    lav = latest_average_velocity(np.full((6, 1, 1), np.mean([39.9, 40.1])))
    assert lav[5] == 40
    assert tolls(cars, lav, np.zeros(cars.shape, bool)).sum() == 0
    assert tolls(cars, lav - 1, np.zeros(cars.shape, bool))[5] == 200
    assert tolls(cars - 10, lav - 1, np.zeros(cars.shape, bool)).sum() == 0


moves = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 300), st.integers(0, 4), st.integers(0, 1), st.integers(0, 2)),
    max_size=80,
)


@settings(deadline=None, max_examples=200)
@given(moves, st.integers(1, 7))
def test_chains_against_a_loop(rows: list[tuple[int, int, int, int, int]], pieces: int) -> None:
    """Vehicle, time, lane, direction, place; a vehicle reports once a second."""
    unique = {(vid, time): (vid, time, lane, dir, place) for vid, time, lane, dir, place in rows}
    rows = sorted(unique.values(), key=lambda row: (row[1], row[0]))
    chains = Chains(6)
    cuts = np.linspace(0, len(rows), pieces + 1).astype(int)
    for start, stop in pairwise(cuts):
        part = np.array(rows[start:stop], np.int64).reshape(-1, 5).T
        chains.follow(part[1], part[0], part[2], part[3], part[4], part[4] * 5280)

    trips = entries = exits = 0
    notices: dict[tuple[int, int, int], int] = defaultdict(int)
    stops = []
    at = {(vid, time): (lane, dir, place) for vid, time, lane, dir, place in rows}
    alike: dict[tuple[int, int], int] = {}
    for vid, time, lane, dir, place in rows:
        before = at.get((vid, time - 30))
        goes_on = before is not None and before[1] == dir
        trips += not goes_on
        entries += not goes_on and lane == 0
        exits += lane == 4 and not (goes_on and before is not None and before[0] == 4)
        if lane != 4 and not (goes_on and before is not None and before[2] == place):
            notices[time // 60, dir, place] += 1
        alike[vid, time] = alike[vid, time - 30] + 1 if before == (lane, dir, place) else 1
        if at.get((vid, time + 30)) != (lane, dir, place) and alike[vid, time] >= 4:
            stops.append([dir, lane, place * 5280, vid, time - 30 * (alike[vid, time] - 4), time + 30])
    assert (chains.trips, chains.entries, chains.exits) == (trips, entries, exits)
    assert {tuple(place): int(chains.notices[tuple(place)]) for place in np.argwhere(chains.notices)} == notices
    assert sorted(chains.stops().tolist()) == sorted(stops)
    assert chains.vehicles().tolist() == sorted({row[0] for row in rows})


def test_spark_finds_the_same(tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description_module, "SPARK_EVENTS", 0)
    rows = [*drive_along(60, 600), *drive_along(60, 600, xway=2, seed=5)]
    data = data_of(tmp_path, rows)
    told: list[float] = []
    by_spark = describe(data, spark=lambda: spark, progress=told.append)  # type: ignore[arg-type,return-value]
    assert by_spark.as_json() == describe(data).as_json()
    assert told[-1] == 20


def test_the_page_tells_everything(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_bytes(text_of(drive_along(60, 600)) + b"junk\n")
    page = page_of(describe(open_data(tmp_path / "events.csv"))).html()
    for words in (
        "No toll is above 0",
        "Reports per second",
        "LAV eastbound",
        "Beside the paper",
        "not 15 fields",
        "junk",
    ):
        assert words.lower() in page.lower()
    page = page_of(describe(data_of(tmp_path, [*crowd(3), report(150, 1000, 20, lane=1, pos=50 * 5280)]))).html()
    assert "carry a toll above 0" in page
    assert "Tolls eastbound" in page


def test_the_command_prints_pictures_and_writes_the_page(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_bytes(text_of(drive_along(60, 600)))
    page = tmp_path / "new" / "page.html"
    result = CliRunner().invoke(app, ["linear-road", "describe", str(path), "--report", str(page)])
    assert result.exit_code == 0, result.output
    assert "Reports per second" in result.output
    assert "LAV westbound" in result.output
    assert "⣿" in result.output
    assert page.read_text().startswith("<!doctype html>")
    found = json.loads(CliRunner().invoke(app, ["linear-road", "describe", str(path), "--json"]).output)
    assert found["vehicles"] == 60


def test_an_unknown_expressway_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_bytes(text_of(drive_along(5, 100)))
    result = CliRunner().invoke(app, ["linear-road", "describe", str(path), "--xway", "7"])
    assert isinstance(result.exception, DataError)
    assert "there is no expressway 7; there are: 0" in str(result.exception)


def test_pictures_in_colour_and_in_shades() -> None:
    lav = np.array([[10.0, 90.0], [np.nan, 40.0]])
    assert speed_map(lav, width=2, height=2, colour=False).plain == " ▒\n█."
    coloured = speed_map(lav, width=2, height=1, colour=True)
    assert coloured.plain == "▄▀"
    assert len(coloured.spans) == 2
    assert toll_map(np.array([[0.0, 1000.0]]), width=2, height=1, colour=False).plain == " █"
    assert toll_map(np.zeros((1, 2)), width=2, height=1, colour=True).plain == "  "
    assert curve(np.zeros(0), width=3, height=1).plain.endswith("⠀⠀⠀")
