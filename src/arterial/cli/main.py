"""The `arterial` command: its root, and what happens to an error on the way out."""

from __future__ import annotations

import logging
import os
import sys

import typer

from arterial.cli import exit_codes
from arterial.cli.doctor import doctor
from arterial.cli.explain import explain
from arterial.cli.graph import graph
from arterial.cli.inspect import inspect
from arterial.cli.linear_road import linear_road
from arterial.cli.moving import moving
from arterial.cli.new import new
from arterial.cli.run import control, run
from arterial.cli.sql import sql
from arterial.cli.status import status
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
app.command()(status)
app.command()(graph)
app.command()(explain)
app.command()(inspect)
app.command()(sql)
app.add_typer(linear_road, name="linear-road")
app.add_typer(moving, name="moving")


def main() -> None:
    """Run the command line; a user's mistake ends in its message, and every way to end has its exit code."""
    _show_messages()
    try:
        app()
    except ArterialError as mistake:
        sys.stderr.write(f"arterial: {mistake}\n")
        sys.exit(exit_codes.MISTAKE)
    except KeyboardInterrupt:
        sys.stderr.write("arterial: interrupted\n")
        sys.exit(exit_codes.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output is gone; point it at nothing so that the interpreter's last flush is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(exit_codes.NO_READER)


class _Messages(logging.Handler):
    """Prints what the engine has to say, such as that Spark starts, on the standard error of that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line."""
        sys.stderr.write(record.getMessage() + "\n")
        sys.stderr.flush()


def _show_messages() -> None:
    log = logging.getLogger("arterial")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(_Messages())
