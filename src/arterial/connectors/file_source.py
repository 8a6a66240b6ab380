"""A source of Parquet or CSV files in the order of a time column: in real time, faster, or as fast as possible.

The position is a number of rows, so any step can be read again. An index of where each instant begins is made once,
when the run starts; a step always ends where an instant does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from arterial.connectors.csv import clean_csv
from arterial.connectors.frames import check_columns
from arterial.connectors.pace import Pace
from arterial.connectors.rejects import set_aside
from arterial.connectors.source import Ask, Part, Progress, Source
from arterial.errors import DataError
from arterial.network.schema import Schema, Type
from arterial.network.train import BEGIN, END
from arterial.storage.place import put_in_place

MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class FileSource(Source):
    """The tuples of one file, or of all files of a folder in the order of their names.

    `speed` is how many times faster than real time they come: 1 is real time, None as fast as possible. The clock
    starts with the run, at the first tuple that is not read yet.
    """

    path: str | Path
    speed: float | None = None
    files: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    index: str = ""
    schema: Schema | None = None
    time: str = ""
    said: tuple[str, ...] = ()
    _paces: list[Pace] = field(default_factory=list, compare=False, repr=False)

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> FileSource:
        """Find the files, check that they have the columns and the order, and make the index."""
        if self.speed is not None and self.speed <= 0:
            raise DataError(f"source {name!r}: the speed is {self.speed}; expected more than 0")
        files = find_files(Path(self.path), name)
        kept = folder / "sources" / name
        kept.mkdir(parents=True, exist_ok=True)
        ready, notices = [], []
        for n, file in enumerate(files):
            ready.append(str(file) if file.suffix == ".parquet" else str(kept / f"{n:04d}.parquet"))
            if file.suffix != ".parquet" and (aside := clean_csv(file, Path(ready[-1]), schema)):
                notices.append(f"{file}: {set_aside(len(aside), aside.path)}")
        for name in ready:
            _check_columns(Path(name), schema)
        times = [_read_times(file, time) for file in ready]
        _check_order(files, times, time)
        index = kept / "index.npy"
        _write_index(index, np.concatenate(times) if times else np.empty(0, np.int64))
        return replace(
            self,
            files=tuple(ready),
            rows=tuple(len(part) for part in times),
            index=str(index),
            schema=schema,
            time=time,
            said=tuple(notices),
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """The lines that did not fit."""
        return self.said

    def begin(self) -> Progress:
        """Before the first row."""
        return Progress({"row": 0}, BEGIN if sum(self.rows) else END)

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """As many whole instants as are due and fit."""
        begins, times = _open_index(self.index)
        row, instants = before.position["row"], len(times)
        at = int(np.searchsorted(begins, row))
        if at == instants:
            return Progress(before.position, END)
        size = max(at + 1, int(np.searchsorted(begins, row + ask.tuples, side="right")) - 1)
        to = size
        due = self._due(int(times[at]), ask.now)
        for limit in (due, ask.until):
            if limit is not None and limit != END:
                to = min(to, int(np.searchsorted(times, limit, side="right")))
        through = END if to == instants else int(times[to]) - 1
        if due is not None and through != END:
            through = min(through, due)
        if to <= at and through <= before.through:
            return before
        return Progress({"row": int(begins[max(to, at)])}, max(through, before.through))

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A piece of the rows."""
        assert self.schema is not None
        first, last = before.position["row"], after.position["row"]
        begin = first + (last - first) * part.index // part.count
        end = first + (last - first) * (part.index + 1) // part.count
        frames, offset = [], 0
        for file, rows in zip(self.files, self.rows, strict=True):
            lower, upper = max(begin - offset, 0), min(end - offset, rows)
            if lower < upper:
                frames.append(_read_rows(file, lower, upper, self.schema))
            offset += rows
        return pl.concat(frames) if frames else self.schema.empty()

    def share(self, progress: Progress) -> float | None:
        """The share of the rows."""
        return 1.0 if progress.through == END else progress.position["row"] / max(1, sum(self.rows))

    def waiting(self, progress: Progress, now: float) -> int | None:
        """All rows that are not read yet, or those that are due."""
        begins, times = _open_index(self.index)
        row = progress.position["row"]
        at = int(np.searchsorted(begins, row))
        due = self._due(int(times[at]), now) if at < len(times) else None
        if due is None:
            return sum(self.rows) - int(row)
        return int(begins[int(np.searchsorted(times, due, side="right"))]) - int(row)

    def _due(self, first: int, now: float) -> int | None:
        """The last time that is due of a paced source, in the unit of the time column; the first call starts it."""
        if self.speed is None:
            return None
        if not self._paces:
            units = MICROSECONDS if self.schema is not None and self.schema[self.time] is Type.TIMESTAMP else 1
            self._paces.append(Pace(first, self.speed, units))
            self._paces[0].start(now)
        return self._paces[0].last_due(now)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_paces": []}


def find_files(path: Path, name: str) -> list[Path]:
    """The files that a path stands for, in the order of their names."""
    if path.is_file():
        return [path.absolute()]
    if not path.is_dir():
        raise DataError(f"source {name!r}: {path} does not exist; expected a Parquet or CSV file, or a folder of them")
    for suffix in ("parquet", "csv"):
        if found := sorted(path.absolute().rglob(f"*.{suffix}")):
            return [file for file in found if not file.name.startswith((".", "_"))]
    raise DataError(f"source {name!r}: the folder {path} has no *.parquet and no *.csv files")


def _check_columns(file: Path, schema: Schema) -> None:
    try:
        found = pl.read_parquet_schema(file)
    except (pl.exceptions.PolarsError, OSError) as trouble:
        raise DataError(f"{file}: cannot be read as Parquet: {str(trouble).splitlines()[0]}") from None
    check_columns(found, schema, str(file))


def _read_times(file: str, time: str) -> Any:
    times = pl.read_parquet(file, columns=[time])[time]
    if times.null_count():
        row = int(times.is_null().arg_max() or 0)
        raise DataError(f"{file}: row {row + 1} has no {time}; every tuple needs a time. Leave such rows out.")
    if times.dtype == pl.Datetime:
        times = times.dt.cast_time_unit("us").to_physical()
    return times.cast(pl.Int64).to_numpy()


def _check_order(files: list[Path], parts: list[Any], time: str) -> None:
    latest, where = BEGIN, ""
    for file, times in zip(files, parts, strict=True):
        if len(times) == 0:
            continue
        back = np.flatnonzero(np.diff(times) < 0)
        if len(back):
            row = int(back[0]) + 1
            raise DataError(
                f"{file}: row {row + 1} goes back in time: {time} is {times[row]} after {times[row - 1]}; sort it "
                f"by {time}, or read it through Spark and let the network's source allow for disorder."
            )
        if int(times[0]) < latest:
            raise DataError(
                f"{file}: begins at {time} {times[0]}, before the end of {where} ({latest}); sort the files"
            )
        latest, where = int(times[-1]), str(file)


def _write_index(path: Path, times: Any) -> None:
    begins = np.concatenate([[0], np.flatnonzero(np.diff(times)) + 1]) if len(times) else np.empty(0, np.int64)
    index = np.stack([np.append(begins, len(times)), np.append(times[begins.astype(int)], 0)])
    put_in_place(path, lambda file: np.save(file, index))
    _open_index.cache_clear()


@lru_cache
def _open_index(path: str) -> tuple[Any, Any]:
    """Where each instant begins, with the end as last; and the instants."""
    index = np.load(path, mmap_mode="r")
    return index[0], index[1][:-1]


def _read_rows(file: str, begin: int, end: int, schema: Schema) -> pl.DataFrame:
    rows = pl.scan_parquet(file).slice(begin, end - begin).select(schema.names)
    return rows.cast(pl.Schema(schema.polars())).collect()
