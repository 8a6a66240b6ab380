"""Spark's own files in a checkpoint in a store: by which class they are written, and whether it can.

Two drivers may work on a checkpoint there, since no lock keeps the second off. Our own files say whose it is (`epoch`);
Spark's logs must take a step from one driver only. On HDFS they are written by the class of Spark that renames with
HDFS's own call, which fails if the name is taken. On S3 none of Spark's classes can do it, so they are written by one
of ours, `S3CheckpointFileManager.java`. It is compiled here by Janino, the compiler by which Spark runs queries.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zipfile import ZipFile, ZipInfo

from arterial.errors import RunError
from arterial.storage.place import put_in_place
from arterial.storage.remote import is_remote, renames_folders, spark_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME = "spark.sql.streaming.checkpointFileManagerClass"
_BY_RENAME = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
_BY_CONDITION = "arterial.S3CheckpointFileManager"
# Snapshots of state go by the same requests as other files, and not by a second, asynchronous client.
_ONE_CLIENT = {"fs.s3a.optimized.copy.from.local.enabled": "false"}
_SOURCE = Path(__file__).with_name("S3CheckpointFileManager.java")
_compiling = Lock()
_given: set[Path] = set()


def writer_for(session: SparkSession, checkpoint: Path) -> dict[str, str]:
    """The settings by which Spark writes its part of a checkpoint; none for a folder of the machine."""
    if not is_remote(checkpoint):
        return {}
    if _on_hdfs(checkpoint):
        return {_NAME: _BY_RENAME}
    with _compiling:
        _give_out(session)
    return {_NAME: _BY_CONDITION, **_ONE_CLIENT}


def check_writer(session: SparkSession, checkpoint: Path) -> None:
    """Raise if Spark cannot write to a store, or lets two drivers that do not know of each other log the same step."""
    if not is_remote(checkpoint):
        return
    probe = spark_name(checkpoint / f".probe-{uuid4().hex}")
    try:
        both = _both_written(session, writer_for(session, checkpoint), probe)
    except Exception as trouble:
        said = str(getattr(trouble, "java_exception", trouble)).strip() or type(trouble).__name__
        raise RunError(f"cannot keep a checkpoint in {checkpoint}: {_why(session, checkpoint, said)}") from None
    if both:
        raise RunError(
            f"cannot keep a checkpoint in {checkpoint}: of two that write the same new file both succeed there, so two "
            "drivers could log the same step. Give a folder that all machines see"
        )


def _on_hdfs(checkpoint: Path) -> bool:
    return renames_folders(checkpoint)


def _why(session: SparkSession, checkpoint: Path, said: str) -> str:
    """What is wrong where Spark cannot write, and what to do."""
    jvm: Any = session.sparkContext._jvm
    if "ClassNotFoundException" in said or "NoClassDefFoundError" in said:
        package = f"org.apache.hadoop:hadoop-aws:{jvm.org.apache.hadoop.util.VersionInfo.getVersion()}"
        return (
            f"Spark's client for S3, or a part of it, is missing ({said.splitlines()[0]}). Give --spark-conf "
            f"spark.jars.packages={package}, or spark.jars with its jars and those of Amazon's SDK"
        )
    if "Conditional Writes Unavailable" in said:
        return "fs.s3a.create.conditional.enabled is false, so two drivers could log the same step. Leave it out"
    expected = (
        "the name node's address; name services and Kerberos are read from HADOOP_CONF_DIR"
        if _on_hdfs(checkpoint)
        else "credentials in the environment, or as spark.hadoop.fs.s3a.aws.credentials.provider names them"
    )
    return f"Spark's own client cannot write there ({said.splitlines()[0]}). Expected {expected}"


def _both_written(session: SparkSession, writer: dict[str, str], path: str) -> bool:
    """Whether two that have begun to write a new file both put it in place."""
    context = session.sparkContext
    jvm: Any = context._jvm
    settings = jvm.org.apache.hadoop.conf.Configuration(context._jsc.hadoopConfiguration())
    for name, value in writer.items():
        settings.set(name, value)
    at = jvm.org.apache.hadoop.fs.Path(path)
    managers = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
    files = managers.create(at, settings)
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


def _give_out(session: SparkSession) -> None:
    """Compile our class, and give it to the driver and to all executors, once in a session."""
    context: Any = session.sparkContext
    jar = Path(context._temp_dir) / "arterial-s3.jar"
    if jar in _given:
        return
    loader = context._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler = context._jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(loader)
    compiler.cook(_SOURCE.read_text())
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, code in sorted(compiler.getBytecodes().items()):
            archive.writestr(ZipInfo(f"{name.replace('.', '/')}.class"), bytes(code))
    put_in_place(jar, packed.getvalue())
    loader.addURL(context._jvm.java.net.URL(jar.as_uri()))
    context._jsc.addJar(str(jar))
    _given.add(jar)
