"""The history in the form in which a stream looks it up (VLDB 2004, §3.2.3): memory-mapped columns, built once.

`TollLookup` answers daily-expenditure requests by (vehicle, day, expressway); `SegmentLookup` holds ten-week sums by
(expressway, direction, segment, weekday, minute) for travel times. `arterial linear-road history` writes both; `build`
makes them from any files. docs/decisions/0004-history-look-up.md says why they look as they do.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arterial.errors import DataError
from arterial.linearroad.history.columns import ColumnWriter, column_header, machine_fault, map_column, reserve
from arterial.linearroad.history.segment_kernel import MOST_ROWS_A_CELL, gather
from arterial.linearroad.history.tables import (
    SEGMENT_HISTORY,
    TOLL_HISTORY,
    HistoryTable,
    history_files,
    read_rows,
    table_in,
)
from arterial.linearroad.history.toll_kernel import ascending, bucket_shift, bucket_starts, find_tolls
from arterial.linearroad.history.travel_time import BY_SPEC, WEEKDAYS, JourneyRules, travel_times
from arterial.linearroad.semantics.city import MINUTES_A_DAY, SEGMENTS
from arterial.storage.place import draft_folder, remove, rename

FOLDER = "lookup"
CELLS_FILE = "segments-cells.npy"
VERSION = 1

# One expressway: direction, weekday, minute, segment; in each (sum of Lav > 0, rows of it, sum of Cnt, rows).
XWAY_CELLS = (2, WEEKDAYS, MINUTES_A_DAY, SEGMENTS, 4)

Integers = NDArray[np.int64]

_CHUNK = 1 << 22


class _Lookup(ABC):
    """What both look-ups have in common: where they are found, and when they are built again."""

    _NAME: ClassVar[str]
    _TABLE: ClassVar[HistoryTable]

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Map the look-up of a history folder, a `lookup` folder, or any history of its kind (built on first use)."""
        folder = _locate(Path(path), cls._NAME, cls._TABLE)
        return cls._map(folder) if isinstance(folder, Path) else cls.build(*folder)

    @classmethod
    def kept_open(cls, path: str) -> Self:
        """The same, opened once in a process until another history is written there: a session of Spark and a notebook
        outlive the history of one run."""
        folder = Path(path)
        facts = (folder / f"{cls._NAME}.json", folder / FOLDER / f"{cls._NAME}.json", folder)
        written = next((file.stat().st_mtime_ns for file in facts if file.exists()), 0)
        kept: Self = _opened(cls, path, written)
        return kept

    @classmethod
    def build(cls, path: Path | str, cache_dir: Path | str) -> Self:
        """Make the look-up of a history in `cache_dir`, or take the one there if it is of the same files."""
        source, folder = Path(path), Path(cache_dir)
        stamp = _stamp(source, cls._TABLE)
        if _meta(folder, cls._NAME).get("source") != stamp:
            with _building(folder, cls._NAME) as building:
                _save_meta(building, cls._NAME, {**cls._write(source, building), "source": stamp})
        return cls._map(folder)

    @classmethod
    @abstractmethod
    def _map(cls, folder: Path) -> Self:
        """The look-up in a folder."""

    @staticmethod
    @abstractmethod
    def _write(source: Path, folder: Path) -> dict[str, Any]:
        """Write the columns; returns the facts about them that `_map` needs."""


@dataclass(frozen=True)
class TollLookup(_Lookup):
    """What each vehicle paid on each day on each expressway.

    Rows are ordered by vehicle, day and expressway; if a key came more than once, the row that stood last in the file
    counts, and `repeated` says how many others there were.
    """

    vids: Integers
    starts: Integers
    rows: NDArray[Any]
    xways: Integers
    buckets: NDArray[np.int32]
    shift: int
    days: tuple[int, int]
    repeated: int

    _NAME = "tolls"
    _TABLE = TOLL_HISTORY

    @classmethod
    def _map(cls, folder: Path) -> Self:
        meta = _meta(folder, "tolls")
        first, last = meta["days"]
        return cls(
            shift=meta["shift"],
            days=(first, last),
            repeated=meta["repeated"],
            **{name: map_column(folder / f"tolls-{name}.npy") for name in _TOLL_COLUMNS},
        )

    @staticmethod
    def _write(source: Path, folder: Path) -> dict[str, Any]:
        return _build_tolls(source, folder)

    def __len__(self) -> int:
        return len(self.rows)

    def tolls(
        self, vid: ArrayLike, day: ArrayLike, xway: ArrayLike, *, vids_apart: int = 0, xways_apart: int = 0
    ) -> tuple[Integers, NDArray[np.bool_]]:
        """Tolls of each key, and whether the history has it; 0 where it does not.

        For a stream whose expressways were replicated: replica r of the history has every vehicle's id raised by
        r * vids_apart and every expressway's by r * xways_apart, where all original ids are below those.
        """
        return find_tolls(
            np.ascontiguousarray(vid, dtype=np.int64),
            np.ascontiguousarray(day, dtype=np.int64),
            np.ascontiguousarray(xway, dtype=np.int64),
            self.vids,
            self.shift,
            self.buckets,
            self.starts,
            self.rows,
            self.xways,
            self.days,
            vids_apart,
            xways_apart,
        )


@dataclass(frozen=True)
class SegmentLookup(_Lookup):
    """Sums of Lav and Cnt over the weeks, by expressway, direction, weekday, minute and segment.

    `cells[places[i]]` has the shape `XWAY_CELLS` and belongs to the expressway `xways[i]`; `xways` ascend.
    """

    cells: NDArray[np.int32]
    xways: Integers
    places: Integers

    _NAME = "segments"
    _TABLE = SEGMENT_HISTORY

    @classmethod
    def _map(cls, folder: Path) -> Self:
        in_file_order = np.array(_meta(folder, "segments")["xways"], dtype=np.int64)
        places = np.argsort(in_file_order)
        return cls(map_column(folder / CELLS_FILE), in_file_order[places], places)

    @staticmethod
    def _write(source: Path, folder: Path) -> dict[str, Any]:
        return {"xways": _build_segments(source, folder)}

    def travel_times(
        self,
        xway: ArrayLike,
        sinit: ArrayLike,
        send: ArrayLike,
        dow: ArrayLike,
        tod: ArrayLike,
        *,
        xways_apart: int = 0,
        rules: JourneyRules = BY_SPEC,
    ) -> tuple[Integers, Integers]:
        """Seconds and toll of each journey; -1, -1 without history. `xways_apart` = L: expressway x is as x mod L."""
        columns = (np.asarray(column, dtype=np.int64) for column in (xway, sinit, send, dow, tod))
        return travel_times(self.cells, self.xways, self.places, *columns, xways_apart=xways_apart, rules=rules)

    def means(self, xway: int, dir_: int, seg: int, dow: int, minute: int) -> tuple[float | None, float | None]:
        """Mean LAV and mean count of one cell; None where there is nothing to take the mean of."""
        at = np.flatnonzero(self.xways == xway)
        if not len(at):
            return None, None
        lav_sum, lav_rows, cars_sum, rows = self.cells[self.places[at[0]], dir_, dow - 1, minute - 1, seg].tolist()
        return lav_sum / lav_rows if lav_rows else None, cars_sum / rows if rows else None


_TOLL_COLUMNS = ("vids", "starts", "rows", "xways", "buckets")


def save_segment_meta(folder: Path, xways: list[int], source: Path) -> None:
    """Say that the file of cells in this folder is complete and holds these expressways, in this order."""
    _save_meta(folder, "segments", {"xways": xways, "source": _stamp(source, SEGMENT_HISTORY)})


def _build_tolls(source: Path, folder: Path) -> dict[str, Any]:
    """Write the columns of a TollLookup; returns what the file of its facts says."""
    raw = {"vid": np.int64, "day": np.int16, "xway": np.int32, "tolls": np.int32}
    in_order, last = True, (-1, -1, -1)
    xways = np.empty(0, np.int64)
    days = (2**15, -1)
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(ColumnWriter(folder / f"{name}.npy", dtype)) for name, dtype in raw.items()
        }
        for rows in read_rows(source, TOLL_HISTORY):
            vid, day, xway = rows["vid"], rows["day"], rows["xway"]
            if len(vid) == 0:
                continue
            in_order = in_order and last < (int(vid[0]), int(day[0]), int(xway[0])) and ascending(vid, day, xway)
            last = int(vid[-1]), int(day[-1]), int(xway[-1])
            xways = np.union1d(xways, xway)
            days = min(days[0], int(day.min())), max(days[1], int(day.max()))
            for name, writer in writers.items():
                writer.append(rows[name])
    columns = {name: map_column(folder / f"{name}.npy") for name in raw}
    total = len(columns["vid"])
    if not in_order:
        columns = _last_of_each_key(columns)
    _write_toll_columns(columns, xways, folder)
    for name in raw:
        (folder / f"{name}.npy").unlink()
    vids = map_column(folder / "tolls-vids.npy")
    shift = bucket_shift(vids)
    np.save(folder / "tolls-buckets.npy", bucket_starts(vids, shift))
    return {"shift": shift, "days": days, "repeated": total - len(columns["vid"])}


def _last_of_each_key(columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The rows by vehicle, day and expressway; of several with the same key, the last."""
    order = np.lexsort((columns["xway"], columns["day"], columns["vid"]))
    last = np.ones(len(order), np.bool_)
    last[:-1] = False
    for name in ("vid", "day", "xway"):
        ordered = columns[name][order]
        last[:-1] |= ordered[1:] != ordered[:-1]
    order = order[last]
    return {name: column[order] for name, column in columns.items()}


def _write_toll_columns(columns: dict[str, NDArray[Any]], xways: Integers, folder: Path) -> None:
    total, last_key = len(columns["vid"]), int(columns["day"].max() + 1) * len(xways)
    np.save(folder / "tolls-xways.npy", xways)
    with (
        ColumnWriter(folder / "tolls-rows.npy", np.int32 if last_key < 2**31 else np.int64, (2,)) as rows,
        ColumnWriter(folder / "tolls-vids.npy", np.int64) as vids,
        ColumnWriter(folder / "tolls-starts.npy", np.int64) as starts,
    ):
        before = -1
        for at in range(0, total, _CHUNK):
            vid, day, xway, tolls = (column[at : at + _CHUNK] for column in columns.values())
            keys = day.astype(np.int64) * len(xways) + np.searchsorted(xways, xway)
            rows.append(np.stack([keys, tolls], axis=1))
            first = np.flatnonzero(np.diff(vid, prepend=before))
            vids.append(vid[first])
            starts.append(first + at)
            before = vid[-1]
        starts.append(np.array([total]))


def _build_segments(source: Path, folder: Path) -> list[int]:
    """Write the cells of a SegmentLookup; returns the expressways in the order in which they stand there."""
    path = folder / CELLS_FILE
    place_of: dict[int, int] = {}
    cells = np.empty((0, *XWAY_CELLS), np.int32)
    for rows in read_rows(source, SEGMENT_HISTORY):
        found, which = np.unique(rows["xway"], return_inverse=True)
        new = [int(xway) for xway in found if int(xway) not in place_of]
        if new:
            place_of.update({xway: len(place_of) + i for i, xway in enumerate(new)})
            del cells
            cells = _grow_cells(path, len(place_of))
        place = np.array([place_of[int(xway)] for xway in found])[which]
        full = gather(cells, place, *(rows[name] for name in ("day", "minute", "dir", "seg", "lav", "cnt")))
        if full >= 0:
            key = ", ".join(f"{name} {rows[name][full]}" for name in ("day", "minute", "xway", "dir", "seg"))
            raise DataError(
                f"{source}: more than {MOST_ROWS_A_CELL:,} rows fall on the weekday and minute of {key}; a "
                "SegmentHistory has one row for each day, minute, expressway, direction and segment."
            )
    del cells
    return list(place_of)


def _grow_cells(path: Path, xways: int) -> NDArray[np.int32]:
    """Map a file of cells for so many expressways for writing; the disk space is taken before it is written to."""
    header = column_header(np.dtype(np.int32), (xways, *XWAY_CELLS))
    with path.open("r+b" if path.exists() else "w+b") as file:
        reserve(file, len(header) + xways * int(np.prod(XWAY_CELLS)) * 4)
        file.seek(0)
        file.write(header)
    return np.asarray(np.load(path, mmap_mode="r+"))


def _locate(path: Path, name: str, table: HistoryTable) -> Path | tuple[Path, Path]:
    """The folder of a finished look-up, or (the file to build it from, the folder to build it in)."""
    for folder in (path, path / FOLDER):
        if _meta(folder, name):
            return folder
    if (found := table_in(path, name)) is not None:
        return found, path / FOLDER
    if path.is_dir() and (path / "history.json").exists():
        raise DataError(
            f"{path}: this history has no {table.title}. Make it again with `arterial linear-road history`."
        )
    history_files(path, table)
    return path, path.with_name(f"{path.name}.{FOLDER}")


def _stamp(source: Path, table: HistoryTable) -> list[list[Any]]:
    """What distinguishes files of the same name: size and time of change."""
    stats = [(file.name, file.stat()) for file in history_files(source, table)]
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]


def _meta(folder: Path, name: str) -> dict[str, Any]:
    """The facts of a finished look-up; empty if there is none, or one of another version."""
    try:
        meta = json.loads((folder / f"{name}.json").read_text())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as fault:
        raise machine_fault(fault, folder, "read") from fault
    except ValueError:
        return {}
    return meta if isinstance(meta, dict) and meta.get("version") == VERSION else {}


def _save_meta(folder: Path, name: str, facts: dict[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps({"version": VERSION, **facts}))


@lru_cache(maxsize=8)
def _opened(kind: type[_Lookup], path: str, written: int) -> Any:
    del written  # a later one is another look-up
    return kind.open(path)


@contextmanager
def _building(folder: Path, name: str) -> Iterator[Path]:
    """A folder to build in, whose files then take their place in `folder`, the one with the facts last."""
    try:
        with draft_folder(folder / name) as building:
            yield building
            remove(folder / f"{name}.json")
            for file in sorted(building.iterdir(), key=lambda file: file.suffix == ".json"):
                rename(file, folder / file.name)
    except OSError as fault:
        raise machine_fault(fault, folder, "write") from fault
