"""Whole data sets: what must hold of every report, and that the same settings always give the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from arterial.errors import DataError, MachineError
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.simulate.job import City, check_target, simulate
from arterial.linearroad.simulate.settings import DRIVING, FEET_A_SECOND, Settings
from tests.linearroad.simulate.conftest import quiet, reports_of

Make = Callable[[Settings], tuple[Path, City]]

# No teleporting: between two reports a vehicle gains speed by at most 4.5 ft/s in a second. The reported speed is
# rounded to a mile an hour and the position to a foot.
ROUNDED_FEET = 30 * 0.5 * FEET_A_SECOND + 2


@pytest.fixture(scope="module")
def reports(rush_hour: tuple[Path, City]) -> pl.DataFrame:
    """The position reports by vehicle and time, each beside its predecessor; `first` begins a trip."""
    events = pl.from_arrow(reports_of(rush_hour[0]))
    assert isinstance(events, pl.DataFrame)
    ahead = 1 - 2 * pl.col("dir").cast(pl.Int32)
    return (
        events.filter(pl.col("type") == 0)
        .sort("vid", "time")
        .with_columns(
            (pl.col("time") - pl.col("time").shift(1)).over("vid").alias("waited"),
            pl.col("speed").shift(1).over("vid").alias("speed_before"),
            pl.col("lane").shift(1).over("vid").alias("lane_before"),
            ((pl.col("pos") - pl.col("pos").shift(1)).over("vid") * ahead).alias("moved"),
            ((pl.col("seg") - pl.col("seg").shift(1)).over("vid") * ahead).alias("crossed"),
            (pl.struct("xway", "dir") != pl.struct("xway", "dir").shift(1)).over("vid").alias("other_road"),
        )
        .with_columns((pl.col("waited").is_null() | (pl.col("waited") != 30)).alias("first"))
        .with_columns(pl.col("first").shift(-1, fill_value=True).alias("last"))
    )


def test_reports_are_exactly_thirty_seconds_apart_and_trips_well_apart(reports: pl.DataFrame) -> None:
    assert reports.filter(pl.col("waited") < 30).is_empty()
    assert reports.filter((pl.col("waited") > 30) & (pl.col("waited") < 300)).is_empty()
    assert reports.filter(pl.col("waited") > 30).height > 10


def test_reports_are_staggered(reports: pl.DataFrame) -> None:
    busy = reports.filter(pl.col("time") >= 1800)
    a_phase = busy.group_by(pl.col("time") % 30).len()
    assert a_phase.height == 30
    assert abs(a_phase["len"] - a_phase["len"].mean()).max() < 0.25 * a_phase["len"].mean()


def test_trips_begin_on_an_entrance_ramp_and_end_on_an_exit_ramp(reports: pl.DataFrame) -> None:
    assert set(reports.filter("first")["lane"]) == {0}
    ended = reports.filter(pl.col("last") & (pl.col("time") < 3600 - 30))
    assert set(ended["lane"]) == {4}
    assert ended.height > 1000
    assert reports.filter(~pl.col("first") & (pl.col("lane") == 0) & (pl.col("lane_before") != 0)).is_empty()
    assert reports.filter(~pl.col("first") & (pl.col("lane_before") == 4) & (pl.col("lane") != 4)).is_empty()


def test_every_segment_on_the_way_has_a_report(reports: pl.DataFrame) -> None:
    assert set(reports.filter(~pl.col("first"))["crossed"]) == {0, 1}


def test_no_vehicle_is_on_two_roads_but_some_change(reports: pl.DataFrame) -> None:
    assert reports.filter(~pl.col("first") & pl.col("other_road")).is_empty()
    assert reports.filter(pl.col("first") & pl.col("other_road")).height > 0
    assert reports.select("vid", "time").is_duplicated().sum() == 0


def test_positions_agree_with_speeds(reports: pl.DataFrame) -> None:
    """Between two reports a vehicle moves as far as its speeds allow: no farther than if it sped up all the time, no
    less than it needs to reach the second speed from a stop."""
    pairs = reports.filter(~pl.col("first"))
    before = pairs["speed_before"].to_numpy() * FEET_A_SECOND
    after = pairs["speed"].to_numpy() * FEET_A_SECOND
    moved = pairs["moved"].to_numpy()
    gained = DRIVING.acceleration
    seconds = np.arange(1, 31)
    fastest = np.minimum(before[:, None] + gained * seconds, 100 * FEET_A_SECOND).sum(axis=1)
    slowest = np.maximum(after[:, None] - gained * (30 - seconds), 0).sum(axis=1)
    assert (moved <= fastest + ROUNDED_FEET).all()
    assert (moved >= slowest - ROUNDED_FEET).all()
    # And for most the mean of both speeds tells the distance well.
    off = abs(moved - 15 * (before + after))
    assert np.median(off) < 60


def test_ranges(reports: pl.DataFrame) -> None:
    assert (reports["seg"] == reports["pos"] // 5280).all()
    for name, low, high in (
        ("time", 0, 3599), ("speed", 0, 100), ("xway", 0, 2), ("lane", 0, 4), ("dir", 0, 1), ("pos", 0, 527_999),
    ):  # fmt: skip
        assert low <= reports[name].min()
        assert reports[name].max() <= high
    assert set(reports.filter(pl.col("xway") == 2)["dir"]) == {0}
    assert set(reports.filter(pl.col("xway") == 1)["dir"]) == {0, 1}


def test_both_cars_of_an_accident_report_one_place_at_least_four_times(
    reports: pl.DataFrame, rush_hour: tuple[Path, City]
) -> None:
    _, city = rush_hour
    whole = [accident for accident in city.accidents if accident.cleared < 3600]
    assert len(whole) >= 4
    place = ["xway", "dir", "lane", "pos"]
    still = (
        reports.filter(pl.col("lane").is_between(1, 3))
        .group_by("vid", *place)
        .agg(pl.len().alias("times"), pl.col("time").min().alias("since"), pl.col("time").max().alias("until"))
        .filter(pl.col("times") >= 4)
    )
    pairs = still.group_by(place).agg(
        pl.len().alias("cars"), pl.col("since").max() + 90, pl.col("until").min(), pl.col("times").min()
    )
    pairs = pairs.filter(pl.col("cars") == 2)
    for accident in whole:
        found = pairs.filter(
            (pl.col("xway") == accident.xway)
            & (pl.col("dir") == accident.dir)
            & (pl.col("pos") // 5280 == accident.seg)
            & (pl.col("until") < accident.cleared)
            & (pl.col("until") >= accident.cleared - 31)
        )
        assert found.height == 1
        assert found["times"].item() >= 4
        lasted = accident.cleared - found["since"].item()  # from detection
        assert 600 <= lasted <= 1230


def test_one_accident_in_twenty_minutes_on_each_expressway(rush_hour: tuple[Path, City]) -> None:
    for xway in range(3):
        periods = [accident.time // 1200 for accident in rush_hour[1].accidents if accident.xway == xway]
        # One that finds no two vehicles close together waits for them.
        assert len(periods) == 3


def test_files_are_ordered_and_a_second_can_be_read_alone(rush_hour: tuple[Path, City]) -> None:
    files = sorted((rush_hour[0] / "events").iterdir())
    assert [file.name for file in files] == ["xway-000.parquet", "xway-001.parquet", "xway-002.parquet"]
    for file in files:
        source = pq.ParquetFile(file)
        assert source.schema_arrow.equals(EVENT_SCHEMA)
        spans = [
            (chunk.statistics.min, chunk.statistics.max)
            for group in range(source.num_row_groups)
            for chunk in [source.metadata.row_group(group).column(1)]
        ]
        assert all(one[1] < two[0] for one, two in pairwise(spans))
        assert (np.diff(source.read(["time"])["time"].to_numpy()) >= 0).all()


def test_requests_accompany_reports_and_qids_are_unique(rush_hour: tuple[Path, City]) -> None:
    events = pl.from_arrow(reports_of(rush_hour[0]))
    assert isinstance(events, pl.DataFrame)
    requests = events.filter(pl.col("type") != 0)
    assert requests["qid"].is_unique().all()
    seen = events.filter(pl.col("type") == 0).select("vid", "time")
    assert requests.join(seen, on=["vid", "time"], how="anti").is_empty()
    assert 0.008 < requests.height / seen.height < 0.012


def test_city_file_tells_what_is_there(rush_hour: tuple[Path, City]) -> None:
    folder, city = rush_hour
    told = json.loads((folder / "city.json").read_text())
    kinds = dict(pl.from_arrow(reports_of(folder)).group_by("type").len().iter_rows())  # type: ignore[union-attr]
    assert told["reports"] == kinds[0] == city.reports
    assert told["balance_requests"] == kinds[2]
    assert told["expenditure_requests"] == kinds[3]
    assert told["travel_time_requests"] == kinds[4]
    vids = reports_of(folder)["vid"].to_numpy()
    assert told["vehicles"] == len(np.unique(vids))
    assert sorted(path.name for path in folder.iterdir()) == ["city.json", "events"]
    assert [path.name for path in folder.parent.iterdir()] == ["data"]


@pytest.mark.slow
def test_the_same_bytes_on_one_core_and_on_two(make: Make, tmp_path: Path) -> None:
    settings = Settings(xways=1.5, seconds=400, density=0.3, seed=3)
    two, _ = make(settings)  # the tests' Spark has two cores
    command = [sys.executable, "-m", "arterial", "linear-road", "simulate", "--out", str(tmp_path / "one")]
    options = ["--xways", "1.5", "--seconds", "400", "--density", "0.3", "--seed", "3"]
    subprocess.run(
        command + options, check=True, capture_output=True, env={**os.environ, "ARTERIAL_MASTER": "local[1]"}
    )
    files = [path.relative_to(two) for path in sorted(two.rglob("*")) if path.is_file()]
    assert len(files) == 3
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (two / file).read_bytes()


def test_another_seed_gives_other_data(make: Make) -> None:
    one, two = (reports_of(make(Settings(seconds=60, seed=seed))[0]) for seed in (1, 2))
    assert one != two


def test_starting_late_gives_the_end_of_a_longer_run(make: Make) -> None:
    whole = reports_of(make(Settings(seconds=700, density=0.3))[0])
    late = reports_of(make(Settings(seconds=300, start_at=400, density=0.3))[0])
    columns = ["time", "vid", "speed", "xway", "lane", "dir", "seg", "pos"]
    one, two = (pl.from_arrow(table).filter(pl.col("type") == 0).select(columns) for table in (whole, late))  # type: ignore[union-attr]
    assert one.filter(pl.col("time") >= 400).with_columns(pl.col("time") - 400).equals(two)
    assert two["time"].min() == 0


def test_csv_has_the_same_events_in_one_file(make: Make) -> None:
    options = {"xways": 2.0, "seconds": 90, "density": 0.3}
    expected = reports_of(make(Settings(**options))[0]).to_pylist()  # type: ignore[arg-type]
    folder, city = make(Settings(format="csv", **options))  # type: ignore[arg-type]
    assert sorted(path.name for path in folder.iterdir()) == ["city.json", "events.csv"]
    lines = (folder / "events.csv").read_text().splitlines()
    assert lines == [
        ",".join(str(value) for value in row.values()) for row in sorted(expected, key=lambda row: row["time"])
    ]
    assert city.format == "csv"


def test_existing_folders(make: Make, tmp_path: Path, spark: object) -> None:
    (tmp_path / "empty").mkdir()
    check_target(tmp_path / "empty", force=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file"):
        check_target(tmp_path / "file", force=False)
    data, _ = make(Settings(seconds=2))
    with pytest.raises(DataError, match="--force"):
        check_target(data, force=False)
    (tmp_path / "empty" / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match="holds no data set"):
        check_target(tmp_path / "empty", force=True)
    simulate(spark, Settings(seconds=3), data, quiet, force=True)  # type: ignore[arg-type]
    assert json.loads((data / "city.json").read_text())["seconds"] == 3
    assert [path.name for path in data.parent.iterdir()] == ["data"]


def test_a_task_that_cannot_write_is_a_clear_error_and_leaves_nothing(spark: object, tmp_path: Path) -> None:
    """The name is too long for a file beside it: the disk refuses it as it would a full one."""
    with pytest.raises(MachineError, match="Cannot write"):
        simulate(spark, Settings(seconds=2), tmp_path / ("x" * 250), quiet)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
