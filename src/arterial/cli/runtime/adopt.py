"""`arterial adopt`: let an ad-hoc query become part of a running network."""

from __future__ import annotations

from pathlib import Path

import typer

ATTEMPTS = 5


def adopt(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    point: str = typer.Argument(help="The connection point or view that the query is on."),
    query: str = typer.Argument(help='What is asked, as in arterial attach: "SELECT …", or MODULE:NET.'),
    output: str = typer.Option(..., "--output", "-o", help="The name of the new output."),
    sink: str = typer.Option(..., "--sink", help="Where it goes: a path or URI (docs/sinks.md)."),
    history: bool = typer.Option(
        True, "--history/--no-history", help="Begin with all that the connection point keeps."
    ),
    seconds: float = typer.Option(60.0, "--wait", help="How long to wait for the answer, in seconds."),
    as_json: bool = typer.Option(False, "--json", help="Print the answer as JSON."),
) -> None:
    """Let a query on a connection point become part of the network that runs, with an output of its own.

    It begins with all that the connection point keeps, then goes on with what comes, as arterial attach would; with
    --no-history it begins with the next train. What cannot be is refused, and the run goes on untouched.

    Exit codes: 0 accepted, 1 refused, or the run is not running.

    Example: arterial adopt city kept "SELECT vid, speed FROM kept WHERE speed < 20" --output slow --sink slow.csv
    """
    from arterial.cli.run import sinks_from
    from arterial.cli.runtime.attach import query_from
    from arterial.cli.runtime.replace import from_here, say_answer
    from arterial.engine.plan.successor import new_arcs
    from arterial.engine.run.checkpoint.folder import FOLDER, find_checkpoint
    from arterial.engine.run.versions.requests import REPLACE, ask
    from arterial.engine.run.versions.version_files import VersionFiles
    from arterial.errors import RunError
    from arterial.sql.attach import adopted_network

    checkpoint = find_checkpoint(folder)
    asked = query_from(query)
    if asked is None:
        raise RunError(f"the query is empty; expected SQL on {point}, or the name of a network")
    for attempt in range(1, ATTEMPTS + 1):
        files = VersionFiles(checkpoint / FOLDER)
        if not files:
            raise RunError(f"{folder}: a local run keeps no versions of its network; adopt works on runs on Spark")
        base, old = files.last, files.version(files.last).network
        network = adopted_network(old, point, asked, output)
        arcs = new_arcs(old, network, point) if history else {}
        sinks = sinks_from(network, [from_here(f"{output}={sink}")], checkpoint, as_json=False)
        answer = ask(checkpoint, REPLACE, network, sinks, seconds, arcs, base)
        # Another command, or the optimizer, may change the network between the look at it and the request.
        if answer.accepted or answer.version <= base or attempt == ATTEMPTS:
            say_answer(answer, as_json)
            return
