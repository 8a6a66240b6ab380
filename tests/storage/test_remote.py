"""Paths of stores, without a store."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from arterial.engine.run.checkpoint.folder import check_path
from arterial.errors import RunError
from arterial.storage.remote import RemotePath, is_remote, path_of, spark_name


@pytest.mark.parametrize("text", ["s3://city/run", "s3a://city/run", "hdfs://node:8020/run"])
def test_a_path_keeps_its_store(text: str) -> None:
    path = path_of(text)
    assert is_remote(path)
    assert str(path) == text
    assert path_of(Path(text)) == path, "Path makes one slash of two"
    assert path_of(str(path / "a" / "b.csv")) == path / "a" / "b.csv"
    assert str((path / "a").parent / "b") == f"{text}/b"
    assert str(path.with_name("other")) == f"{text.removesuffix('run')}other"
    assert pickle.loads(pickle.dumps(path / "a")) == path / "a"
    assert path.absolute() is path
    assert path.is_absolute()
    assert (path / "a" / "b").relative_to(path) == Path("a/b")


def test_other_paths_are_local() -> None:
    for text in ("data/reports.csv", "/data", "C:/data", "s3/data", "file:/data", ""):
        assert not is_remote(text)
        assert path_of(text) == Path(text)


def test_keys_and_names() -> None:
    hdfs, s3 = path_of("hdfs://node:8020/run/a"), path_of("S3://city/run/a")
    assert isinstance(hdfs, RemotePath)
    assert hdfs.key == "/run/a"
    assert isinstance(s3, RemotePath)
    assert s3.key == "city/run/a"
    assert spark_name(s3) == "s3a://city/run/a"
    assert spark_name(hdfs) == str(hdfs)
    assert spark_name(Path("/run/a")) == "/run/a"


@pytest.mark.parametrize("text", ["s3://", "hdfs:///run", "s3:///run"])
def test_what_names_no_bucket_or_host(text: str) -> None:
    with pytest.raises(RunError, match=r"expected (s3://BUCKET/PATH|hdfs://HOST:PORT/PATH)"):
        path_of(text)


def test_other_schemes_are_refused() -> None:
    with pytest.raises(RunError, match=r"looks like a URI.*s3://, s3a://, hdfs://"):
        check_path("gs://city/run")
    check_path("s3://city/run")


def test_files_of_a_store_are_not_opened_to_be_written() -> None:
    with pytest.raises(ValueError, match="put there whole"):
        path_of("s3://city/run/a").open("w")
