"""Writing made-up traffic, with queries over it, as a file of events: CSV, or Parquet for much of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from arterial.arrays import Array
from arterial.errors import MachineError
from arterial.moving.files.event_table import EVENT_SCHEMA, csv_lines
from arterial.moving.queries.space import EARTH_METRES
from arterial.moving.traffic import Positions, Traffic


@dataclass(frozen=True)
class QuerySettings:
    """How many queries of each kind to register in the first time unit; sides of rectangles in metres."""

    ranges: int = 0
    moving_ranges: int = 0
    knn: int = 0
    moving_knn: int = 0
    side: float = 500.0
    k: int = 10

    @property
    def total(self) -> int:
        """How many in all."""
        return self.ranges + self.moving_ranges + self.knn + self.moving_knn


@dataclass(frozen=True)
class Frame:
    """Where the plane of the city lies: metres, or degrees about a point of the Earth."""

    longitude: float | None = None
    latitude: float = 0.0

    @property
    def decimals(self) -> int:
        """How many decimals of a coordinate are worth writing: a decimetre."""
        return 1 if self.longitude is None else 6

    def placed(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Metres east and north of the city's middle, in the coordinates of the frame."""
        if self.longitude is None:
            return np.round(x, 1), np.round(y, 1)
        degree = math.radians(1.0) * EARTH_METRES
        east = self.longitude + x / (degree * math.cos(math.radians(self.latitude)))
        return np.round(east, 6), np.round(self.latitude + y / degree, 6)


def generate(
    out: Path,
    traffic: Traffic,
    queries: QuerySettings,
    *,
    seconds: int,
    frame: Frame | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Write the events of so many time units; returns their number."""
    frames = event_frames(traffic, queries, seconds=seconds, frame=frame or Frame())
    written = 0
    try:
        if out.suffix == ".parquet":
            with pq.ParquetWriter(out, EVENT_SCHEMA, compression="zstd") as writer:
                for events in frames:
                    writer.write_table(events.to_arrow().cast(EVENT_SCHEMA))
                    written += events.height
                    progress(1)
        else:
            with out.open("wb") as file:
                for events in frames:
                    file.write(csv_lines(events))
                    written += events.height
                    progress(1)
    except OSError as fault:
        raise MachineError(f"{out}: cannot be written: {fault.strerror or fault}.") from fault
    return written


def event_frames(traffic: Traffic, queries: QuerySettings, *, seconds: int, frame: Frame) -> Iterator[pl.DataFrame]:
    """The events of each time unit in the columns of `EVENT_SCHEMA`, the queries in the first."""
    for unit in range(seconds):
        positions = traffic.step()
        reports = _reports(positions, frame)
        yield pl.concat([_queries(traffic, positions, queries, frame), reports]) if unit == 0 else reports


def _reports(positions: Positions, frame: Frame) -> pl.DataFrame:
    x, y = frame.placed(positions.x, positions.y)
    return _events(float(positions.t), "object", pl.Series(positions.id).cast(pl.String), x1=x, y1=y)


def _queries(traffic: Traffic, positions: Positions, queries: QuerySettings, frame: Frame) -> pl.DataFrame:
    chance = np.random.default_rng([traffic.settings.seed, 2])
    city, t = traffic.city, float(positions.t)

    def points(count: int) -> tuple[Array, Array]:
        where = chance.integers(0, len(city.x), count)
        return city.x[where], city.y[where]

    def focals(count: int) -> pl.Series:
        if count > len(positions.id):
            return pl.Series(chance.choice(positions.id, count)).cast(pl.String)
        return pl.Series(chance.choice(positions.id, count, replace=False)).cast(pl.String)

    def names(prefix: str, count: int) -> pl.Series:
        return pl.Series([f"{prefix}{i}" for i in range(count)], dtype=pl.String)

    x, y = points(queries.ranges)
    half = queries.side / 2
    (x1, y1), (x2, y2) = frame.placed(x - half, y - half), frame.placed(x + half, y + half)
    near_x, near_y = frame.placed(*points(queries.knn))
    sides = np.full(queries.moving_ranges, queries.side)
    return pl.concat(
        [
            _events(t, "range", names("range", queries.ranges), x1=x1, y1=y1, x2=x2, y2=y2),
            _events(
                t,
                "movingrange",
                names("movingrange", queries.moving_ranges),
                focal=focals(queries.moving_ranges),
                x1=sides,
                y1=sides,
            ),
            _events(t, "knn", names("knn", queries.knn), k=queries.k, x1=near_x, y1=near_y),
            _events(
                t, "movingknn", names("movingknn", queries.moving_knn), k=queries.k, focal=focals(queries.moving_knn)
            ),
        ]
    )


def _events(t: float, kind: str, ids: pl.Series, **columns: Any) -> pl.DataFrame:
    """A frame of the event columns, those not given empty."""
    types = {
        "focal": pl.String,
        "k": pl.Int32,
        "x1": pl.Float64,
        "y1": pl.Float64,
        "x2": pl.Float64,
        "y2": pl.Float64,
    }
    given = {
        name: (
            pl.Series(name, columns[name]).cast(kind_)
            if isinstance(columns.get(name), np.ndarray | pl.Series)
            else pl.repeat(columns.get(name), len(ids), dtype=kind_, eager=True)
        )
        for name, kind_ in types.items()
    }
    return pl.DataFrame(
        {
            "t": pl.repeat(t, len(ids), dtype=pl.Float64, eager=True),
            "kind": pl.repeat(kind, len(ids), dtype=pl.String, eager=True),
            "id": ids,
            **given,
        }
    )
