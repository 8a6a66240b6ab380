"""`arterial linear-road`: the benchmark kit, a command a file."""

import typer

from arterial.cli.linear_road.convert import convert
from arterial.cli.linear_road.describe import describe
from arterial.cli.linear_road.drive import drive
from arterial.cli.linear_road.history import history
from arterial.cli.linear_road.run import run

linear_road = typer.Typer(help="Linear Road: simulate, make history, run, validate and rate.", no_args_is_help=True)
for command in (history, convert, describe, drive, run):
    linear_road.command()(command)
