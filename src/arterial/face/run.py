"""Runs a network on Spark, or in this process, with whatever a user names as its sources and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arterial.engine.run.checkpoint.folder import checkpoint_or_temporary
from arterial.engine.run.life import Run
from arterial.engine.run.settings import Settings
from arterial.errors import RunError
from arterial.face.bindings import check_names, sinks_from, sources_from, value_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from arterial.drawing import Network
    from arterial.engine.spark.cluster import Cluster
    from arterial.network.network import NetworkValue


def run(
    network: Network | NetworkValue,
    bindings: Mapping[str, Any] | None = None,
    /,
    *,
    checkpoint: str | Path | None = None,
    settings: Settings | None = None,
    local: bool = False,
    spark: SparkSession | None = None,
    metrics: str | int | None = None,
    log: str | Path | None = None,
    lineage: str | Path | None = None,
    master: str | Cluster | None = None,
    **more: Any,
) -> Run:
    """Start a network on Spark; keywords (or a mapping) name what is behind its sources and outputs.

    A source is a path or URI of Parquet or CSV files, a frame (Polars, pandas, Arrow, a streaming DataFrame of Spark),
    a list of tuples as dicts, or a `Source`. An output is the path of one .parquet, .csv or .jsonl file, which is
    written when the run ends (with `?grow` while it runs), a folder, `-` for standard output, a URI (`sqlite:///…`,
    `postgresql://…`, `https://…`: docs/sinks.md), a `Sink`, a function `write(frame, step)` for Spark's frames, or None
    to let its tuples go.
    An output that is not named is kept in memory: `run["alerts"]` reads it.

    With a `checkpoint` the same call goes on where the run stopped. Without one it begins from the start every time.
    `local` runs it in this process without Spark, with the same plan and the same outputs; it keeps no checkpoint.
    `metrics` is a port (or HOST:PORT) at which Prometheus finds metrics, `log` a file, `lineage` a file or http
    address for OpenLineage events (docs/operations.md); `settings.watch` has more of them.
    `master` is a Spark master (`spark://HOST:PORT`), or a `Cluster` that also says how to get there (docs/cluster.md);
    `spark` is a session that you made yourself.
    """
    value = value_of(network)
    settings = _watched(settings or Settings(), metrics=metrics, log=log, lineage=lineage)
    given = {**(bindings or {}), **more}
    check_names(value, given, outputs=True)
    if local and any(given is not None for given in (checkpoint, spark, master)):
        raise RunError(
            "a local run keeps no checkpoint and needs no Spark; leave out checkpoint=, spark= and master=, or local="
        )
    if spark is not None and master is not None:
        raise RunError("spark= is a session that already has a master; leave out one of spark= and master=")
    temporary = checkpoint is None
    with checkpoint_or_temporary(checkpoint) as folder:
        sources, sinks = sources_from(value, given), sinks_from(value, given, folder)
        if local:
            from arterial.engine.run.local import run_locally

            return run_locally(value, sources, sinks, folder, settings, temporary=temporary)
        from arterial.engine.run.run import run as start

        if master is not None:
            from arterial.engine.spark.session import spark_session

            spark = spark_session(f"arterial {value.name}", master=master)
        return start(value, sources, sinks, folder, settings, spark=spark, temporary=temporary)


def _watched(settings: Settings, **asked: str | int | Path | None) -> Settings:
    """The settings with what was asked for to watch the run by."""
    said = {name: str(value) for name, value in asked.items() if value is not None}
    return replace(settings, watch=replace(settings.watch, **said)) if said else settings
