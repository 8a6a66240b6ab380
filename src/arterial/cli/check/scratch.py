"""Short runs of which only the figures count: in a folder that is removed, in this process or on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from arterial.connectors.source import Source
    from arterial.engine.run.life import Run
    from arterial.engine.run.settings import Settings
    from arterial.figures.step import StepFigures
    from arterial.network.network import NetworkValue


@contextmanager
def host(network: NetworkValue, *, local: bool) -> Iterator[SparkSession | None]:
    """The session of Spark for such runs, or None for this process."""
    from arterial.engine.spark.session import spark_session, stop_spark

    session = None if local else spark_session(f"arterial check {network.name}")
    try:
        yield session
    finally:
        if session is not None:
            stop_spark(session)


def steps_of(
    network: NetworkValue,
    sources: Mapping[str, Source],
    settings: Settings,
    seconds: float,
    session: SparkSession | None,
) -> list[StepFigures]:
    """The steps of a run that is stopped after so many seconds."""
    from arterial.connectors.sinks.memory import MemorySink
    from arterial.engine.run.local import run_locally
    from arterial.engine.run.run import run as start
    from arterial.figures.steps_file import read_steps

    sinks = {name: MemorySink() for name in network.output_names}
    with tempfile.TemporaryDirectory(prefix="arterial-check-") as scratch:
        running: Run
        if session is None:
            running = run_locally(network, sources, sinks, scratch, settings)
        else:
            running = start(network, sources, sinks, scratch, settings, spark=session)
        running.wait(seconds)
        if running.active:
            running.stop()
        return list(read_steps(running.checkpoint))
