"""Spark's own files in a durable run: what is synced, and what is removed after a power cut."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path

import pytest

from arterial.engine.spark.logs.spark_files import SparkFiles, is_torn, repair
from arterial.storage.disk import Disk, using


def _put(path: Path, content: bytes) -> None:
    """A file, and the checksums that Hadoop keeps beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    sums = b"".join(zlib.crc32(content[at : at + 512]).to_bytes(4, "big") for at in range(0, len(content), 512))
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\x00" + (512).to_bytes(4, "big") + sums)


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    """A checkpoint after three steps, with a snapshot of the state."""
    spark = tmp_path / "spark"
    _put(spark / "metadata", b'{"id":"1"}')
    for number in range(3):
        _put(spark / "offsets" / str(number), b'v1\n{}\n{"step":1}')
        _put(spark / "commits" / str(number), b"v1\n{}")
    state = spark / "state" / "0" / "0"
    _put(state / "SSTs" / "000008-a.sst", b"table" * 500)
    snapshot = state / "2_a.zip"
    with zipfile.ZipFile(snapshot, "w") as content:
        content.writestr("metadata", "v1\n" + json.dumps({"sstFiles": [{"dfsSstFileName": "000008-a.sst"}]}))
    _put(snapshot, snapshot.read_bytes())
    _put(state / "3_b.changelog", b"changes")
    return spark


def _files(spark: Path) -> set[str]:
    return {str(path.relative_to(spark)) for path in spark.rglob("*") if path.is_file() and path.name[0] != "."}


def test_what_is_whole_stays(spark: Path) -> None:
    before = _files(spark)
    repair(spark)
    assert _files(spark) == before
    assert not is_torn(spark / "state" / "0" / "0" / "2_a.zip")


@pytest.mark.parametrize("torn", ["2_a.zip", "SSTs/000008-a.sst"])
@pytest.mark.parametrize("how", ["cut", "zeroed", "missing"])
def test_a_torn_snapshot_goes_and_the_changes_stay(spark: Path, torn: str, how: str) -> None:
    path = spark / "state" / "0" / "0" / torn
    size = path.stat().st_size
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: size // 2] if how == "cut" else bytes(size))
    repair(spark)
    assert "state/0/0/2_a.zip" not in _files(spark)
    assert "state/0/0/3_b.changelog" in _files(spark)


@pytest.mark.parametrize(
    ("torn", "gone"),
    [
        ("offsets/2", set()),  # its commit is there: this is damage, and check_logs says so
        ("commits/2", {"commits/2"}),
    ],
)
def test_the_end_of_the_logs(spark: Path, torn: str, gone: set[str]) -> None:
    before = _files(spark)
    (spark / torn).write_bytes(b"")
    repair(spark)
    assert before - _files(spark) == gone


def test_a_planned_step_that_did_nothing_is_planned_again(spark: Path) -> None:
    _put(spark / "offsets" / "3", b'v1\n{}\n{"step":1}')
    before = _files(spark)
    repair(spark)
    assert _files(spark) == before
    (spark / "commits" / "2").unlink()
    repair(spark)
    assert "offsets/3" not in _files(spark)
    assert "offsets/2" in _files(spark)


def test_only_what_is_new_is_synced(spark: Path) -> None:
    class Noting(Disk):
        synced: list[str] = []  # noqa: RUF012

        def sync(self, path: Path) -> None:
            self.synced.append(path.name)

    files = SparkFiles(spark)
    with using(Noting()):
        files.sync_logs()
        files.sync_state()
        assert {"metadata", "0", "offsets", "commits", "3_b.changelog", "SSTs", ".2.crc"} <= set(Noting.synced)
        assert Noting.synced.index("commits") < Noting.synced.index("offsets")
        Noting.synced.clear()
        _put(spark / "offsets" / "3", b"")
        _put(spark / "offsets" / ".4.uuid.tmp", b"")
        files.sync_logs()
        files.sync_state()
    assert Noting.synced == [".3.crc", "3", "offsets"] or sorted(Noting.synced) == sorted(
        [".3.crc", "3", "..4.uuid.tmp.crc", "offsets"]
    )
