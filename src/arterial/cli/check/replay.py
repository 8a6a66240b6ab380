"""`arterial check --replay`: the proof of a prediction: a recorded input at many times its speed."""

from __future__ import annotations

import math
import tempfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

from arterial.errors import RunError

if TYPE_CHECKING:
    from arterial.engine.run.life import Run
    from arterial.figures.step import StepFigures
    from arterial.network.network import NetworkValue

WARM_UP = 5.0
"""Seconds in which code is loaded and compiled; they do not count, if the run takes longer than twice that."""


@dataclass(frozen=True)
class ReplayedOutput:
    """How an output fared."""

    name: str
    limit: float
    worst: float
    p99: float
    utility: float


@dataclass(frozen=True)
class Replayed:
    """What came of a replay."""

    rates: dict[str, float]
    """Tuples a second that came, by source."""
    waited: float
    """How long the oldest tuple of the last step had waited before it was read."""
    outputs: tuple[ReplayedOutput, ...]

    @property
    def kept_up(self) -> bool:
        """Whether every output was in its good zone."""
        return all(output.worst <= output.limit for output in self.outputs)

    def as_data(self) -> dict[str, Any]:
        """What JSON can hold."""
        outputs = [{**asdict(one), "limit": one.limit if math.isfinite(one.limit) else None} for one in self.outputs]
        return {"rates": self.rates, "waited": self.waited, "outputs": outputs, "kept_up": self.kept_up}


def replay(
    network: NetworkValue, given: list[str], speed: float, seconds: float, train_size: int, *, local: bool
) -> Replayed:
    """Run a network on recorded inputs at a speed, for so many seconds at most."""
    from arterial.cli.run import sources_of
    from arterial.connectors.sinks.memory import MemorySink
    from arterial.engine.run.local import run_locally
    from arterial.engine.run.run import run as start
    from arterial.engine.run.settings import Settings
    from arterial.engine.spark.session import spark_session
    from arterial.face.bindings import output_names
    from arterial.figures.steps_file import read_steps

    sources = sources_of(network, given, speed=speed)
    sinks = {name: MemorySink() for name in output_names(network)}
    settings = Settings(train_size=train_size, schedule="trains")
    session = None if local else spark_session(f"arterial check {network.name}")
    try:
        with tempfile.TemporaryDirectory(prefix="arterial-check-") as scratch:
            running: Run
            if session is None:
                running = run_locally(network, sources, sinks, scratch, settings)
            else:
                running = start(network, sources, sinks, scratch, settings, spark=session)
            running.wait(seconds)
            if running.active:
                running.stop()
            return judge(network, list(read_steps(running.checkpoint)))
    finally:
        if session is not None:
            session.stop()


def judge(network: NetworkValue, steps: list[StepFigures]) -> Replayed:
    """What the steps of a replay say."""
    from arterial.figures.window import Window, percentile
    from arterial.network.qos import good_zone
    from arterial.service.load import arrival_rate
    from arterial.service.scheduling import sources_of
    from arterial.service.utility import outputs_of, utilities

    if not steps:
        raise RunError("the replay did no step; expected recorded tuples with times that advance")
    ends = steps[-1].born - steps[0].born
    counted = [step for step in steps if step.born - steps[0].born >= WARM_UP] if ends > 2 * WARM_UP else steps
    window = Window(math.inf, counted)
    utility = utilities(window, network)
    outputs = []
    for output in outputs_of(network):
        delays = window.delays(output.name)
        worst, p99 = (delays[-1][0], percentile(delays, 0.99) or 0.0) if delays else (0.0, 0.0)
        outputs.append(ReplayedOutput(output.name, good_zone(output.delay), worst, p99, utility[output.name]))
    rates = {name: arrival_rate(counted, name) for name in sources_of(network)}
    waited = max((source.waited for source in counted[-1].sources.values()), default=0.0)
    return Replayed(rates, waited, tuple(outputs))


def say(replayed: Replayed) -> None:
    """Print what came of a replay."""
    for name, rate in replayed.rates.items():
        typer.echo(f"source {name}: {rate:,.0f} tuples/s came")
    for output in replayed.outputs:
        zone = f", good zone {output.limit:g} s" if math.isfinite(output.limit) else ""
        typer.echo(
            f"output {output.name}: delay p99 {output.p99:.2f} s, worst {output.worst:.2f} s{zone}; "
            f"utility {output.utility:.2f}"
        )
    typer.echo("every output was in its good zone" if replayed.kept_up else "an output LEFT its good zone")
