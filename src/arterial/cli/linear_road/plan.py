"""`arterial linear-road plan`: the machines that so many expressways need, by measured costs."""

from __future__ import annotations

from pathlib import Path

import typer

from arterial.cli.ops.plan import CORES_HELP, FIGURES_HELP, MEASURED_HELP, say, sizing_of
from arterial.errors import RunError

PEAK_REPORTS = 1_700.0
"""Reports a second of one expressway in the last minutes of the three hours (VLDB 2004, §3.3)."""


def plan(
    xways: int = typer.Option(..., "--xways", min=1, help="How many expressways."),
    figures: list[Path] = typer.Option(..., "--figures", help=FIGURES_HELP),
    profile: str = typer.Option("spec", help="The semantics of that run: spec, walmart or thesis2003."),
    reports: float = typer.Option(PEAK_REPORTS, "--reports", help="Reports a second of one expressway, at its peak."),
    measured_cores: int = typer.Option(0, help=MEASURED_HELP, show_default="all of this machine"),
    cores: int = typer.Option(0, "--cores", help=CORES_HELP),
    executor_cores: int = typer.Option(4, "--executor-cores", help="How many cores an executor has."),
    headroom: float = typer.Option(0.8, "--headroom", help="The share that may be used in steady state, from 0 to 1."),
    as_json: bool = typer.Option(False, "--json", help="Print it as JSON."),
) -> None:
    """Say how many cores and executors Linear Road needs for so many expressways, and what gives way first.

    Costs come from the figures of runs of Linear Road, on dense traffic.

    Exit codes: 0 the cores are enough, 1 they are not, or no number of cores is.
    """
    from arterial.engine.run.checkpoint.folder import find_checkpoint
    from arterial.figures.steps_file import read_steps
    from arterial.linearroad.application.network import History, linear_road_network
    from arterial.linearroad.semantics.profiles import profile as profile_of

    if not reports > 0:
        raise RunError(f"--reports {reports:g}: expected more than 0 reports a second")
    network = linear_road_network(profile_of(profile), History())
    steps = [step for folder in figures for step in read_steps(find_checkpoint(folder))]
    reported, requested = (
        sum(step.sources[name].tuples for step in steps if name in step.sources) for name in ("reports", "requests")
    )
    share = requested / reported if reported else 0.0
    rates = {"reports": xways * reports, "requests": xways * reports * share}
    say(sizing_of(network, rates, figures, measured_cores, cores, executor_cores, headroom), as_json)
