"""Files of fences: GeoJSON, or CSV and Parquet with the columns `fence` and `shape`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from arterial.connectors.csv import read_texts
from arterial.errors import DataError, NetworkError
from arterial.moving.queries.fences import parse_shape


def read_fences(path: str | Path) -> dict[str, str]:
    """The fences of a file by name, for `fences(stream, "zones", read_fences("zones.geojson"), lonlat=True)`.

    In GeoJSON a fence is a feature with a polygon or a multipolygon, or with a point and a property `radius`; its name
    is its property `name`, or its id. A CSV or Parquet file has the columns `fence` and `shape`.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: there is no such file; expected fences as GeoJSON, CSV or Parquet")
    pairs = _from_geojson(path) if path.suffix.lower() in (".geojson", ".json") else _from_table(path)
    made: dict[str, str] = {}
    for where, name, shape in pairs:
        if name in made:
            raise DataError(f"{path}: {where}: two fences are named {name!r}")
        try:
            parse_shape(shape, texts=True)
        except NetworkError as mistake:
            raise DataError(f"{path}: {where}: {mistake}") from None
        made[name] = shape
    return made


def _from_table(path: Path) -> list[tuple[str, str, str]]:
    if path.suffix.lower() == ".parquet":
        try:
            rows, lines, what = pl.read_parquet(path), None, "row"
        except pl.exceptions.PolarsError as fault:
            raise DataError(f"{path}: cannot be read as Parquet: {str(fault).splitlines()[0]}") from None
    else:
        found = read_texts(path)
        if found.rejects:
            first = found.rejects[0]
            raise DataError(f"{path}: line {first.line}: {first.reason}; put a shape that has commas in quotes")
        rows, lines, what = found.rows, found.lines, "line"
    for column in ("fence", "shape"):
        if column not in rows.columns:
            raise DataError(f"{path}: the column {column!r} is missing; it has: {', '.join(rows.columns)}")
    made = []
    for at, (name, shape) in enumerate(rows.select("fence", "shape").iter_rows()):
        where = f"{what} {at + 1 if lines is None else lines[at]}"
        if name is None or shape is None:
            raise DataError(f"{path}: {where}: expected a fence and a shape, got {name!r} and {shape!r}")
        made.append((where, str(name), str(shape)))
    return made


def _from_geojson(path: Path) -> list[tuple[str, str, str]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise DataError(f"{path}: cannot be read as JSON: {fault}") from None
    features = data.get("features") if isinstance(data, dict) else None
    if not isinstance(features, list):
        raise DataError(f"{path}: expected a FeatureCollection of GeoJSON")
    made = []
    for at, feature in enumerate(features):
        where = f"feature {at + 1}"
        try:
            properties = feature.get("properties") or {}
            name = properties.get("name", feature.get("id"))
            shape = _shape(feature["geometry"], properties)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):
            shape, name = None, None
        if shape is None or name is None:
            raise DataError(
                f"{path}: {where}: expected a name (a property, or the id) and a polygon, a multipolygon, or a point "
                "with a property 'radius'"
            )
        made.append((where, str(name), shape))
    return made


def _shape(geometry: Any, properties: Any) -> str | None:
    kind, places = geometry["type"], geometry["coordinates"]
    if kind == "Point":
        return f"circle({_point(places)}, {float(properties['radius'])!r})"
    if kind == "Polygon":
        return f"polygon({_rings(places)})"
    if kind == "MultiPolygon":
        return f"multipolygon({', '.join(f'({_rings(one)})' for one in places)})"
    return None


def _rings(rings: Any) -> str:
    return ", ".join(f"({', '.join(map(_point, ring))})" for ring in rings)


def _point(place: Any) -> str:
    return f"{float(place[0])!r} {float(place[1])!r}"
