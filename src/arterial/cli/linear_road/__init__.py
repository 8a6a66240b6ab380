"""`arterial linear-road`: the benchmark kit, a command a file, registered here. Begin with `run`."""

import typer

from arterial.cli.linear_road.convert import convert
from arterial.cli.linear_road.describe import describe
from arterial.cli.linear_road.drive import drive
from arterial.cli.linear_road.history import history
from arterial.cli.linear_road.plan import plan
from arterial.cli.linear_road.rate import rate
from arterial.cli.linear_road.run import run
from arterial.cli.linear_road.simulate import simulate
from arterial.cli.linear_road.validate import validate
from arterial.cli.linear_road.why import why
from arterial.cli.parts.plain_help import PlainHelp

linear_road = typer.Typer(
    help="Linear Road: simulate, make history, run, validate and rate.", no_args_is_help=True, cls=PlainHelp
)
for command in (simulate, describe, convert, history, drive, run, validate, why, rate, plan):
    linear_road.command()(command)
