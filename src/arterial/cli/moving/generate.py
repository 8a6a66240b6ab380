"""`arterial moving generate`: made-up traffic, with queries over it, as a file of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from arterial.moving.traffic import VehicleClass


def generate(
    out: Path = typer.Option(..., "--out", help="Where to write the events: a .csv file, or .parquet for large ones."),
    objects: int = typer.Option(10_000, "--objects", min=1, help="Objects at the beginning."),
    seconds: int = typer.Option(100, "--seconds", min=1, help="Time units; every object reports once in each."),
    seed: int = typer.Option(1, "--seed", min=0, help="The same seed makes the same city and traffic."),
    new: int | None = typer.Option(
        None, "--new", min=0, help="Objects that appear every second.", show_default="1 in 100 objects"
    ),
    leaving: float = typer.Option(
        1.0, "--leaving", min=0, max=1, help="Share of the objects that leave when they arrive; others travel on."
    ),
    every: int = typer.Option(1, "--every", min=1, help="An object reports in one of this many seconds."),
    kilometres: float = typer.Option(12.0, "--kilometres", min=1, max=100, help="The size of the city."),
    classes: str | None = typer.Option(
        None,
        "--classes",
        help="Kinds of objects as name:share:metres-per-second, comma-separated.",
        show_default="car, truck, bus, bicycle, pedestrian",
    ),
    ranges: int = typer.Option(0, "--ranges", min=0, help="Range queries in a fixed place."),
    moving_ranges: int = typer.Option(0, "--moving-ranges", min=0, help="Range queries that move with an object."),
    knn: int = typer.Option(0, "--knn", min=0, help="Nearest-neighbour queries in a fixed place."),
    moving_knn: int = typer.Option(0, "--moving-knn", min=0, help="Nearest-neighbour queries that move."),
    side: float = typer.Option(500.0, "--side", min=0, help="Length and width of the rectangles, in metres."),
    k: int = typer.Option(10, "--k", min=1, help="How many neighbours."),
    lonlat: str | None = typer.Option(
        None, "--lonlat", help="Write degrees, the city about LONGITUDE,LATITUDE.", show_default="metres"
    ),
    json_output: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
) -> None:
    """Make a city's road network from a seed, let objects of several classes travel on it, and write their reports.

    The queries asked for are registered in the first second. What comes out is what `arterial moving run` reads.
    """
    from arterial.cli.parts.progress import Bar
    from arterial.moving.traffic import CLASSES, Traffic, TrafficSettings
    from arterial.moving.traffic.generate import Frame, QuerySettings
    from arterial.moving.traffic.generate import generate as write

    settings = TrafficSettings(
        objects=objects,
        seed=seed,
        new=objects // 100 if new is None else new,
        leaving=leaving,
        every=every,
        kilometres=kilometres,
        classes=_classes(classes) if classes else CLASSES,
    )
    queries = QuerySettings(ranges, moving_ranges, knn, moving_knn, side, k)
    frame = Frame(*_point(lonlat)) if lonlat else Frame()
    with Bar("moving objects", total=seconds, unit="seconds", quiet=json_output) as bar:
        written = write(out, Traffic(settings), queries, seconds=seconds, frame=frame, progress=bar.advance)
    if json_output:
        typer.echo(json.dumps({"events": written, "queries": queries.total, "seconds": seconds, "out": str(out)}))
    else:
        typer.echo(f"{written:,} events of {seconds:,} seconds, {queries.total:,} queries among them, in {out}")


def _classes(text: str) -> tuple[VehicleClass, ...]:
    from arterial.errors import DataError
    from arterial.moving.traffic import VehicleClass

    found = []
    for one in text.split(","):
        try:
            name, share, speed = one.split(":")
            found.append(VehicleClass(name.strip(), float(share), float(speed)))
        except ValueError:
            raise DataError(
                f"--classes: expected name:share:speed, got '{one}'. Example: car:0.9:36,truck:0.1:22"
            ) from None
    if not all(0 < one.share < float("inf") and 0 < one.speed < float("inf") for one in found):
        raise DataError(f"--classes: shares and speeds must be more than 0, got '{text}'.")
    return tuple(found)


def _point(text: str) -> tuple[float, float]:
    from arterial.errors import DataError

    try:
        longitude, latitude = (float(part) for part in text.split(","))
    except ValueError:
        raise DataError(f"--lonlat: expected LONGITUDE,LATITUDE in degrees, got '{text}'.") from None
    if not (-180 <= longitude <= 180 and -85 <= latitude <= 85):
        raise DataError(f"--lonlat: the city's middle must be within ±180 and ±85 degrees, got '{text}'.")
    return longitude, latitude
