"""The history that is made: its rows, its shape, that the seed alone decides it; and when it cannot be made."""

from __future__ import annotations

import json
import resource
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from arterial.errors import ArterialError, DataError, MachineError
from arterial.linearroad.data.event_files import write_city
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.history import make as history_module
from arterial.linearroad.history import tasks as history_tasks
from arterial.linearroad.history.lookup import FOLDER, SegmentLookup, TollLookup
from arterial.linearroad.history.make import HistoryFacts, Wanted, counted, make_history
from arterial.linearroad.history.tables import SEGMENT_HISTORY, TOLL_HISTORY
from arterial.linearroad.history.tasks import Task, perform, plan_segments, plan_tolls
from arterial.linearroad.history.wanted import wanted_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WANTED = Wanted(
    vid=np.array([3, 3, 8, 9, 2**40], dtype=np.int64), xway=np.array([0, 2, 2, 0, 2], dtype=np.int32), xways=(2,)
)


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, HistoryFacts, list[int]]:
    out = tmp_path_factory.mktemp("history") / "new" / "folder"
    told: list[int] = []
    facts = make_history(spark, WANTED, out, seed=11, progress=told.append)
    return out, facts, told


@pytest.fixture(scope="module")
def segments(made: tuple[Path, HistoryFacts, list[int]]) -> pa.Table:
    return pa.parquet.read_table(made[0] / "segments.parquet")


def test_what_is_there(made: tuple[Path, HistoryFacts, list[int]]) -> None:
    out, facts, told = made
    assert sorted(path.name for path in out.iterdir()) == [
        "history.json",
        "lookup",
        "segments.parquet",
        "tolls.parquet",
    ]
    assert told[-1] == WANTED.rows == 5 * 69 + 20_160_000
    assert told == sorted(told)
    saved = json.loads((out / "history.json").read_text())
    assert (saved["seed"], saved["vehicles"], saved["xways"]) == (11, 4, [2])
    assert (facts.toll_rows, facts.segment_rows, facts.repeated_tolls) == (5 * 69, 20_160_000, 0)


def test_workers_may_be_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's stay where it was started, even if a notebook goes elsewhere; paths are by the notebook's folder."""

    def elsewhere(spark: None, tasks: list[Task], progress: object) -> int:
        with chdir("/"):
            assert not any(perform(task).fault for task in tasks)
        return 0

    monkeypatch.setattr(history_module, "_run", elsewhere)
    monkeypatch.chdir(tmp_path)
    segments = tmp_path / "others.parquet"
    columns = {name: [1] for name in SEGMENT_HISTORY.schema.names}
    pa.parquet.write_table(pa.Table.from_pydict(columns, SEGMENT_HISTORY.schema), segments)
    wanted = replace(WANTED, segments=Path(segments.name))
    assert make_history(None, wanted, Path("out"), seed=1).toll_rows == 5 * 69  # type: ignore[arg-type]


def test_every_key_of_the_tolls_stands_once(made: tuple[Path, HistoryFacts, list[int]]) -> None:
    tolls = pa.parquet.read_table(made[0] / "tolls.parquet")
    assert tolls.schema == TOLL_HISTORY.schema
    pairs = list(zip(WANTED.vid.tolist(), WANTED.xway.tolist(), strict=True))
    expected = {(vid, day, xway) for vid, xway in pairs for day in range(1, 70)}
    keys = list(zip(*(tolls[name].to_pylist() for name in ("vid", "day", "xway")), strict=True))
    assert len(keys) == len(expected)
    assert set(keys) == expected
    assert keys == sorted(keys)


def test_every_key_of_the_segments_stands_once(segments: pa.Table) -> None:
    assert segments.schema == SEGMENT_HISTORY.schema
    day, minute, dir_, seg = (segments[name].to_numpy().astype(np.int64) for name in ("day", "minute", "dir", "seg"))
    assert set(segments["xway"].unique().to_pylist()) == {2}
    for column, low, high in ((day, 1, 70), (minute, 1, 1440), (dir_, 0, 1), (seg, 0, 99)):
        assert (column.min(), column.max()) == (low, high)
    times = np.bincount((((day - 1) * 1440 + minute - 1) * 2 + dir_) * 100 + seg)
    assert len(times) == 70 * 1440 * 200
    assert (times == 1).all()


def test_every_toll_follows_from_its_own_lav_and_cnt(segments: pa.Table) -> None:
    lav, cnt, toll = (segments[name].to_numpy().astype(np.int64) for name in ("lav", "cnt", "toll"))
    expected = np.where((lav < 40) & (cnt > 50), 2 * (cnt - 50) ** 2, 0)
    assert (toll == expected).all()
    assert lav.min() > 0
    assert lav.max() <= 100
    assert cnt.min() >= 0


def test_traffic_is_believable(made: tuple[Path, HistoryFacts, list[int]], segments: pa.Table) -> None:
    rows = segments.select(["day", "minute", "dir", "seg", "lav", "cnt", "toll"]).to_pandas()
    rows["weekend"] = ((rows["day"] - 1) % 7 + 1).isin([1, 7])
    rows["downtown"] = rows["seg"].between(40, 59)
    rows["rush"] = rows["minute"].between(450, 510) | rows["minute"].between(1005, 1065)
    rows["night"] = rows["minute"] < 240
    work = rows[~rows["weekend"]]
    rush_downtown = work[work["rush"] & work["downtown"]]
    assert (rush_downtown["toll"] > 0).mean() > 0.8
    assert rush_downtown["lav"].mean() < 35
    assert rush_downtown["cnt"].mean() > 2 * work[~work["rush"]]["cnt"].mean()
    assert work[work["night"]]["toll"].max() == 0
    assert work[work["night"]]["lav"].mean() > 55
    assert rows[rows["weekend"]]["cnt"].mean() < 0.85 * work["cnt"].mean()
    assert work[work["downtown"]]["cnt"].mean() > 1.5 * work[work["seg"] < 20]["cnt"].mean()
    morning = work[work["minute"].between(450, 510) & (work["seg"] < 30)].groupby("dir")["cnt"].mean()
    assert morning[0] > morning[1]
    by_day = work[work["rush"] & work["downtown"]].groupby("day")["cnt"].mean()
    assert by_day.std() > 1
    assert made[1].tolled_share == pytest.approx((rows["toll"] > 0).mean())
    assert made[1].mean_lav == pytest.approx(rows["lav"].mean())
    assert made[1].mean_cnt == pytest.approx(rows["cnt"].mean())


def test_the_look_up_is_that_of_the_tables(
    made: tuple[Path, HistoryFacts, list[int]], segments: pa.Table, tmp_path: Path
) -> None:
    tolls = pa.parquet.read_table(made[0] / "tolls.parquet")
    found, known = TollLookup.open(made[0]).tolls(tolls["vid"], tolls["day"], tolls["xway"])
    assert known.all()
    assert found.tolist() == tolls["tolls"].to_pylist()
    written = SegmentLookup.open(made[0])
    rebuilt = SegmentLookup.build(made[0] / "segments.parquet", tmp_path)
    assert (written.cells == rebuilt.cells).all()
    assert written.xways.tolist() == rebuilt.xways.tolist() == [2]
    seconds, toll = written.travel_times([2, 2], [0, 99], [99, 0], [2, 2], [470, 470])
    assert (seconds > 99 * 36).all()
    assert (toll > 0).all()


def test_what_drivers_pay_is_believable(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / FOLDER).mkdir(parents=True)
    wanted = counted(500, 2)
    for task in plan_tolls(wanted.vid, wanted.xway, folder, 1, "parquet"):
        assert perform(task).fault is None
    rows = pa.parquet.read_table(folder / "tolls.parts").to_pandas()
    assert len(rows) == 500 * 2 * 69
    assert (rows["tolls"] % 2 == 0).all()
    weekend = ((rows["day"] - 1) % 7 + 1).isin([1, 7])
    assert rows[weekend]["tolls"].mean() < 0.3 * rows[~weekend]["tolls"].mean()
    assert 0.05 < (rows["tolls"] > 0).mean() < 0.6
    # Most of what a vehicle pays, it pays on one expressway.
    by_vehicle = rows.pivot_table(index="vid", columns="xway", values="tolls", aggfunc="sum")
    assert (by_vehicle.max(axis=1) > 0.8 * by_vehicle.sum(axis=1)).mean() > 0.9


def test_the_seed_decides_and_neither_cores_nor_pieces(
    made: tuple[Path, HistoryFacts, list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_tasks, "PAIRS_A_TASK", 2)
    (tmp_path / FOLDER).mkdir()
    tolls = plan_tolls(WANTED.vid, WANTED.xway, tmp_path, 11, "parquet")
    assert [(task.first, task.after) for task in tolls] == [(0, 2), (2, 4), (4, 5)]
    tasks = [*tolls, plan_segments(WANTED.xways, tmp_path, 11, "parquet")[3]]
    assert [perform(task).fault for task in reversed(tasks)] == [None] * 4
    assert pa.parquet.read_table(tmp_path / "tolls.parts") == pa.parquet.read_table(made[0] / "tolls.parquet")
    name = "xway-002-weekday-4.parquet"
    assert (tmp_path / "segments.parts" / name).read_bytes() == (made[0] / "segments.parquet" / name).read_bytes()
    other = replace(tolls[0], seed=12)
    perform(other)
    assert pa.parquet.read_table(tmp_path / "tolls.parts") != pa.parquet.read_table(made[0] / "tolls.parquet")


@pytest.mark.thorough
def test_csv_holds_the_same_rows(tmp_path: Path) -> None:
    tables = {}
    for form in ("parquet", "csv"):
        folder = tmp_path / form
        (folder / FOLDER).mkdir(parents=True)
        tasks = [*plan_tolls(WANTED.vid, WANTED.xway, folder, 5, form), plan_segments((2,), folder, 5, form)[6]]
        assert [perform(task).fault for task in tasks] == [None, None]
        for name, schema in (("tolls", TOLL_HISTORY.schema), ("segments", SEGMENT_HISTORY.schema)):
            whole = history_module._assemble(folder, name, form)
            if form == "parquet":
                tables[name] = pa.parquet.read_table(whole)
            else:
                options = pa.csv.ReadOptions(column_names=schema.names)
                assert pa.csv.read_csv(whole, read_options=options).cast(schema) == tables[name]
                assert not (folder / f"{name}.parts").exists()


def test_a_history_is_replaced_only_on_demand(
    spark: SparkSession, made: tuple[Path, HistoryFacts, list[int]], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("stays")
    (tmp_path / "tolls.csv").write_text("1,1,0,5\n1,1,0,6\n")
    (tmp_path / "lookup").mkdir()
    source = tmp_path / "source.csv"
    source.write_text("1,1,0,5\n1,1,0,6\n")
    wanted = replace(counted(0, 1), tolls=source, segments=made[0] / "segments.parquet")
    with pytest.raises(DataError, match=r"already holds a history \(tolls\.csv\)\. Give --force"):
        make_history(spark, wanted, tmp_path, seed=1)
    facts = make_history(spark, wanted, tmp_path, seed=1, force=True)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["history.json", "lookup", "mine.txt", "source.csv"]
    assert (facts.vehicles, facts.toll_rows, facts.repeated_tolls, facts.tolled_share) == (1, 1, 1, None)
    assert facts.segment_rows == 20_160_000
    assert TollLookup.open(tmp_path).tolls([1], [1], [0])[0].tolist() == [6]


def events(path: Path, rows: list[dict[str, int]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent.parent / "city.json").write_text("{}")
    columns = {name: [row.get(name, -1) for row in rows] for name in EVENT_SCHEMA.names}
    pa.parquet.write_table(pa.table(columns, schema=EVENT_SCHEMA), path)
    return path


def test_a_data_set_says_whose_history_is_wanted(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        {"type": 0, "vid": 5, "xway": 1},
        {"type": 0, "vid": 5, "xway": 1},
        {"type": 0, "vid": 4, "xway": 0},
        {"type": 2, "vid": 77, "qid": 1},
        {"type": 3, "vid": 5, "xway": 3, "qid": 2, "day": 4},
        {"type": 4, "vid": 5, "xway": 6, "qid": 3},
    ]
    events(tmp_path / "events/xway-000.parquet", rows[:3])
    events(tmp_path / "events/xway-001.parquet", rows[1:])
    write_city(tmp_path, {})
    wanted = wanted_by(spark, tmp_path)
    assert list(zip(wanted.vid.tolist(), wanted.xway.tolist(), strict=True)) == [(4, 0), (5, 1), (5, 3)]
    assert wanted.xways == (0, 1, 3, 6)


def test_data_sets_that_are_none(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere"):
        wanted_by(spark, tmp_path / "nowhere")
    events(tmp_path / "events/xway-000.parquet", [{"type": 2, "vid": 1, "qid": 1}])
    write_city(tmp_path, {})
    with pytest.raises(DataError, match="a history needs vehicles"):
        wanted_by(spark, tmp_path)


def test_a_full_disk_in_a_task(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    wanted = counted(100, 1)
    tasks = [plan_segments((0,), tmp_path, 1, "parquet")[0], *plan_tolls(wanted.vid, wanted.xway, tmp_path, 1, "csv")]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        outcomes = [perform(task) for task in tasks]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert all(outcome.fault for outcome in outcomes)


def test_a_full_disk_leaves_a_message_and_nothing_else(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan_on_the_full_device(*args: object) -> list[Task]:
        tasks = plan_tolls(*args)  # type: ignore[arg-type]
        (tasks[0].folder / "tolls.parts/from-0000000000.parquet").symlink_to("/dev/full")
        return tasks

    monkeypatch.setattr(history_module, "plan_tolls", plan_on_the_full_device)
    monkeypatch.setattr(history_module, "plan_segments", lambda *_: [])
    with pytest.raises(MachineError, match="no room on the disk"):
        make_history(spark, counted(1000, 1), tmp_path, seed=1)
    assert list(tmp_path.iterdir()) == []


def test_places_that_are_no_folder(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ArterialError, match="expected a folder, there is a file"):
        make_history(spark, counted(1, 1), tmp_path / "file", seed=1)
    wanted = replace(counted(0, 1), tolls=tmp_path / "nowhere", segments=tmp_path / "nowhere")
    with pytest.raises(DataError, match="nowhere: no such file"):
        make_history(spark, wanted, tmp_path / "out", seed=1)
