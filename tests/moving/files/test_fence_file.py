"""Files of fences: GeoJSON, CSV, Parquet, and what is wrong in them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from arterial.errors import DataError
from arterial.moving import read_fences

SQUARE = [[0, 0], [2, 0], [2, 2], [0, 0]]


def _feature(geometry: object, **more: object) -> dict[str, object]:
    return {"type": "Feature", "geometry": geometry, **more}


def test_geojson(tmp_path: Path) -> None:
    path = tmp_path / "zones.geojson"
    features = [
        _feature({"type": "Polygon", "coordinates": [SQUARE]}, properties={"name": "park"}),
        _feature({"type": "MultiPolygon", "coordinates": [[SQUARE], [SQUARE]]}, id=7),
        _feature({"type": "Point", "coordinates": [13.4, 52.5]}, properties={"name": "station", "radius": 300}),
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    assert read_fences(path) == {
        "park": "polygon((0.0 0.0, 2.0 0.0, 2.0 2.0, 0.0 0.0))",
        "7": "multipolygon(((0.0 0.0, 2.0 0.0, 2.0 2.0, 0.0 0.0)), ((0.0 0.0, 2.0 0.0, 2.0 2.0, 0.0 0.0)))",
        "station": "circle(13.4 52.5, 300.0)",
    }


def test_tables(tmp_path: Path) -> None:
    zones = {"a": "circle(1 2, 3)", "b": "polygon((0 0, 1 0, 1 1))"}
    rows = pl.DataFrame({"fence": list(zones), "shape": list(zones.values())})
    rows.write_csv(tmp_path / "zones.csv")
    rows.write_parquet(tmp_path / "zones.parquet")
    assert read_fences(tmp_path / "zones.csv") == read_fences(tmp_path / "zones.parquet") == zones


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.csv", None, "no such file"),
        ("zones.csv", "fence,form\na,b\n", "the column 'shape' is missing; it has: fence, form"),
        ("zones.csv", 'fence,shape\na,"circle(1 2)"\n', "line 2: the shape 'circle(1 2)' has no comma"),
        ("zones.csv", "fence,shape\na,circle(1 2, 3)\n", "put a shape that has commas in quotes"),
        ("zones.csv", 'fence,shape\na,"circle(1 2, 3)"\na,"circle(1 2, 3)"\n', "two fences are named 'a'"),
        ("zones.json", "{", "cannot be read as JSON"),
        ("zones.json", "{}", "expected a FeatureCollection"),
        ("zones.json", '{"features": [{"geometry": {"type": "LineString"}}]}', "feature 1: expected a name"),
    ],
)
def test_what_is_wrong(tmp_path: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as error:
        read_fences(tmp_path / name)
    assert said in str(error.value)
