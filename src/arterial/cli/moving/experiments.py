"""`arterial moving experiments`: the paper's experiments, measured here, beside what the paper says."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer


def experiments(
    out: Path = typer.Option(Path("build/moving"), "--out", help="The folder for experiments.html and .json."),
    quick: bool = typer.Option(False, "--quick", help="A small world: seconds instead of minutes."),
    json_output: bool = typer.Option(False, "--json", help="Print the results as JSON."),
) -> None:
    """Repeat section 6 of the GPAC paper: pipelines, arrival rates, selectivity, size of the cache.

    Writes a page with a plot for each beside the paper's statement, and the numbers as JSON.
    """
    from arterial.cli.parts.progress import Bar
    from arterial.errors import MachineError
    from arterial.moving.experiments import Scale, experiments_page, run_experiments
    from arterial.moving.experiments.results import STEPS

    with Bar("experiments", total=STEPS, unit="experiments", quiet=json_output) as bar:
        results = run_experiments(Scale.quick() if quick else Scale(), bar.advance)
    page = experiments_page(results).write(out / "experiments.html")
    text = json.dumps(asdict(results), indent=2)
    try:
        (out / "experiments.json").write_text(text)
    except OSError as fault:
        raise MachineError(f"{out}: cannot be written: {fault.strerror or fault}.") from fault
    typer.echo(text if json_output else f"The experiments are in {page}")
