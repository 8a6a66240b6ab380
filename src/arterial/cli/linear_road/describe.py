"""`arterial linear-road describe`: what a data set is like, in the terminal and as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from arterial.linearroad.describe.description import Description

WIDTH = 96


def describe(
    path: Path = typer.Argument(
        ..., metavar="DATA", help="A data set's folder, any folder of Parquet, CSV or .dat files, or one such file."
    ),
    report: Path | None = typer.Option(None, "--report", metavar="PAGE.html", help="Write a page with plots there."),
    xway: int | None = typer.Option(
        None, "--xway", help="The expressway that the heat maps show; the first by default."
    ),
    disorder: int = typer.Option(
        0, "--disorder", min=0, metavar="SECONDS", help="How much older than an earlier line a line may be."
    ),
    json_output: bool = typer.Option(False, "--json", help="Print the figures as JSON, and no pictures or progress."),
) -> None:
    """Print and plot what a data set is like: rates, vehicles, speeds, tolls, accidents, requests, beside the paper.

    Several expressways are read by a Spark job, a task each.
    """
    from rich.console import Console

    from arterial.cli.parts.progress import Bar
    from arterial.engine.spark.session import spark_session
    from arterial.errors import DataError
    from arterial.linearroad.data.dataset import open_data
    from arterial.linearroad.data.event_sources import files_of, is_data_set
    from arterial.linearroad.describe.description import describe as describe_data
    from arterial.linearroad.describe.description import minutes_of

    if is_data_set(path):
        data = open_data(path)
    else:
        size = sum(file.stat().st_size for file in files_of(path))
        with Bar("cleaning", total=size / 1e6, unit="MB", quiet=json_output) as bar:
            data = open_data(path, disorder=disorder, progress=lambda size: bar.to(size / 1e6))
    if xway is not None and xway not in data.xways:
        raise DataError(f"{path}: there is no expressway {xway}; there are: {', '.join(map(str, data.xways))}")
    with Bar("reading", total=minutes_of(data), unit="minutes", quiet=json_output) as bar:
        description = describe_data(data, spark=lambda: spark_session("linear-road describe"), progress=bar.to)
    if report is not None:
        from arterial.linearroad.describe.page import page_of

        page_of(description, xway=xway).write(report)
    if json_output:
        typer.echo(json.dumps(description.as_json(), indent=2))
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH + 8)
    _print(console, description, xway)
    if report is not None:
        console.print(f"The page with plots: {report}", soft_wrap=True)


def _print(console: Console, description: Description, xway: int | None) -> None:
    import numpy as np
    from rich.columns import Columns
    from rich.panel import Panel
    from rich.table import Table

    from arterial.connectors.rejects import set_aside
    from arterial.linearroad.describe.page import DIRECTIONS, comparison_row, span_in_words, tiles_of
    from arterial.linearroad.describe.terminal import curve, speed_map, toll_map

    colour = console.is_terminal and console.color_system is not None
    width = min(console.width, WIDTH + 8) - 8
    shown = next((one for one in description.sketches if one.xway == xway), description.sketches[0])
    console.print(f"\n[bold]{description.data.path}[/]  {span_in_words(description)}\n", highlight=False)
    console.print(
        Columns(
            [
                Panel(f"[bold]{tile.value}[/]\n[dim]{tile.remark}[/]", title=tile.name, title_align="left", width=32)
                for tile in tiles_of(description)
            ]
        )
    )
    rates = description.reports_per_second[description.data.first_second :]
    first, last = description.data.first_second // 60, description.data.last_second // 60
    console.print("\n[bold]Reports per second[/]")
    console.print(curve(rates.astype(float), width=width, unit="/s", span=f"minute {first} to {last}"))
    for dir, name in DIRECTIONS.items():
        if not shown.cars[:, dir].any():
            continue
        lav = np.where(shown.cars[:, dir] > 0, shown.lav[:, dir], np.nan)[first:].T
        scale = "slow is red, 40 mph pale, fast blue" if colour else "the darker, the slower"
        console.print(
            f"\n[bold]LAV {name}[/], expressway {shown.xway}, segment 0 at the bottom to 99 at the top; {scale}",
            highlight=False,
        )
        console.print(_beside_scale(speed_map(lav, width=width, height=12, colour=colour)))
        tolls = shown.toll[first:, dir].T.astype(float)
        if (tolls > 0).any():
            console.print(
                f"\n[bold]Tolls {name}[/], up to {tolls.max():,.0f}; empty where there is no toll", highlight=False
            )
            console.print(_beside_scale(toll_map(tolls, width=width, height=8, colour=colour)))
    table = Table("figure, for one expressway", "here", "paper", title="Beside the paper", title_justify="left")
    for one in description.comparisons():
        table.add_row(*comparison_row(one))
    for column in table.columns[1:]:
        column.justify = "right"
    console.print()
    console.print(table)
    cleaning = description.data.cleaning
    if cleaning and cleaning.set_aside:
        console.print(f"\n{set_aside(cleaning.set_aside, lines=cleaning.lines)}:")
        for reason, count in cleaning.rejected.items():
            console.print(f"  {count:>12,}  {reason}", highlight=False)


def _beside_scale(picture: Text) -> Text:
    from rich.text import Text as RichText

    lines = picture.split("\n")
    labels = {0: "99", len(lines) - 1: "0"}
    return RichText("\n").join(
        RichText.assemble((f"{labels.get(place, ''):>6} ", "dim"), line) for place, line in enumerate(lines)
    )
