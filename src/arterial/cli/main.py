"""The `arterial` command: its root, and what happens to an error on the way out."""

from __future__ import annotations

import os
import sys

import typer

from arterial.cli.doctor import doctor
from arterial.cli.explain import explain
from arterial.cli.graph import graph
from arterial.cli.inspect import inspect
from arterial.cli.linear_road import linear_road
from arterial.cli.moving import moving
from arterial.cli.new import new
from arterial.cli.run import control, run
from arterial.cli.sql import sql
from arterial.errors import ArterialError
from arterial.version import __version__

app = typer.Typer(
    name="arterial",
    help="Continuous queries over roads and other moving things, on Spark.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"arterial {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
    ),
) -> None:
    pass


app.command()(doctor)
app.command()(new)
app.command()(run)
app.command()(control)
app.command()(graph)
app.command()(explain)
app.command()(inspect)
app.command()(sql)
app.add_typer(linear_road, name="linear-road")
app.add_typer(moving, name="moving")


def main() -> None:
    """Run the command line; a user's mistake ends in its message and exit code 1, an interrupt in 130."""
    try:
        app()
    except ArterialError as mistake:
        sys.stderr.write(f"arterial: {mistake}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("arterial: interrupted\n")
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output is gone; point it at nothing so that the interpreter's last flush is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
