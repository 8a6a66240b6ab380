"""`format("arterial")`: connection points as batch and streaming DataFrames of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from pyspark.errors import AnalysisException

import arterial as art
from arterial.engine.run.local import run_locally
from arterial.errors import RunError
from arterial.spark import Arterial, _Batch, _Stream, _Wanted
from tests.engine.run.watch.watched import SCHEMA, tuples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def kept_run(folder: Path) -> Path:
    """A run that kept its reports, and what stands of the latest of each vehicle."""
    net = art.Network("kept")
    reports = net.source("reports", SCHEMA)
    reports.connection_point("kept", 10_000).output("all")
    reports.latest("last", "vehicle").connection_point("standing", 10_000).output("changes")
    path = folder / "reports.csv"
    pl.DataFrame(tuples(500)).write_csv(path)
    out = folder / "run"
    run = run_locally(
        net.value,
        {"reports": art.FileSource(path)},
        {"all": art.MemorySink(), "changes": art.MemorySink()},
        out,
        art.Settings(train_size=100),
    )
    run.wait()
    return out


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept_run(tmp_path_factory.mktemp("kept"))


EXPECTED = sorted(tuple(row.values()) for row in tuples(500))


def rows_of(options: dict[str, str]) -> list[tuple[object, ...]]:
    batch = _Batch(_Wanted.of(options))
    return [tuple(row.values()) for part in batch.partitions() for b in batch.read(part) for row in b.to_pylist()]


def test_read_without_spark(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arterial.spark.PART_TUPLES", 120)
    base = {"path": str(out), "point": "kept"}
    assert len(_Batch(_Wanted.of(base)).partitions()) > 2
    assert sorted(rows_of(base)) == EXPECTED
    some = rows_of({**base, "since": "100", "upTo": "199"})
    assert sorted(some) == [row for row in EXPECTED if 100 <= row[0] <= 199]
    stream = _Stream(_Wanted.of(base))
    at, got = stream.initialOffset(), []
    end = stream.latestOffset(at, None)
    for part in stream.partitions(at, end):
        got += [tuple(row.values()) for batch in stream.read(part) for row in batch.to_pylist()]
    assert sorted(got) == EXPECTED
    assert stream.latestOffset(end, None) == end
    assert stream.partitions(end, end) == []


def test_what_stands(out: Path) -> None:
    last = {row[1]: row for row in EXPECTED}
    by_key = rows_of({"path": str(out), "state": "kept", "key": "vehicle"})
    assert {row[1]: row for row in by_key} == last
    assert len(by_key) == 7
    standing = rows_of({"path": str(out), "state": "standing"})
    assert sorted(row[1:] for row in standing) == sorted(row[1:] for row in last.values())


def test_what_is_refused(out: Path, tmp_path: Path) -> None:
    base = {"path": str(out)}
    for options, said in (
        ({"path": str(tmp_path), "point": "kept"}, "no run is there"),
        ({"point": "kept"}, r"which run\? Give its output folder"),
        (base, r'give option\("point", NAME\)'),
        ({**base, "point": "kep"}, "there is no connection point 'kep'; there are: kept, standing.*kept"),
        ({**base, "point": "../x"}, "is not the name of a connection point"),
        ({**base, "state": "kept"}, "which of them stand"),
        ({**base, "state": "kept", "key": "speeed"}, "has no column 'speeed'"),
        ({**base, "point": "kept", "since": "noon"}, "since is 'noon'; expected a time"),
        ({**base, "point": "kept", "sinse": "1"}, "unknown option 'sinse'.*since"),
    ):
        with pytest.raises(RunError, match=said):
            _Wanted.of(options)


def test_on_spark(out: Path, spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(Arterial)
    with pytest.raises(AnalysisException, match=r"RunError: .*there is no connection point 'kep'; there are: kept"):
        spark.read.format("arterial").option("point", "kep").load(str(out))
    frame = spark.read.format("arterial").option("point", "kept").load(str(out))
    assert sorted(tuple(row) for row in frame.collect()) == EXPECTED
    assert frame.filter("speed > 48").count() == sum(row[2] > 48 for row in EXPECTED)
    stream = spark.readStream.format("arterial").option("point", "kept").load(str(out))
    query = (
        stream.writeStream.format("memory").queryName("kept_tuples").option("checkpointLocation", str(tmp_path / "c"))
    ).start()
    try:
        query.processAllAvailable()
        assert sorted(tuple(row) for row in spark.table("kept_tuples").collect()) == EXPECTED
    finally:
        query.stop()
