"""Descriptions of tiny data, computed by hand, and of more against obvious loops."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from arterial.cli.main import app
from arterial.errors import DataError
from arterial.linearroad.data.dataset import Data, open_data
from arterial.linearroad.describe import description as description_module
from arterial.linearroad.describe.description import describe
from arterial.linearroad.describe.page import page_of
from arterial.linearroad.describe.sketch import Accident
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


def standing(vid: int, begin: int, end: int, **place: int) -> list[tuple[int, ...]]:
    """Reports of a vehicle that counts as stopped in [begin, end): the fourth from one place stops it, for 30 s."""
    return [report(time, vid, 0, **place) for time in range(begin - 90, end - 29, 30)]


def test_vehicles_that_stop_apart_are_no_accident(tmp_path: Path) -> None:
    place = {"lane": 1, "pos": 100}
    apart = [*standing(7, 90, 150, **place), *standing(8, 150, 240, **place), *standing(9, 90, 240, lane=2, pos=100)]
    off_the_road = [
        row for vid in (5, 6) for lane in (0, 4) for row in standing(20 * lane + vid, 90, 150, lane=lane, pos=9)
    ]
    other_way = standing(3, 90, 240, dir=1, **place)
    assert describe(data_of(tmp_path, [*apart, *off_the_road, *other_way])).accidents == []


def test_three_cars_and_a_second_accident_at_one_place(tmp_path: Path) -> None:
    place = {"xway": 3, "lane": 1, "pos": 5280}
    stops = [(1, 90, 180), (2, 120, 210), (3, 130, 160), (4, 290, 350), (5, 300, 360)]
    # Cars that come in the second in which another goes keep the accident going.
    stops += [(6, 600, 660), (7, 600, 660), (8, 660, 720), (9, 660, 720)]
    found = describe(data_of(tmp_path, [row for stop in stops for row in standing(*stop, **place)])).accidents
    assert found == [
        Accident(3, 0, 1, 5280, 120, 180, 3),
        Accident(3, 0, 1, 5280, 300, 350, 2),
        Accident(3, 0, 1, 5280, 600, 720, 2),
    ]


def test_a_lav_of_exactly_40_is_no_congestion(tmp_path: Path) -> None:
    mixed = [report(*row[1:3], speed=30 + 20 * (row[2] % 2), lane=1, pos=row[8]) for row in crowd(6)]
    sketch = describe(data_of(tmp_path, mixed)).sketches[0]
    assert sketch.lav[1:, 0, 50].tolist() == [40] * 5
    assert sketch.toll.sum() == 0


def test_trips_against_a_loop(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    drawn = rng.integers([0, 0, 0, 0, 0], [4, 20, 5, 2, 3], (120, 5)).tolist()
    rows = {(vid, 15 * half): (lane, dir, seg) for vid, half, lane, dir, seg in drawn}
    reports = [
        report(time, vid, 50, lane=lane, dir=dir, pos=seg * 5280) for (vid, time), (lane, dir, seg) in rows.items()
    ]
    trips = entries = exits = 0
    notices: dict[tuple[int, int, int], int] = defaultdict(int)
    for (vid, time), (lane, dir, seg) in rows.items():
        before = rows.get((vid, time - 30))
        goes_on = before is not None and before[1] == dir
        trips += not goes_on
        entries += not goes_on and lane == 0
        exits += lane == 4 and not (goes_on and before is not None and before[0] == 4)
        if lane != 4 and not (goes_on and before is not None and before[2] == seg):
            notices[time // 60, dir, seg] += 1
    sketch = describe(data_of(tmp_path, reports)).sketches[0]
    assert (sketch.trips, sketch.entries, sketch.exits) == (trips, entries, exits)
    assert {tuple(place): int(sketch.notices[tuple(place)]) for place in np.argwhere(sketch.notices)} == notices
    assert sketch.vehicles.tolist() == sorted({vid for vid, _ in rows})
    assert sketch.reports_per_second.sum() == len(rows)


def test_spark_finds_the_same(tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description_module, "SPARK_EVENTS", 0)
    rows = [*drive_along(60, 600), *drive_along(60, 600, xway=2, seed=5)]
    data = data_of(tmp_path, rows)
    told: list[float] = []
    by_spark = describe(data, spark=lambda: spark, progress=told.append)  # type: ignore[arg-type,return-value]
    assert by_spark.as_json() == describe(data).as_json()
    assert told[-1] == 20


@pytest.mark.thorough
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


@pytest.mark.thorough
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
