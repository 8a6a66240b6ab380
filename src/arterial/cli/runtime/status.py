"""`arterial status`: what is the case with a run, in one word, in figures, and as an exit code."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer


def status(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    as_json: bool = typer.Option(False, "--json", help="Print status.json, with the state as it is now."),
) -> None:
    """Say whether a run is running, paused, stopped, finished or failed, and what its figures are.

    Tuples, rates and delays by source and output, where the time of a step goes, what is shed and held. The exit code
    says the state too: 0 finished, 1 failed, 3 stopped, 4 paused, 5 running. A run that was killed is stopped.
    """
    from arterial.cli.parts.exit_codes import OF_STATE
    from arterial.cli.runtime.run_figures import headline, lines
    from arterial.engine.run.checkpoint.folder import find_checkpoint
    from arterial.engine.run.control.settlement import count_overflow
    from arterial.engine.run.figures.status import read_status
    from arterial.engine.run.versions.views import view_names

    checkpoint = find_checkpoint(folder)
    found = read_status(checkpoint)
    assert found is not None
    waiting, late = count_overflow(checkpoint)
    if as_json:
        typer.echo(json.dumps({**asdict(found), "overflow": {"waiting": waiting, "late": late}}, indent=2))
    else:
        typer.echo(headline(found))
        for line in lines(found):
            typer.echo(line)
        if computed := view_names(checkpoint):
            typer.echo(f"views that are not kept, but computed by whoever connects: {', '.join(computed)}")
        if waiting or any(late.values()):
            answers = ", ".join(f"{name} {number:,}" for name, number in late.items()) or "none"
            typer.echo(f"overflow: {waiting:,} tuples wait to be settled; late answers: {answers}")
    raise typer.Exit(OF_STATE[found.state])
