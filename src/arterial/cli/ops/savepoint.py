"""`arterial savepoint`: a consistent copy of a checkpoint, while its run is at work or not."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer


def savepoint(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    to: Path = typer.Argument(help="A new folder for the copy."),
    seconds: float = typer.Option(60.0, "--wait", help="How long to wait for the run's answer, in seconds."),
    as_json: bool = typer.Option(False, "--json", help="Print what was saved as JSON."),
) -> None:
    """Copy all that a run needs to go on: state, positions, connection points, what waits of live input.

    The run goes on meanwhile. A start from the copy (arterial resume TO --out elsewhere) gives the same answers as the
    run itself, from that step on. Outputs outside the checkpoint are not copied.

    Example: arterial savepoint alerts backups/monday
    """
    from arterial.engine.run.checkpoint.folder import find_checkpoint
    from arterial.engine.run.checkpoint.savepoint import take_savepoint
    from arterial.storage.remote import path_of

    to = path_of(to)
    taken = take_savepoint(find_checkpoint(folder), to, seconds)
    if as_json:
        typer.echo(json.dumps(asdict(taken)))
    else:
        typer.echo(f"saved {taken.network} at step {taken.step} in {to}: {taken.bytes:,} bytes")
