"""`arterial graph`: a network as a drawing (SVG) or as Mermaid text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arterial.cli.parts.network import NETWORK_HELP, load_network
from arterial.errors import MachineError, RunError

if TYPE_CHECKING:
    from arterial.engine.plan.plan import Plan


def graph(
    network: str = typer.Argument(help=NETWORK_HELP),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="The file to write: .svg, or .mmd for Mermaid.", show_default="Mermaid text"
    ),
    shards: int = typer.Option(2, "--shards", help="For how many shards the superboxes are shown."),
    group: str | None = typer.Option(None, "--group", help="Draw one composed box, in an SVG.", show_default="all"),
) -> None:
    """Draw a network: its boxes and arcs, and which of them run together in a superbox."""
    from arterial.engine.plan.compile import compile_network
    from arterial.engine.plan.picture import mermaid

    plan = compile_network(load_network(network), shards)
    if group is not None and (out is None or out.suffix != ".svg"):
        raise RunError("--group is drawn as an SVG; name the file with --out FILE.svg")
    if group is not None and group not in plan.network.groups:
        known = ", ".join(plan.network.groups) or "none"
        raise RunError(f"--group {group}: the network has no such composed box; it has: {known}")
    if out is None:
        typer.echo(mermaid(plan))
        return
    write_picture(plan, out, "--out", group)
    typer.echo(str(out))


def write_picture(plan: Plan, out: Path, option: str, group: str | None = None) -> None:
    """Write the picture of a plan to a file that the user named with an option."""
    from arterial.engine.plan.picture import mermaid, svg

    if out.suffix not in (".svg", ".mmd"):
        raise RunError(f"{option} {out}: expected a name that ends in .svg or .mmd")
    try:
        out.write_text(svg(plan, group) if out.suffix == ".svg" else mermaid(plan))
    except OSError as fault:
        raise MachineError(f"{option} {out}: cannot be written: {fault.strerror}") from None
