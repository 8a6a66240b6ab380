"""`arterial studio`: a page that shows a network, running or not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arterial.cli.parts.network import NETWORK_HELP, load_network
from arterial.errors import RunError, near

if TYPE_CHECKING:
    from arterial.studio.subject import Subject

VIEWS = ("network", "city", "ask", "draw")


def studio(
    subject: str = typer.Argument(
        "",
        help=f"The output folder of a run, or its checkpoint. Or a network. {NETWORK_HELP}",
        show_default="an empty sheet to draw on",
    ),
    host: str = typer.Option("127.0.0.1", help="Where to listen. Beyond this machine, a token is asked for."),
    port: int = typer.Option(8765, min=0, max=65535, help="The port; 0 takes one that is free."),
    view: str = typer.Option("", metavar="VIEW", help="The view to open: network, city, ask or draw."),
    browser: bool = typer.Option(True, "--browser/--no-browser", help="Open the page in a browser."),
) -> None:
    """Show a network in the browser: as it runs, as it ran, or as it is drawn.

    It looks on from outside: a run of any process can be shown, and does not wait for it. Ctrl-C ends the studio, not
    the run. Listening beyond this machine (--host 0.0.0.0), it prints an address with a token that others need.
    """
    from arterial.studio.server import Studio, open_browser

    if view not in ("", *VIEWS):
        raise RunError(f"there is no view {view!r}; expected one of: {', '.join(VIEWS)}{near(view, VIEWS)}")
    page = Studio(_find(subject), host, port)
    address = f"{page.address}#/{view}" if view else page.address
    typer.echo(f"The studio is at {address}  (Ctrl-C ends it)")
    page.serve(lambda: open_browser(address) if browser else None)


def _find(text: str) -> Subject:
    from arterial.network.network import NetworkValue
    from arterial.studio.subject import Drawn, Run

    if not text:
        return Drawn(NetworkValue("drawing"))
    folder = Path(text)
    if folder.is_dir():
        return Run(folder)
    if ":" not in text and not text.endswith(".py"):
        raise RunError(f"{text}: no such folder; expected the folder of a run, or a network as MODULE:NAME or FILE.py")
    return Drawn(load_network(text))
