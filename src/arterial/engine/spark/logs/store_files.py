"""Spark's own files in a checkpoint on HDFS: by which of Spark's classes they are written, and whether it can.

Two drivers may work on a checkpoint there, since no lock keeps the second off. Our own files say whose it is (`epoch`);
Spark's logs must take a step from one driver only. So they are written by the class that renames with HDFS's own call,
which fails if the name is taken. The one for disks leaves the old file where a new one should replace it there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from arterial.errors import RunError
from arterial.storage.remote import is_remote, spark_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = "spark.sql.streaming.checkpointFileManagerClass"
_BY_RENAME = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"


def writer_for(checkpoint: Path) -> dict[str, str]:
    """The setting by which Spark writes its part of a checkpoint; none for a folder of the machine."""
    return {_NAME: _BY_RENAME} if is_remote(checkpoint) else {}


def check_writer(session: SparkSession, checkpoint: Path) -> None:
    """Raise if Spark cannot write to a store, or lets two drivers that do not know of each other log the same step."""
    if not is_remote(checkpoint):
        return
    probe = spark_name(checkpoint / f".probe-{uuid4().hex}")
    try:
        both = _both_written(session, probe)
    except Exception as trouble:
        said = str(getattr(trouble, "java_exception", trouble)).strip().splitlines() or [type(trouble).__name__]
        raise RunError(
            f"cannot keep a checkpoint in {checkpoint}: Spark's own client cannot write there ({said[0]}). Expected "
            "the name node's address; name services and Kerberos are read from HADOOP_CONF_DIR"
        ) from None
    if both:
        raise RunError(
            f"cannot keep a checkpoint in {checkpoint}: of two that write the same new file both succeed there, so two "
            "drivers could log the same step. Give a folder that all machines see"
        )


def _both_written(session: SparkSession, path: str) -> bool:
    """Whether two that have begun to write a new file both put it in place."""
    context = session.sparkContext
    jvm: Any = context._jvm
    settings = jvm.org.apache.hadoop.conf.Configuration(context._jsc.hadoopConfiguration())
    at = jvm.org.apache.hadoop.fs.Path(path)
    files = getattr(jvm, _BY_RENAME)(at, settings)
    first, second = files.createAtomic(at, False), files.createAtomic(at, False)
    try:
        first.close()
        try:
            second.close()
        except Exception:
            return False
        return True
    finally:
        second.cancel()
        files.delete(at)
