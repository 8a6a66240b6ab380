"""`arterial check`: is the machine large enough for a network, and what gives way first? (Aurora §4.4)"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arterial.cli.parts.network import NETWORK_HELP, load_network
from arterial.errors import RunError, near

if TYPE_CHECKING:
    from arterial.figures.step import StepFigures
    from arterial.network.network import NetworkValue
    from arterial.service.prediction.analysis import Analysis


def check(
    network: str = typer.Argument("", help=NETWORK_HELP + " Not needed with --replay of a run.", show_default=False),
    rate: list[str] = typer.Option(
        [], "--rate", "-r", help="NAME=TUPLES: tuples a second of a source, such as reports=50000. Repeatable."
    ),
    figures: Path | None = typer.Option(
        None, "--figures", help="Take costs from this run: its output folder, or its checkpoint."
    ),
    measure: bool = typer.Option(
        False, "--measure", help="Measure costs now: run the network on the files given as --source."
    ),
    source: list[str] = typer.Option(
        [],
        "--source",
        "-s",
        help="NAME=PATH: for --measure, a sample of what a source reads; for --replay, what it reads instead. "
        "Repeatable.",
    ),
    replay: Path | None = typer.Option(
        None,
        "--replay",
        help="Prove it: read a recorded input again, at --speed. The folder of a run, which knows its network and its "
        "files; or a file, a connection point's folder, or a folder with one of these for each source, by its name.",
    ),
    speed: float = typer.Option(1.0, "--speed", help="For --replay: how many times faster than it was recorded."),
    seconds: float = typer.Option(60.0, "--seconds", help="For --replay: for how long, at most."),
    local: bool = typer.Option(False, "--local", help="For --measure and --replay: in this process, without Spark."),
    cores: int = typer.Option(0, "--cores", min=0, help="For how many cores.", show_default="all of this machine"),
    headroom: float = typer.Option(
        0.8, "--headroom", help="The share of the machine that may be used in steady state, from 0 to 1."
    ),
    train_size: int = typer.Option(500_000, "--train-size", min=1, help="The longest train, in tuples."),
    as_json: bool = typer.Option(False, "--json", help="Print it as JSON."),
) -> None:
    """Predict how a network fares at given rates: the work of each box, the bottleneck, the rate at which queues grow.

    It also says which output leaves its good zone first. Exit codes: 0 if the rates can be borne within the headroom
    and every output stays in its good zone, 1 if not.

    Examples: arterial check examples/speeding.py:net --rate reports=50000 --figures out
    arterial check --replay out --speed 4
    """
    from arterial.engine.run.control.controllers import cores_here
    from arterial.figures.window import Window
    from arterial.service.prediction.analysis import analyse

    if replay is not None:
        if rate or figures or measure:
            raise RunError("--replay takes rates and costs as they come; leave out --rate, --figures and --measure")
        _replay(network, replay, source, speed, seconds, train_size, local=local, as_json=as_json)
        return
    if not network:
        raise RunError(
            "which network? Give its place, FILE.py:NAME or MODULE:NAME; only --replay of a run knows its own"
        )
    value = load_network(network)
    rates = rates_of(value, rate)
    if not 0 < headroom <= 1:
        raise RunError(f"--headroom {headroom}: expected a share above 0, up to 1")
    if measure == (figures is not None):
        raise RunError("give either --figures DIR, the folder of an earlier run, or --measure with --source NAME=PATH")
    steps = _measured(value, source, local) if figures is None else recorded(value, figures)
    if figures is not None:
        note_doubts([steps])
    cores = cores or cores_here()
    found = analyse(Window(math.inf, warm(steps)), value, rates, cores, headroom, train_size)
    if found is None:
        raise RunError("the run that costs are taken from has read no tuple; let it read some")
    free = without_figures(value, steps)
    if as_json:
        typer.echo(json.dumps({**_plain(found), "without_figures": free}, indent=2))
    else:
        _print(found)
        if free:
            typer.echo(f"not counted, since the run did not have them: {', '.join(free)}")
    first = found.first_to_leave
    if not found.is_sized or found.saturates_at <= 1 or (first is not None and first.leaves_at <= 1):
        raise typer.Exit(1)


def _replay(
    network: str,
    path: Path,
    given: list[str],
    speed: float,
    seconds: float,
    train_size: int,
    *,
    local: bool,
    as_json: bool,
) -> None:
    from arterial.cli.check.replay import recording, replay, say

    if not (0 < speed < math.inf and seconds > 0):
        raise RunError(f"--speed {speed:g}, --seconds {seconds:g}: expected numbers above 0")
    with tempfile.TemporaryDirectory(prefix="arterial-replay-") as scratch:
        value, sources = recording(load_network(network) if network else None, path, given, speed, Path(scratch))
        found = replay(value, sources, seconds, train_size, local=local)
    if as_json:
        typer.echo(json.dumps(found.as_data(), indent=2))
    else:
        say(found)
    if not found.kept_up:
        raise typer.Exit(1)


def rates_of(network: NetworkValue, given: list[str]) -> dict[str, float]:
    """Tuples a second of every source."""
    names = network.source_names
    rates: dict[str, float] = {}
    for text in given:
        name, sign, number = text.rpartition("=")
        if not sign and len(names) == 1:
            name = names[0]
        if name not in names:
            raise RunError(
                f"--rate {text}: network {network.name!r} has no source {name!r}; it has: {', '.join(names)}"
                + near(name, names)
            )
        try:
            rates[name] = float(number.replace(",", "").replace("_", ""))
        except ValueError:
            rates[name] = -1.0
        if not 0 <= rates[name] < math.inf:
            raise RunError(f"--rate {text}: expected a number of tuples a second, got {number!r}")
    if missing := [name for name in names if name not in rates]:
        raise RunError(f"network {network.name!r}: give --rate {missing[0]}=TUPLES, for a second")
    return rates


def recorded(network: NetworkValue, folder: Path) -> list[StepFigures]:
    """The steps of an earlier run of a network."""
    from arterial.engine.run.checkpoint.folder import find_checkpoint
    from arterial.figures.steps_file import STEPS_FILE, read_steps

    checkpoint = find_checkpoint(folder)
    steps = list(read_steps(checkpoint))
    if not steps:
        raise RunError(f"{checkpoint}: no {STEPS_FILE} is there; let the run do a few steps first")
    known = {box.name for box in network.boxes}
    sources = set(network.source_names)
    seen, read = {name for step in steps for name in step.boxes}, {name for step in steps for name in step.sources}
    if not known & seen or not sources <= read:
        raise RunError(
            f"{checkpoint}: it is the run of another network: it has the sources {', '.join(sorted(read))}, and "
            f"{network.name!r} has {', '.join(sorted(sources))}"
        )
    return steps


def without_figures(network: NetworkValue, steps: list[StepFigures]) -> list[str]:
    """The boxes that a run would have, and the one that costs are taken from did not."""
    from arterial.engine.plan.views import without_views

    seen = {name for step in steps for name in step.boxes}
    return [box.name for box in without_views(network).order if box.name not in seen]


def _measured(network: NetworkValue, given: list[str], local: bool) -> list[StepFigures]:
    """The steps of a short run on a sample, in trains of several lengths."""
    from arterial.cli.check.scratch import host, steps_of
    from arterial.cli.run import sources_of
    from arterial.engine.run.settings import Settings

    steps: list[StepFigures] = []
    with host(network, local=local) as session:
        for size in TRAINS:
            settings = Settings(train_size=size)
            steps += warm(steps_of(network, sources_of(network, given), settings, MOST_SECONDS, session))
    return steps


TRAINS = (20_000, 200_000)
"""Two lengths of a train show what a step costs by itself."""

FEW = 1000
"""Of so few tuples in a step the costs are mostly those of the step."""

MOST_SECONDS = 30.0
"""A run on a sample is stopped after so long."""


def warm(steps: list[StepFigures]) -> list[StepFigures]:
    """Without the first steps, in which code is loaded and compiled, if there are others."""
    return steps[2:] if len(steps) > 4 else steps[1:] if len(steps) > 1 else steps


def note_doubts(runs: Sequence[list[StepFigures]]) -> None:
    """Say what makes the costs of runs unsure: few tuples in each step, or a first step only."""
    most = max((_read(step) for run in runs for step in warm(run)), default=0)
    which = "this run" if len(runs) == 1 else "these runs"
    if 0 < most < FEW:
        typer.echo(
            f"note: the steps of {which} read at most {most:,} tuples, too few to tell what a tuple costs from what a "
            "step costs. Take the figures of a run that reads as fast as it can (--speed max), of more tuples",
            err=True,
        )
    elif most and all(sum(_read(step) > 0 for step in run) == 1 for run in runs):
        typer.echo(
            f"note: {which} read all in one step, the first, in which code is loaded and compiled, so tuples seem to "
            "cost more than they do. Take the figures of a run of more tuples, or of shorter trains (--train-size)",
            err=True,
        )


def _read(step: StepFigures) -> int:
    return sum(source.tuples for source in step.sources.values())


def _plain(found: Analysis) -> dict[str, object]:
    bottleneck, first = found.bottleneck, found.first_to_leave
    said = {
        **asdict(found),
        "is_sized": found.is_sized,
        "bottleneck": bottleneck.name if bottleneck else None,
        "first_to_leave": first.name if first else None,
    }
    return json.loads(json.dumps(said), parse_constant=lambda _: None)  # type: ignore[no-any-return]


def _print(found: Analysis) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    table = Table("box", "kind", "tuples/s", "µs/tuple", "selectivity", "cores", "share")
    for column in table.columns[2:]:
        column.justify = "right"
    for box in found.boxes:
        table.add_row(
            box.name,
            box.kind,
            f"{box.rate:,.0f}",
            f"{1e6 * box.cost:,.2f}",
            "" if box.selectivity is None else f"{box.selectivity:.3f}",
            f"{box.work:.3f}",
            f"{box.work / found.min_cap:.0%}" if found.min_cap else "",
        )
    console.print(table)
    capacity = found.cores * found.headroom
    verdict = "enough" if found.is_sized else "NOT enough"
    console.print(
        f"min_cap {found.min_cap:.2f} cores; C·H = {found.cores} · {found.headroom:g} = {capacity:.2f}: {verdict}"
    )
    console.print(
        f"a step takes {found.fixed:.3f} s and what its tuples need; {found.utilisation:.0%} of the time is theirs"
    )
    if found.bottleneck is not None:
        share = found.bottleneck.work / found.min_cap
        console.print(f"bottleneck: {found.bottleneck.name}, {share:.0%} of the work")
    asked = ", ".join(f"{name}={value:,.0f}" for name, value in found.rates.items())
    if math.isfinite(found.saturates_at):
        at = ", ".join(f"{name}={value * found.saturates_at:,.0f}" for name, value in found.rates.items())
        console.print(f"saturates at {_times(found.saturates_at)} × ({asked}): {at} tuples/s")
    for output in found.outputs:
        if math.isfinite(output.limit):
            delay = f"{output.delay:.2f} s" if math.isfinite(output.delay) else "grows without bound"
            leaves = f"leaves it at {_times(output.leaves_at)} ×"
            leaves = leaves if output.is_feasible else "cannot be in it at any rate"
            console.print(f"output {output.name}: good zone {output.limit:g} s, worst delay {delay}; {leaves}")
    if found.first_to_leave is not None:
        console.print(f"first to leave its good zone: {found.first_to_leave.name}")


def _times(factor: float) -> str:
    """How many times a rate, to three digits.

    >>> _times(0.000_721_9), _times(1.5), _times(29_204.88)
    ('0.000722', '1.50', '29,205')
    """
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:#.3g}"
