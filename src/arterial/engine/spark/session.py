"""The one place where a Spark session is made, with the settings that streaming in trains needs."""

from __future__ import annotations

import importlib
import logging
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from arterial.engine.spark.cluster import ALL_ADDRESSES, LOOPBACK, Cluster, PythonName, wait_for_workers
from arterial.engine.spark.logs.store_files import writer_for
from arterial.engine.spark.start.archive import Archive
from arterial.engine.spark.start.forks import start_forks
from arterial.engine.spark.start.gateway import Gateway, spark_home
from arterial.engine.spark.start.java import find_java
from arterial.errors import MachineError, RunError
from arterial.storage.place import remove
from arterial.storage.stores.s3 import hadoop_settings

if TYPE_CHECKING:
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

_CHECKPOINT = "org.apache.spark.sql.execution.streaming.checkpointing"
_LOG = Path(__file__).with_name("log4j2.properties").as_uri()
_JAVA = "-Djdk.lang.Process.launchMechanism=VFORK"
# G1 takes a sorter's page for a humongous object and begins a marking cycle in every other step.
_COLLECTOR = "-XX:+UseParallelGC"
# Java's second compiler comes ten times later than usual: it would take as much time as a short run itself takes.
_LATE = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
_OPTIONS = "spark.driver.extraJavaOptions"
_STATE = "org.apache.spark.sql.execution.streaming.state"

# docs/decisions/0008-spark-host.md and 0031-first-answer.md say what those that are not obvious were measured to bring.
SETTINGS: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.locality.wait": "0",
    "spark.sql.streaming.checkpointFileManagerClass": f"{_CHECKPOINT}.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.stateStore.providerClass": f"{_STATE}.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "50",
    # Hadoop keeps checksums of the same files, and every file costs the start of a process (decision 8).
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "arterial.engine.spark.start.daemon",
    "spark.shuffle.compress": "false",
    "spark.shuffle.checksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "4194304",
    _OPTIONS: f"{_JAVA} {_LATE} -Dlog4j2.configurationFile={_LOG}",
    "spark.executor.extraJavaOptions": f"{_JAVA} {_LATE}",
    # Executors would log a hundred lines a step, which costs them as much as an eighth of their work (decision 38).
    "spark.executor.syncLogLevel.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    # A machine with more to do than cores may take its time to start a Python worker.
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class _Started(NamedTuple):
    """Java, which starts or runs, for which master, and the program that Spark takes for Python."""

    gateway: Gateway
    cluster: Cluster
    python: PythonName
    archive: Archive


_started: list[_Started] = []


def begin_spark(cluster: Cluster | str | None = None) -> None:
    """Let the Java of a Spark on this machine start while the caller does other things, before `spark_session`."""
    if not _has_java() and (chosen := Cluster.of(cluster)).on_one_machine:
        _begin(chosen, None)


def spark_session(
    name: str, *, master: str | Cluster | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Start Spark, or return the session that already runs in this process.

    `master` is any Spark master, or all that leads to it; `ARTERIAL_MASTER` stands in for it, and the cores of this
    machine for both.
    """
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    cluster, active = Cluster.of(master), SparkContext._active_spark_context
    if active is not None and cluster.master is None:
        cluster = Cluster(active.master)
    _check_same(active, cluster)
    if _started and _started[0].cluster.on_one_machine != cluster.on_one_machine:
        raise RunError(
            f"the Spark of this process was started for {_started[0].cluster.url}, and cannot go to {cluster.url}: use "
            "another process"
        )
    if not _has_java():
        _log.info("starting Spark …")
        SparkContext._ensure_initialized(gateway=_connect(cluster, settings))
    builder = SparkSession.builder.appName(name).master(cluster.url)
    for key, value in _settings(cluster if active is None else None, settings).items():
        builder = builder.config(key, value)
    kernels = None
    if active is None:
        # Java takes a second and a half to make the session, and needs one core for it.
        loaded = "arterial.engine.spark.start.preloaded_kernels"
        kernels = threading.Thread(target=importlib.import_module, args=(loaded,))
        kernels.start()
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = _started[0].python.name if _started else before or sys.executable
    try:
        session = builder.getOrCreate()
    finally:
        if before is None:
            del os.environ["PYSPARK_PYTHON"]
        else:
            os.environ["PYSPARK_PYTHON"] = before
    if kernels is not None:
        kernels.join()
    if active is None and not cluster.on_one_machine:
        wait_for_workers(session, cluster.url)
    # Also for the executors: for those that are there now, and for others as they come.
    session.sparkContext.setLogLevel("ERROR")
    return session


def stop_spark(session: SparkSession) -> None:
    """Stop Spark at once.

    pyspark waits for its server of accumulators, which looks only twice a second whether it should end.
    """
    context: Any = session.sparkContext
    server, context._accumulatorServer = context._accumulatorServer, None
    session.stop()
    threading.Thread(target=server.shutdown, daemon=True).start()


def _check_same(active: SparkContext | None, cluster: Cluster) -> None:
    """A process has one Spark: refuse a master that is not its own."""
    if active is not None and active.master != cluster.url:
        raise RunError(
            f"Spark already runs on {active.master} in this process, and master is {cluster.url}. Stop that session "
            "first, or leave master out."
        )


def _begin(cluster: Cluster, settings: Mapping[str, str] | None) -> None:
    """Start Java and what Spark takes for Python."""
    if _started:
        return
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    # A worker is one of several on the machine: it must not start a thread for each core again.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    archive = Archive(java, spark_home())
    chosen = _settings(cluster, settings)
    python, own = PythonName(os.environ.get("PYSPARK_PYTHON") or sys.executable, {}, {}), {}
    if cluster.on_one_machine:
        own["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", LOOPBACK)
        if python.name == sys.executable:
            with suppress(OSError):  # a folder for temporary files whose name is too long for a socket, say
                python = PythonName(str(start_forks()), {}, {})
        chosen[_OPTIONS] = " ".join([chosen[_OPTIONS], *archive.options()])
    else:
        python = PythonName.of(cluster.workers_python())
        chosen = {**python.settings, **chosen}
        if (bound := chosen.get("spark.driver.bindAddress")) and bound != ALL_ADDRESSES:
            own["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", bound)
    environment = {"PYSPARK_DRIVER_PYTHON": python.name, **os.environ, **own, **python.environment}
    gateway = Gateway(chosen, {**environment, "PYSPARK_PYTHON": python.name})
    archive.java = gateway.process
    _started.append(_Started(gateway, cluster, python, archive))


def _connect(cluster: Cluster, settings: Mapping[str, str] | None) -> Any:
    """Wait for Java. If it fails with an archive of classes, that may be damaged: try again without."""
    _begin(cluster, settings)
    gateway, archive = _started[0].gateway, _started[0].archive
    used = cluster.on_one_machine and archive.used
    import pyspark.testing  # noqa: F401 - the first call to Java imports it: better while Java starts

    try:
        return gateway.connect()
    except MachineError:
        _started.clear()
        if not used:
            raise
    remove(archive.path)
    return _connect(cluster, settings)


def _has_java() -> bool:
    """Whether this process is connected to a Java, which serves as long as the process lives."""
    context = sys.modules.get("pyspark.core.context")
    return context is not None and context.SparkContext._gateway is not None


def _settings(cluster: Cluster | None, chosen: Mapping[str, str] | None) -> dict[str, str]:
    settings = {
        **SETTINGS,
        **_with_a_collector(),
        "spark.local.dir": os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()),
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "arterial-warehouse"),
        **(cluster.spark_settings() if cluster is not None else {}),
        **(chosen or {}),
    }
    for name, value in hadoop_settings().items():
        settings.setdefault(name, value)
    if "SPARK_DRIVER_MEMORY" not in os.environ:
        settings.setdefault("spark.driver.memory", f"{_driver_megabytes()}m")
    return settings


def _with_a_collector() -> dict[str, str]:
    """Java's options with our garbage collector. It refuses to start with two, so the user's choice goes first."""
    chosen = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {os.environ.get('JDK_JAVA_OPTIONS', '')}"
    if re.search(r"-XX:\+Use\w+GC", chosen):
        return {}
    return {name: f"{_COLLECTOR} {SETTINGS[name]}" for name in (_OPTIONS, "spark.executor.extraJavaOptions")}


@contextmanager
def query_settings(session: SparkSession, shards: int, checkpoint: Path) -> Iterator[None]:
    """Settings without which a query must not start, whoever made the session; afterwards they are as before.

    Format 2 of state checkpoints makes Spark's commit log name the attempt at a state version that counts (decision
    18).
    """
    wanted = {
        "spark.sql.shuffle.partitions": str(shards),
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
        **writer_for(session, checkpoint),
    }
    before = {name: session.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)


def _driver_megabytes() -> int:
    """A quarter of this machine's memory, from 1 to 8 GB: trains pass through it, and a tight heap always collects."""
    megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return min(max(megabytes // 4, 1024), 8192)
