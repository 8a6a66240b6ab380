"""Files of made-up traffic, written and read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arterial.errors import DataError, MachineError
from arterial.moving.files.event_file import read_events
from arterial.moving.files.run import run_file
from arterial.moving.queries.events import MovingNearest, MovingRange, Nearest, Range, Register
from arterial.moving.queries.space import Space
from arterial.moving.traffic import Traffic, TrafficSettings
from arterial.moving.traffic.generate import Frame, QuerySettings, generate

SETTINGS = TrafficSettings(objects=40, new=1, kilometres=2)
QUERIES = QuerySettings(ranges=1, moving_ranges=2, knn=3, moving_knn=4, side=300.0, k=2)


def test_csv_and_parquet_hold_the_same_events(tmp_path: Path) -> None:
    csv, parquet = tmp_path / "events.csv", tmp_path / "events.parquet"
    for path in (csv, parquet):
        assert generate(path, Traffic(SETTINGS), QUERIES, seconds=5) == 10 + 5 * 40 + (0 + 1 + 2 + 3 + 4)
    updates = []
    for path in (csv, parquet):
        blocks = list(read_events(path))
        assert not any(block.rejects for block in blocks)
        assert sum(len(block.times) for block in blocks) == 210
        queries = [event for block in blocks for _, event in block.queries]
        kinds = [type(event.query) for event in queries if isinstance(event, Register)]
        assert kinds == [Range] + 2 * [MovingRange] + 3 * [Nearest] + 4 * [MovingNearest]
        run_file(path, tmp_path / "updates.csv", rejects=tmp_path / "rejects.csv")
        updates.append((tmp_path / "updates.csv").read_text())
    assert updates[0] == updates[1] != ""


def test_degrees_are_those_of_the_metres(tmp_path: Path) -> None:
    metres, degrees = tmp_path / "metres.csv", tmp_path / "degrees.csv"
    generate(metres, Traffic(SETTINGS), QUERIES, seconds=3)
    generate(degrees, Traffic(SETTINGS), QUERIES, seconds=3, frame=Frame(179.999, 60.0))
    (plane, *_), (sphere, *_) = read_events(metres), read_events(degrees, space=Space.LONLAT)
    assert not sphere.rejects
    assert np.allclose((sphere.x - 179.999) * 111_195.08 / 2, plane.x, atol=0.2)
    assert np.allclose((sphere.y - 60.0) * 111_195.08, plane.y, atol=0.2)


def test_bad_places_and_files(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="cannot be written"):
        generate(tmp_path / "none" / "events.csv", Traffic(SETTINGS), QUERIES, seconds=1)
    (broken := tmp_path / "broken.parquet").write_text("1,object,1,0,0\n")
    with pytest.raises(DataError, match="not a Parquet file"):
        list(read_events(broken))
