"""`arterial graph`: a network as a drawing (SVG) or as Mermaid text."""

from __future__ import annotations

from pathlib import Path

import typer

from arterial.cli.network import NETWORK_HELP, load_network
from arterial.errors import RunError


def graph(
    network: str = typer.Argument(help=NETWORK_HELP),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="The file to write: .svg, or .mmd for Mermaid.", show_default="Mermaid text"
    ),
    shards: int = typer.Option(2, "--shards", help="For how many shards the superboxes are shown."),
) -> None:
    """Draw a network: its boxes and arcs, and which of them run together in a superbox."""
    from arterial.engine.plan.compile import compile_network
    from arterial.engine.plan.picture import mermaid, svg

    plan = compile_network(load_network(network), shards)
    if out is None:
        typer.echo(mermaid(plan))
        return
    if out.suffix not in (".svg", ".mmd"):
        raise RunError(f"--out {out}: expected a name that ends in .svg or .mmd")
    try:
        out.write_text(svg(plan) if out.suffix == ".svg" else mermaid(plan))
    except OSError as trouble:
        raise RunError(f"--out {out}: cannot be written: {trouble.strerror}") from None
    typer.echo(str(out))
