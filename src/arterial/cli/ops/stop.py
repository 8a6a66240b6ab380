"""`arterial stop`: end a run after the train at hand, and wait until it is over."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from arterial.errors import RunError


def stop(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    seconds: float = typer.Option(60.0, "--wait", help="How long to wait for its end, in seconds."),
) -> None:
    """Stop a run after the train at hand, and wait until it is over; the same command, or arterial resume, goes on.

    Exit codes: 0 it is over, 1 it failed, or is not over yet.
    """
    from arterial.cli.runtime.run_figures import headline
    from arterial.engine.run.checkpoint.folder import FOLDER, find_checkpoint
    from arterial.engine.run.figures.status import read_status
    from arterial.engine.run.states import FAILED
    from arterial.engine.steering import control

    checkpoint = find_checkpoint(folder)
    status = read_status(checkpoint)
    assert status is not None
    if status.is_active:
        control.stop(checkpoint / FOLDER)
    patience = time.monotonic() + seconds
    while status.is_active:
        if time.monotonic() > patience:
            raise RunError(
                f"{checkpoint}: the run (process {status.pid}) is not over after {seconds:g} s; it stops after the "
                "train at hand. Wait longer (--wait), or end the process: it can go on either way"
            )
        time.sleep(0.1)
        status = read_status(checkpoint)
        assert status is not None
    typer.echo(headline(status))
    if status.state == FAILED:
        raise typer.Exit(1)
