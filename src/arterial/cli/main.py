"""The `arterial` command: its root, and what happens to an error on the way out."""

from __future__ import annotations

import logging
import os
import sys

import typer

from arterial.cli.check.check import check
from arterial.cli.doctor import doctor
from arterial.cli.explain import explain
from arterial.cli.graph import graph
from arterial.cli.inspect import inspect
from arterial.cli.linear_road import linear_road
from arterial.cli.moving import moving
from arterial.cli.new import new
from arterial.cli.ops.pack import pack
from arterial.cli.ops.plan import plan
from arterial.cli.ops.resume import resume
from arterial.cli.ops.savepoint import savepoint
from arterial.cli.ops.stop import stop
from arterial.cli.parts import exit_codes
from arterial.cli.parts.plain_help import PlainHelp
from arterial.cli.run import run
from arterial.cli.runtime.adopt import adopt
from arterial.cli.runtime.attach import attach
from arterial.cli.runtime.control import control
from arterial.cli.runtime.optimise import optimise
from arterial.cli.runtime.replace import replace
from arterial.cli.runtime.status import status
from arterial.cli.runtime.tap import tap
from arterial.cli.runtime.top import top
from arterial.cli.sql.sql import sql
from arterial.cli.studio import studio
from arterial.cli.why import why
from arterial.errors import ArterialError, plain
from arterial.version import __version__

app = typer.Typer(
    name="arterial",
    help="Continuous queries over roads and other moving things, on Spark.",
    no_args_is_help=True,
    rich_markup_mode=None,
    cls=PlainHelp,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 1000},
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
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(resume)
app.command()(stop)
app.command()(savepoint)
app.command()(replace)
app.command()(optimise)
app.command()(status)
app.command()(top)
app.command()(tap)
app.command()(studio)
app.command()(check)
app.command()(plan)
app.command()(graph)
app.command()(explain)
app.command()(inspect)
app.command()(sql)
app.command()(attach)
app.command()(why)
app.command()(adopt)
app.command()(pack)
app.add_typer(linear_road, name="linear-road")
app.add_typer(moving, name="moving")


def main() -> None:
    """Run the command line; a user's mistake ends in its message, and every way to end has its exit code."""
    _show_messages()
    try:
        app()
    except ArterialError as mistake:
        sys.stderr.write(f"arterial: {plain(mistake)}\n")
        _let_go_of_output()
        sys.exit(exit_codes.MISTAKE)
    except KeyboardInterrupt:
        sys.stderr.write("arterial: interrupted\n")
        sys.exit(exit_codes.INTERRUPTED)
    except BrokenPipeError:
        _let_go_of_output()
        sys.exit(exit_codes.NO_READER)
    except OSError as fault:
        # What a path that cannot be looked at raises: a name that is too long, a folder that others may not enter. A
        # store that cannot be reached says all in its message.
        what = str(fault) if fault.filename is None else f"{fault.filename}: {fault.strerror}"
        sys.stderr.write(f"arterial: {plain(what)}\n")
        _let_go_of_output()
        sys.exit(exit_codes.MISTAKE)


def _let_go_of_output() -> None:
    """If output can no longer be written, point it at nothing, so that the interpreter's last flush is quiet."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Messages(logging.Handler):
    """Prints what the engine has to say, such as that Spark starts, on the standard error of that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line."""
        sys.stderr.write(plain(record.getMessage()) + "\n")
        sys.stderr.flush()


def _show_messages() -> None:
    log = logging.getLogger("arterial")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(_Messages())
