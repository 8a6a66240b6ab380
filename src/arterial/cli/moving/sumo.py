"""`arterial moving sumo`: events from SUMO's car-following."""

from __future__ import annotations

import json
from pathlib import Path

import typer


def sumo(
    out: Path = typer.Option(..., "--out", help="Where to write the events."),
    vehicles: int = typer.Option(1000, "--vehicles", min=1, help="Vehicles that depart, evenly over the time."),
    seconds: int = typer.Option(300, "--seconds", min=1, help="Every vehicle on the road reports every second."),
    seed: int = typer.Option(1, "--seed", min=0, help="The same seed makes the same traffic."),
    blocks: int = typer.Option(10, "--blocks", min=2, help="The city is a grid of this many blocks each way."),
    network: Path | None = typer.Option(
        None, "--network", help="A road network of SUMO (.net.xml).", show_default="a generated city"
    ),
    json_output: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
) -> None:
    """Simulate a city with SUMO and write the vehicles' positions as events; needs the extra `sumo` of arterial."""
    from arterial.cli.parts.progress import Bar
    from arterial.moving.traffic.sumo import SumoSettings, write_events

    settings = SumoSettings(vehicles, seconds, seed, blocks)
    with Bar("sumo", total=seconds, unit="seconds", quiet=json_output) as bar:
        written = write_events(out, settings, network=network, progress=bar.to)
    if json_output:
        typer.echo(json.dumps({"events": written, "seconds": seconds, "out": str(out)}))
    else:
        typer.echo(f"{written:,} events of {seconds:,} seconds in {out}")
