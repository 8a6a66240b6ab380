"""The class by which Spark writes its part of a checkpoint on S3, without S3: tests/storage/stores has the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from arterial.engine.spark.logs.store_files import writer_for
from arterial.storage.remote import path_of

SETTING = "spark.sql.streaming.checkpointFileManagerClass"


def test_the_writer_of_a_path(spark: SparkSession) -> None:
    assert writer_for(spark, Path("/data/run")) == {}
    assert writer_for(spark, path_of("hdfs://node:8020/run"))[SETTING].endswith(
        ".FileContextBasedCheckpointFileManager"
    )
    for text in ("s3://city/run", "s3a://city/run"):
        assert writer_for(spark, path_of(text))[SETTING] == "arterial.S3CheckpointFileManager"


def test_the_class_is_compiled_and_found(spark: SparkSession, tmp_path: Path) -> None:
    """On a disk it replaces files as they are closed; what has no condition for a new file is refused."""
    jvm: Any = spark.sparkContext._jvm
    settings = jvm.org.apache.hadoop.conf.Configuration()
    for name, value in writer_for(spark, path_of("s3://city/run")).items():
        settings.set(name, value)
    at = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "file"))
    files = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.create(at, settings)
    file = files.createAtomic(at, True)
    file.write(b"content")
    file.close()
    assert (tmp_path / "file").read_bytes() == b"content"
    with pytest.raises(Exception, match=r"Unknown mandatory key.*conditional\.overwrite"):
        files.createAtomic(at, False)
