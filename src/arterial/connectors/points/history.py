"""What a connection point kept before a step: with what a query begins that becomes part of the network (§2.2)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from arterial.connectors.points.contents import read_contents, read_point
from arterial.connectors.points.files import ROW, STEP
from arterial.network.train import END
from arterial.storage.damage import read_parquet


def tuples_before(folder: Path, step: int) -> pl.DataFrame | None:
    """All instants that the table in a folder keeps whole, of earlier steps, in order; None if there is no table.

    A step that is run again finds the same: tuples that came with it, or later, are left out.
    """
    point = read_point(folder)
    if point is None:
        return None
    while True:
        contents = read_contents(folder)
        files = [file for file in contents.covering(contents.lost, END) if file.first < step]
        try:
            frames = [read_parquet(folder / file.name) for file in files]
        except FileNotFoundError:  # it no longer counts: merged with others, or too old; the contents say which
            continue
        if not frames:
            return point.schema.empty()
        wanted = (pl.col(STEP) < step) & (pl.col(point.time).to_physical() > contents.lost)
        kept = pl.concat(frames).filter(wanted).sort(point.time, STEP, ROW)
        return pl.concat([point.schema.empty(), kept.select(point.schema.names)])
