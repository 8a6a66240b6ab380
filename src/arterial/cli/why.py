"""`arterial why`: the tuples that caused a row of an output, box by box, back to the sources."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arterial.errors import RunError, plain

if TYPE_CHECKING:
    from arterial.network.network import NetworkValue


def why(
    folder: Path = typer.Argument(help="The output folder of a run, or its checkpoint."),
    output: str = typer.Argument(help="The output that the row is in."),
    condition: str = typer.Argument(
        "", help='Which row, as an expression over its columns: "car = 7 AND time = 119".', show_default="any row"
    ),
    row: int | None = typer.Option(None, "--row", help="Of several rows that fit: the first is 1."),
    source: list[str] = typer.Option(
        [], "--source", "-s", help="NAME=PATH: read a source from there instead. Repeatable.", show_default="as the run"
    ),
    network: str | None = typer.Option(
        None, "--network", help="MODULE:NAME or FILE.py:NAME: ask about this network instead.", show_default="the run's"
    ),
    seconds: float = typer.Option(
        20.0, "--seconds", help="How long tuples are left out, one by one, to see whether the row changes."
    ),
    html: Path | None = typer.Option(None, "--html", metavar="PAGE.html", help="Write a page there."),
    as_json: bool = typer.Option(False, "--json", help="Print it as JSON."),
) -> None:
    """Say why a row of an output is as it is: the tuples that caused it, box by box, back to the sources.

    The files of the run are read again, and the tuples concerned run in the interpreter, with numbers; the run is not
    touched. A tuple is needed if the row is not there, or is another one, without it: that is tried, one by one.

    Example: arterial why out alerts "car = 7 AND time = 119"
    """
    from arterial.causes.recorded import points_of
    from arterial.causes.why import explain_row

    value, sources, changed = run_of(folder, network, source)
    for one in changed:
        sys.stderr.write(f"{one}; the answer is about the file as it is now\n")
    said = explain_row(value, sources, output, condition, row=row, seconds=seconds, points=points_of(folder))
    if html is not None:
        from arterial.causes.page import page_of

        page_of(said).write(html)
    if as_json:
        typer.echo(json.dumps(said.as_data(), indent=2))
    else:
        typer.echo(plain(said))
        if html is not None:
            typer.echo(f"The page: {html}")


def run_of(folder: Path, network: str | None, given: list[str]) -> tuple[NetworkValue, dict[str, Any], list[str]]:
    """The network and the sources of a run, or those that are given instead, and which files changed since."""
    from arterial.causes.recorded import recorded
    from arterial.cli.parts.network import load_network
    from arterial.cli.run import sources_of

    if network is not None and given:
        value = load_network(network)
        if {text.partition("=")[0] for text in given} >= set(value.source_names):
            return value, sources_of(value, given), []
    value, sources, changed = recorded(folder, load_network)
    if network is not None:
        value = load_network(network)
    if not given:
        return value, sources, changed
    instead = _given(value, given)
    kept = {name: one for name, one in sources.items() if name not in instead}
    return value, {**kept, **instead}, [one for one in changed if not any(f"'{name}'" in one for name in instead)]


def _given(network: NetworkValue, given: list[str]) -> dict[str, Any]:
    from arterial.connectors.uri import source_from
    from arterial.engine.run.binding import first_port
    from arterial.errors import near

    known = network.source_names
    found = {}
    for text in given:
        name, sign, where = text.partition("=")
        if not sign:
            raise RunError(f"--source {text}: expected NAME=PATH; the sources are: {', '.join(known)}")
        if name not in known:
            raise RunError(
                f"--source {text}: network {network.name!r} has no source {name!r}; it has: {', '.join(known)}"
                + near(name, known)
            )
        found[name] = source_from(where, name, network.streams[first_port(network, name)])
    return found
