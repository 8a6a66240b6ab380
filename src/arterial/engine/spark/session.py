"""The one place where a Spark session is made, with the settings that streaming in trains needs."""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from arterial.engine.spark.java import find_java
from arterial.errors import MachineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

# All cores, and four attempts for a task: on one machine Spark would else stop when a single worker dies.
DEFAULT_MASTER = "local[*,4]"

_CHECKPOINT = "org.apache.spark.sql.execution.streaming.checkpointing"
_LOG = Path(__file__).with_name("log4j2.properties").as_uri()
_CHOSEN = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {os.environ.get('JDK_JAVA_OPTIONS', '')}"
# G1 takes a sorter's page for a humongous object and begins a marking cycle in every other step. Java refuses to start
# with two collectors, so the user's choice goes first.
_COLLECTOR = "" if re.search(r"-XX:\+Use\w+GC", _CHOSEN) else "-XX:+UseParallelGC "
_JAVA = f"{_COLLECTOR}-Djdk.lang.Process.launchMechanism=VFORK"
_STATE = "org.apache.spark.sql.execution.streaming.state"

# docs/decisions/0008-spark-host.md says what those that are not obvious were measured to bring.
SETTINGS: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.locality.wait": "0",
    "spark.sql.streaming.checkpointFileManagerClass": f"{_CHECKPOINT}.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.stateStore.providerClass": f"{_STATE}.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "50",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "arterial.engine.spark.daemon",
    "spark.shuffle.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "4194304",
    "spark.driver.extraJavaOptions": f"{_JAVA} -Dlog4j2.configurationFile={_LOG}",
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.sql.session.timeZone": "UTC",
    # A machine with more to do than cores may take its time to start a Python worker.
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def spark_session(name: str, *, master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Start Spark, or return the session that already runs in this process.

    `master` is any Spark master; `ARTERIAL_MASTER` stands in for it, and the cores of this machine for both.
    """
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # A worker is one of several on the machine: it must not start a thread for each core again.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")

    master = master or os.environ.get("ARTERIAL_MASTER") or DEFAULT_MASTER
    builder = SparkSession.builder.appName(name).master(master)
    chosen = {
        **SETTINGS,
        "spark.local.dir": os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()),
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "arterial-warehouse"),
        **(settings or {}),
    }
    if "SPARK_DRIVER_MEMORY" not in os.environ:
        chosen.setdefault("spark.driver.memory", f"{_driver_megabytes()}m")
    for key, value in chosen.items():
        builder = builder.config(key, value)
    from pyspark.errors import PySparkRuntimeError

    if SparkSession.getActiveSession() is None:
        _log.info("starting Spark …")
    try:
        with _own_stderr():
            session = builder.getOrCreate()
    except PySparkRuntimeError as trouble:
        if trouble.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise MachineError(
            f"Java ({os.environ['JAVA_HOME']}) did not start. `arterial doctor` checks this machine; set "
            "ARTERIAL_SPARK_LOG to the name of a file and try again to see what Java said."
        ) from None
    session.sparkContext.setLogLevel("ERROR")
    return session


@contextmanager
def query_settings(session: SparkSession, shards: int) -> Iterator[None]:
    """Settings without which a query must not start, whoever made the session; afterwards they are as before.

    Format 2 of state checkpoints makes Spark's commit log name the attempt at a state version that counts (decision
    18).
    """
    wanted = {
        "spark.sql.shuffle.partitions": str(shards),
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    }
    before = {name: str(session.conf.get(name)) for name in wanted}
    try:
        for name, value in wanted.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def _driver_megabytes() -> int:
    """A quarter of this machine's memory, from 1 to 8 GB: trains pass through it, and a tight heap always collects."""
    megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return min(max(megabytes // 4, 1024), 8192)


@contextmanager
def _own_stderr() -> Iterator[None]:
    """Give Spark, which keeps the standard error it was started with, another one than ours.

    Its Python workers write several lines there for every task. `ARTERIAL_SPARK_LOG` names a file that keeps them.
    """
    log = os.environ.get("ARTERIAL_SPARK_LOG") or os.devnull
    sys.stderr.flush()
    ours = os.dup(2)
    theirs = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(theirs, 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
        os.close(theirs)
