"""`arterial replace`: let a run of another process go on with another version of its network."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arterial.cli.parts.network import NETWORK_HELP, load_network

if TYPE_CHECKING:
    from arterial.engine.run.versions.requests import Answer


def replace(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    network: str = typer.Argument(help=NETWORK_HELP),
    sink: list[str] = typer.Option(
        [], "--sink", help="NAME=URI: where an output goes that the run does not have yet (docs/sinks.md). Repeatable."
    ),
    seconds: float = typer.Option(60.0, "--wait", help="How long to wait for the answer, in seconds."),
    as_json: bool = typer.Option(False, "--json", help="Print the answer as JSON."),
) -> None:
    """Let a run go on with another version of its network, from the next train on, without a gap.

    Boxes that both versions have keep their state, by name. The sources must be the same, and stateful boxes that stay
    must stay as they are. What cannot be is refused with the reason, and the run goes on untouched.

    Exit codes: 0 accepted, 1 refused, or the run is not running.

    Example: arterial replace alerts examples/speeding.py:net --sink slow=alerts/slow.csv
    """
    from arterial.cli.run import sinks_from
    from arterial.engine.run.checkpoint.folder import find_checkpoint
    from arterial.engine.run.versions.requests import REPLACE, ask

    checkpoint = find_checkpoint(folder)
    value = load_network(network)
    sinks = sinks_from(value, [from_here(text) for text in sink], checkpoint, as_json=False)
    say_answer(ask(checkpoint, REPLACE, value, sinks, seconds), as_json)


def from_here(text: str) -> str:
    """NAME=PATH with a path that also leads there from the folder in which the run was started."""
    name, sign, where = text.partition("=")
    if not sign or ":" in where or where.startswith(("-", "/")):
        return text
    return f"{name}={Path.cwd()}/{where}"


def say_answer(answer: Answer, as_json: bool) -> None:
    """Print the answer of a run; one that refuses is the exit code 1."""
    if as_json:
        typer.echo(json.dumps(asdict(answer)))
    elif answer.accepted:
        since = f", from step {answer.step} on" if answer.step else ""
        typer.echo(f"{answer.said}{since}")
    else:
        typer.echo(f"refused: {answer.said}", err=True)
    if not answer.accepted:
        raise typer.Exit(1)
