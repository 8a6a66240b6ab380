"""The options by which a command names a Spark cluster; the same for all commands that run a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arterial.errors import RunError

if TYPE_CHECKING:
    from arterial.engine.spark.cluster import Cluster

MASTER: Any = typer.Option(
    None,
    "--master",
    help="The Spark master: spark://HOST:PORT, yarn, k8s://… or local[N] (docs/cluster.md).",
    show_default="ARTERIAL_MASTER, or local[*]",
)
DRIVER_HOST: Any = typer.Option(
    None,
    "--driver-host",
    help="On a cluster: the name or address by which its workers reach this machine.",
    show_default="found",
)
ENVIRONMENT: Any = typer.Option(
    None,
    "--environment",
    help="On a cluster: an archive that arterial pack made, the Python of its workers.",
    show_default="the same path as here",
)
SPARK_CONF: Any = typer.Option(
    [], "--spark-conf", help="KEY=VALUE: a setting of Spark, such as spark.executor.memory=4g. Repeatable."
)


def cluster_of(master: str | None, driver_host: str | None, environment: Path | None, conf: list[str]) -> Cluster:
    """What the options say."""
    from arterial.engine.spark.cluster import Cluster

    settings = {}
    for text in conf:
        name, sign, value = text.partition("=")
        if not sign or not name.startswith("spark."):
            raise RunError(f"--spark-conf {name}: expected KEY=VALUE, such as spark.executor.memory=4g")
        settings[name] = value
    return Cluster(master, driver_host, environment, settings)
