"""The input of a run: a data set that changes while the run is stopped is noticed."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from arterial.errors import DataError
from arterial.linearroad.application.inputs import check_unchanged
from arterial.linearroad.data.convert import convert
from arterial.linearroad.data.dataset import open_data
from tests.linearroad.cities import generate
from tests.linearroad.outputs import write_city


def test_a_data_set_that_changed_is_refused(tmp_path: Path) -> None:
    convert(write_city(generate(5), tmp_path / "given")[0], tmp_path / "city")
    data, kept = open_data(tmp_path / "city"), tmp_path / "input.json"
    check_unchanged(data, kept)
    check_unchanged(data, kept)
    path = next(iter(data.parquet_files.values()))
    events, before = pl.read_parquet(path), path.stat()
    events.reverse().write_parquet(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(DataError, match=r"xway-\d+\.parquet: changed since the run began: it ha[sd] "):
        check_unchanged(data, kept)
    path.unlink()
    with pytest.raises(DataError, match="is gone"):
        check_unchanged(data, kept)
