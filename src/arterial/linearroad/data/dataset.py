"""Events of any origin, ready to be read second by second or as a Spark frame: `open_data(path)`.

A data set of ours is read where it is. Anything else is cleaned first, into a temporary data set that lives as long as
the `Data`; `cleaning` and `rejects` say what was set aside.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from arterial.connectors.rejects import Reject, read_rejects
from arterial.errors import DataError
from arterial.linearroad.data.clean_set import REJECTS_FILE, Cleaning, clean_into, facts_of, read_cleaning
from arterial.linearroad.data.event_files import CITY_FILE, PARQUET_FOLDER, reading, writing
from arterial.linearroad.data.event_sources import Sources, is_data_set
from arterial.linearroad.formats.events import EVENT_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Reading second by second decodes a row group once, not once a second.
GROUPS_KEPT = 2


def open_data(path: str | Path, *, disorder: int = 0, progress: Callable[[float], None] | None = None) -> Data:
    """The events at `path`: a data set's folder, any folder of Parquet, CSV or .dat files, or one such file.

    What we did not write is cleaned, and put in order within `disorder` seconds; `progress` gets the bytes done.
    """
    path = Path(path)
    if is_data_set(path):
        return Data(path, path)
    sources = Sources(path, disorder=disorder)
    with writing(Path(tempfile.gettempdir())):
        folder = Path(tempfile.mkdtemp(prefix="arterial-data-"))
    try:
        clean_into(sources, folder, rejects=folder / REJECTS_FILE, progress=progress)
        return Data(folder, path, temporary=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


class Data:
    """Events in time order, by expressway.

    `path` is where they came from, `folder` the data set that is read; `facts` is its city.json.
    """

    def __init__(self, folder: Path, path: Path, *, temporary: bool = False) -> None:
        self.folder, self.path = folder, path
        self._remove = weakref.finalize(self, shutil.rmtree, folder, True) if temporary else None
        self.facts: dict[str, Any] = facts_of(folder)
        files = sorted((folder / PARQUET_FOLDER).glob("xway-*.parquet"))
        if not files:
            raise DataError(f"{folder / PARQUET_FOLDER}: no xway-*.parquet in it; simulate or convert the data again")
        self._files = {int(file.stem.removeprefix("xway-")): _ParquetFile.open(file) for file in files}
        self.xways = tuple(self._files)
        self.events = sum(file.rows for file in self._files.values())
        filled = [file for file in self._files.values() if file.rows]
        self.first_second = min((int(file.lowest.min()) for file in filled), default=0)
        self.last_second = max((int(file.highest.max()) for file in filled), default=-1)

    @property
    def cleaning(self) -> Cleaning | None:
        """What cleaning found; None for a data set that was simulated."""
        return read_cleaning(self.folder)

    @property
    def rejects(self) -> list[Reject]:
        """The lines that cleaning set aside."""
        return read_rejects(self.folder / REJECTS_FILE)

    @property
    def parquet_files(self) -> dict[int, Path]:
        """The Parquet file of every expressway; whole paths, since Spark's workers are in a folder of their own."""
        return {xway: file.path.absolute() for xway, file in self._files.items()}

    def read(self, start: int, stop: int, xways: Sequence[int] | None = None) -> pa.Table:
        """The events of the seconds [start, stop) in time order, then by expressway; of `xways` or of all."""
        parts = [self._files[xway].read(start, stop) for xway in (self.xways if xways is None else xways)]
        events = pa.concat_tables([part for part in parts if part.num_rows] or [EVENT_SCHEMA.empty_table()])
        return _in_time_order(events)

    def close(self) -> None:
        """Remove the temporary data set, if there is one; the end of the process does it too."""
        if self._remove:
            self._remove()

    def spark_frame(self, spark: SparkSession) -> DataFrame:
        """The events as a Spark frame, in no order."""
        return spark.read.parquet(*(str(file) for file in self.parquet_files.values()))


@dataclass
class _ParquetFile:
    """A Parquet file of events with the times that each row group spans, and the groups that were read last."""

    path: Path
    file: pq.ParquetFile
    rows: int
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    kept: dict[int, pa.Table]

    @classmethod
    def open(cls, path: Path) -> _ParquetFile:
        try:
            with reading(path):
                file = pq.ParquetFile(path)
        except pa.ArrowInvalid as fault:
            raise DataError(f"{path}: not a Parquet file, or a damaged one: {fault}") from fault
        if not file.schema_arrow.equals(EVENT_SCHEMA):
            raise DataError(
                f"{path}: columns are not those of events; expected {', '.join(EVENT_SCHEMA.names)}, "
                f"got {', '.join(file.schema_arrow.names)}. To take it over, convert a copy without {CITY_FILE}"
            )
        meta = file.metadata
        place = EVENT_SCHEMA.get_field_index("time")
        spans = []
        for group in range(meta.num_row_groups):
            statistics = meta.row_group(group).column(place).statistics
            known = statistics is not None and statistics.has_min_max
            spans.append((statistics.min, statistics.max) if known else (0, 2**31 - 1))
        low, high = np.array(spans, np.int64).reshape(-1, 2).T
        return cls(path, file, meta.num_rows, low, high, {})

    def read(self, start: int, stop: int) -> pa.Table:
        groups = np.flatnonzero((self.lowest < stop) & (self.highest >= start)).tolist()
        if not groups:
            return EVENT_SCHEMA.empty_table()
        if len(groups) <= GROUPS_KEPT:
            self.kept = {group: self.kept.get(group) or self.file.read_row_group(group) for group in groups}
            events = pa.concat_tables(list(self.kept.values()))
        else:
            events = self.file.read_row_groups(groups)
        events = _in_time_order(events)
        times = events["time"].to_numpy()
        first, last = np.searchsorted(times, [start, stop])
        return events.slice(first, last - first)


def _in_time_order(events: pa.Table) -> pa.Table:
    times = events["time"].to_numpy()
    if (times[1:] >= times[:-1]).all():
        return events
    return events.take(np.argsort(times, kind="stable"))
