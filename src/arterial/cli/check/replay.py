"""`arterial check --replay`: the proof of a prediction: a recorded input at many times its speed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arterial.errors import RunError

if TYPE_CHECKING:
    from arterial.connectors.source import Source
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


def recording(
    network: NetworkValue | None, path: Path, given: list[str], speed: float, scratch: Path
) -> tuple[NetworkValue, dict[str, Source]]:
    """The network, and its sources at a speed: those of the run in a folder, or the recorded inputs there.

    `scratch` is a folder for what is read from files that are made for it.
    """
    from dataclasses import replace as changed

    from arterial.causes.recorded import recorded
    from arterial.causes.replay import readable_again
    from arterial.cli.parts.network import load_network
    from arterial.cli.run import sources_of
    from arterial.connectors.files.source import FileSource

    given = [_in_order(text, scratch) for text in given]
    named = {text.partition("=")[0] for text in given}
    if _is_a_run(path):
        ran, known, _ = recorded(path, load_network)
        network = network or ran
        again = {name: readable_again(name, one) for name, one in known.items() if name not in named}
        sources: dict[str, Source] = {
            name: changed(one, speed=speed) if isinstance(one, FileSource) else one for name, one in again.items()
        }
        for name in network.source_names:
            if name not in sources and name not in named:
                readable_again(name, None)  # says what to do
        others = [box for box in sources if box not in network.source_names]
        if others:
            raise RunError(f"--replay {path}: it is the run of another network, with a source {others[0]!r}")
        if not named:
            return network, sources
        return network, {**sources, **_some(network, given, speed)}
    if network is None:
        raise RunError(f"--replay {path}: no run is there; say which network these inputs are for: FILE.py:NAME")
    if not path.exists():
        raise RunError(f"--replay {path}: it is not there; expected the folder of a run, or recorded inputs")
    wanted = [name for name in network.source_names if name not in named]
    found = [_in_order(f"{name}={_input(path, name, alone=len(wanted) == 1)}", scratch) for name in wanted]
    return network, sources_of(network, [*found, *given], speed=speed)


def _some(network: NetworkValue, given: list[str], speed: float) -> dict[str, Source]:
    """The sources that are given in words, of a network that may have others."""
    from dataclasses import replace as changed

    from arterial.connectors.files.source import FileSource
    from arterial.connectors.uri import source_from
    from arterial.engine.run.binding import first_port

    found = {}
    for name, _, where in (text.partition("=") for text in given):
        source = source_from(where, name, network.streams[first_port(network, name)])
        found[name] = changed(source, speed=speed) if isinstance(source, FileSource) else source
    return found


def _in_order(text: str, scratch: Path) -> str:
    """NAME=PATH; for the folder of a connection point, whose files are sorted by their storage key, a file with its
    tuples in the order in which they came."""
    from arterial.connectors.points.contents import POINT, read_contents
    from arterial.connectors.points.history import tuples_before

    name, _, path = text.partition("=")
    folder = Path(path)
    if not path or not (folder / POINT).exists():
        return text
    tuples = tuples_before(folder, read_contents(folder).step + 1)
    assert tuples is not None
    made = scratch / f"{name}.parquet"
    tuples.write_parquet(made)
    return f"{name}={made}"


def _is_a_run(path: Path) -> bool:
    from arterial.causes.local_record import RECORD
    from arterial.engine.run.checkpoint.folder import find_checkpoint

    if (path / RECORD).exists():
        return True
    try:
        find_checkpoint(path)
    except RunError:
        return False
    return True


def _input(path: Path, source: str, *, alone: bool) -> Path:
    """The recorded input of a source: the path itself, or what has the source's name there."""
    from arterial.connectors.points.contents import POINT

    if path.is_dir() and not (path / POINT).exists():
        found = sorted(one for one in path.iterdir() if source in (one.name, one.name.partition(".")[0]))
        if len(found) == 1:
            return found[0]
        if not alone or found:
            there = ", ".join(one.name for one in found) or "nothing"
            raise RunError(
                f"--replay {path}: expected one file or folder {source}.* for the source {source!r}; {there}"
            )
    return path


def replay(
    network: NetworkValue, sources: dict[str, Source], seconds: float, train_size: int, *, local: bool
) -> Replayed:
    """Run a network on recorded inputs, for so many seconds at most."""
    from arterial.cli.check.scratch import host, steps_of
    from arterial.engine.run.settings import Settings

    settings = Settings(train_size=train_size, schedule="trains")
    with host(network, local=local) as session:
        return judge(network, steps_of(network, sources, settings, seconds, session))


def judge(network: NetworkValue, steps: list[StepFigures]) -> Replayed:
    """What the steps of a replay say."""
    from arterial.figures.window import Window, percentile
    from arterial.network.qos import good_zone
    from arterial.service.load import arrival_rate
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
    rates = {name: arrival_rate(counted, name) for name in network.source_names}
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
