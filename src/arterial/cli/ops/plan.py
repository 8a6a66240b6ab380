"""`arterial plan`: the cores, memory and disk traffic that a network needs at given rates, by measured costs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arterial.cli.parts.network import NETWORK_HELP, load_network
from arterial.errors import RunError

if TYPE_CHECKING:
    from arterial.network.network import NetworkValue
    from arterial.service.prediction.sizing import Sizing

FIGURES_HELP = (
    "A run that costs are taken from: its output folder, or its checkpoint. Repeatable; best are two: one in real "
    "time, which shows what a step costs, and one as fast as it can, which shows what a tuple costs."
)
MEASURED_HELP = "How many cores these runs had."
CORES_HELP = "Plan for so many cores, instead of as many as the rates need."


def plan(
    network: str = typer.Argument(help=NETWORK_HELP),
    rate: list[str] = typer.Option(
        [], "--rate", "-r", help="NAME=TUPLES: tuples a second of a source, such as reports=50000. Repeatable."
    ),
    figures: list[Path] = typer.Option(..., "--figures", help=FIGURES_HELP),
    measured_cores: int = typer.Option(0, help=MEASURED_HELP, show_default="all of this machine"),
    cores: int = typer.Option(0, "--cores", help=CORES_HELP),
    executor_cores: int = typer.Option(4, "--executor-cores", help="How many cores an executor has."),
    headroom: float = typer.Option(0.8, "--headroom", help="The share that may be used in steady state, from 0 to 1."),
    as_json: bool = typer.Option(False, "--json", help="Print it as JSON."),
) -> None:
    """Say how many cores and executors a network needs at given rates, and what gives way first.

    Costs come from the figures of earlier runs. arterial check has more about each box.

    Exit codes: 0 the cores are enough, 1 they are not, or no number of cores is.

    Example: arterial plan examples/speeding.py:net --rate reports=500000 --figures out
    """
    from arterial.cli.check.check import rates_of

    value = load_network(network)
    say(sizing_of(value, rates_of(value, rate), figures, measured_cores, cores, executor_cores, headroom), as_json)


def sizing_of(
    network: NetworkValue,
    rates: dict[str, float],
    figures: list[Path],
    measured_cores: int,
    cores: int,
    executor_cores: int,
    headroom: float,
) -> Sizing:
    """What a network needs at given rates, by the figures of runs."""
    from arterial.cli.check.check import note_doubts, recorded, warm
    from arterial.engine.plan.compile import compile_network
    from arterial.engine.plan.plan import Where
    from arterial.engine.run.control.controllers import cores_here
    from arterial.service.prediction.sizing import size

    if min(cores, measured_cores, executor_cores - 1) < 0:
        raise RunError("--cores, --measured-cores and --executor-cores: expected a number of cores")
    if not 0 < headroom <= 1:
        raise RunError(f"--headroom {headroom}: expected a share above 0, up to 1")
    compiled = compile_network(network, 2)
    serial = [box.name for box in network.boxes if box.inputs and compiled.superbox_of(box.name).where is Where.ONE]
    recordings = [recorded(network, folder) for folder in figures]
    note_doubts(recordings)
    runs = [warm(steps) for steps in recordings]
    found = size(
        runs,
        network,
        rates,
        measured_cores or cores_here(),
        serial,
        headroom=headroom,
        cores=cores,
        executor_cores=executor_cores,
    )
    if found is None:
        raise RunError("the run that costs are taken from has read no tuple; let it read some")
    return found


def say(found: Sizing, as_json: bool) -> None:
    """Print what is needed; not enough is the exit code 1."""
    if as_json:
        plain = {name: None if value == math.inf else value for name, value in asdict(found).items()}
        typer.echo(json.dumps(plain, indent=2))
    else:
        for line in lines(found):
            typer.echo(line)
    if not found.enough:
        raise typer.Exit(1)


def lines(found: Sizing) -> list[str]:
    """What is needed, for people."""
    asked = ", ".join(f"{name}={value:,.0f}" for name, value in found.rates.items())
    about = f" {found.limit_name}" if found.limit_name else ""
    delay = f"{found.delay:.2f} s" if math.isfinite(found.delay) else "grows without bound"
    said = [
        f"at {asked} tuples/s: {_counted(found.cores, 'core')}, {'enough' if found.enough else 'NOT enough'}",
        f"boxes keep {found.work:.2f} cores busy; with reading and sending it is {found.work * found.overhead:.2f}",
        f"{_counted(found.executors, 'executor')} with {found.executor_memory / (1 << 30):.1f} GB each",
        f"state {found.state / 1e6:,.1f} MB; {found.written / 1e6:,.2f} MB/s of it are written",
        f"worst delay {delay}" + (f", by steps of {found.step:.2f} s" if math.isfinite(found.step) else ""),
    ]
    if math.isfinite(found.limit_at):
        said.append(f"first to give way: {found.limit}{about}, at {found.limit_at:.2f} × these rates")
    return said


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
