"""`arterial status`: what is the case with a run, in one word, and as an exit code."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer


def status(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    as_json: bool = typer.Option(False, "--json", help="Print run.json, with the state as it is now."),
) -> None:
    """Say whether a run is running, paused, stopped, finished or failed, and how many tuples went in and out.

    The exit code says it too: 0 finished, 1 failed, 3 stopped, 4 paused, 5 running. A run that was killed is stopped.
    """
    from arterial.cli.exit_codes import OF_STATE
    from arterial.engine.run.status import find_checkpoint, read_status

    found = read_status(find_checkpoint(folder))
    assert found is not None
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
    else:
        since = f"since {found.started}" if found.is_active else f"at {found.finished or 'an unknown time'}"
        typer.echo(f"{found.network}: {found.state} {since}, step {found.step}, {found.counts}")
        for what, counts in (("in", found.tuples_in), ("out", found.tuples_out)):
            for name, number in counts.items():
                typer.echo(f"  {what:3} {name}: {number:,}")
        if found.error:
            typer.echo(f"  {found.error}")
    raise typer.Exit(OF_STATE[found.state])
