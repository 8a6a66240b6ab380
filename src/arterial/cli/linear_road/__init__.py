"""`arterial linear-road`: the benchmark kit, a command a file."""

import typer

from arterial.cli.linear_road.convert import convert
from arterial.cli.linear_road.describe import describe
from arterial.cli.linear_road.validate import validate

linear_road = typer.Typer(help="Linear Road: simulate, make history, run, validate and rate.", no_args_is_help=True)

linear_road.command()(convert)
linear_road.command()(describe)
linear_road.command()(validate)
