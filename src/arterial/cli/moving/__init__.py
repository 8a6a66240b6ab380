"""`arterial moving`: generate, run and measure moving queries, a command a file, registered here. Begin with `run`."""

from __future__ import annotations

import typer

from arterial.cli.moving.experiments import experiments
from arterial.cli.moving.generate import generate
from arterial.cli.moving.run import run
from arterial.cli.moving.sumo import sumo
from arterial.cli.parts.plain_help import PlainHelp

moving = typer.Typer(
    help="Moving objects: range and nearest-neighbour queries that follow you.",
    no_args_is_help=True,
    cls=PlainHelp,
)
moving.command()(experiments)
moving.command()(generate)
moving.command()(run)
moving.command()(sumo)
