"""`arterial resume`: go on with a run that stopped, or from a savepoint, by the command that it was started with."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from arterial.cli.parts.network import NETWORK_HELP


def resume(
    context: typer.Context,
    folder: Path = typer.Argument(help="The output folder of a run, its checkpoint, or a savepoint."),
    network: str | None = typer.Option(
        None, "--with", help=f"Another network to go on with, where its state allows that. {NETWORK_HELP}"
    ),
) -> None:
    """Go on with a run that stopped, by the command that it was started with; more options of arterial run may follow.

    From a savepoint give --out too: the outputs of two runs are not mixed. With --with another network goes on: boxes
    of the same name keep their state, new outputs are written, and what cannot be is refused with the reason.

    Exit codes: as those of arterial run.

    Example: arterial resume savepoint --with examples/speeding.py:net --out elsewhere
    """
    from arterial.cli.main import app
    from arterial.cli.ops.command_file import arguments, read_command
    from arterial.engine.run.checkpoint.folder import find_checkpoint

    checkpoint = find_checkpoint(folder)
    command = read_command(checkpoint)
    if network is None:
        sys.path.insert(0, command.folder)
    code = app(arguments(command, checkpoint.absolute(), network, context.args), standalone_mode=False)
    raise typer.Exit(code if isinstance(code, int) else 0)
