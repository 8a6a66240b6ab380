"""`arterial linear-road`: the benchmark kit, a command a file."""

import typer

from arterial.cli.linear_road.simulate import simulate

linear_road = typer.Typer(help="Linear Road: simulate, make history, run, validate and rate.", no_args_is_help=True)

linear_road.command()(simulate)
