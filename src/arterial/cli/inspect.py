"""`arterial inspect`: what is in a file, and the source to draw for it."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from arterial.errors import plain


def inspect(
    file: Path = typer.Argument(help="A file of CSV, JSON lines, Parquet or Arrow, compressed or not."),
    time: str | None = typer.Option(None, "--time", help="The column that is the time.", show_default="found by name"),
    time_unit: str | None = typer.Option(
        None, "--time-unit", help="What numbers of time count: s, ms, us or ns.", show_default="recognised"
    ),
    timezone: str | None = typer.Option(
        None, "--timezone", help="Where times without a zone are from, as in Europe/Berlin.", show_default="UTC"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print it as JSON."),
) -> None:
    """Look at a file: its columns and types, its time, how far rows are out of order, its bad lines.

    The last line is the source to paste into a network.

    Example: arterial inspect reports.csv
    """
    from arterial.connectors.files.inspection import inspect_file
    from arterial.connectors.values import TimeOptions

    found = inspect_file(file, time=time, options=TimeOptions(time_unit, timezone))
    typer.echo(json.dumps(found.describe(), indent=2) if as_json else plain("\n".join(found.lines())))
