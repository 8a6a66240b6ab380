"""The driver's lines as a source of Spark: a spool with a file for each second, and a data source that follows it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from packed import ANSWERS, EMIT, REPORT, REPORTS, REQUEST, REQUESTS, SCHEMA, Row, by_shard, lines
from pyarrow import csv
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

COLUMNS = (
    "type", "time", "vid", "speed", "xway", "lane", "dir", "seg", "pos", "qid", "sinit", "send", "dow", "tod", "day",
)  # fmt: skip
BATCH_SECONDS = 20
"""At most so many seconds in a micro-batch, if it is behind."""


def spool(pipe: int, folder: Path) -> None:
    """Each second of the input into a file of its own, which is there as soon as a line of a later second is."""
    held, number = bytearray(), 0
    while True:
        data = os.read(pipe, 1 << 20)
        held += data
        end = held.rfind(b"\n") + 1 if data else len(held)
        while end:
            cut = _first_second(held, end) if data else _first_second(held, end) or end
            if not cut:
                break
            _put(folder, number, held[:cut])
            number += 1
            del held[:cut]
            end -= cut
        if not data:
            return


def _put(folder: Path, number: int, text: bytes) -> None:
    hidden = folder / f".{number}"
    hidden.write_bytes(text)
    hidden.rename(folder / str(number))


def _first_second(held: bytearray, end: int) -> int:
    """Where the lines of the first second end, by bisection, as lines are in order; 0 if all are of one second."""
    first = _second(held, 0)
    low, high = 0, held.rfind(b"\n", 0, end - 1) + 1
    if _second(held, high) == first:
        return 0
    # The line at `low` is of the first second, the one at `high` is not.
    while True:
        middle = held.rfind(b"\n", 0, (low + high) // 2) + 1
        if middle == low:
            middle = held.find(b"\n", low) + 1
        if middle == high:
            return high
        if _second(held, middle) == first:
            low = middle
        else:
            high = middle


def _second(held: bytearray, at: int) -> int:
    begin = held.index(b",", at) + 1
    return int(held[begin : held.index(b",", begin)])


@dataclass(frozen=True)
class Settings:
    """What a task needs to read a second."""

    folder: str
    keys: tuple[int, ...]
    history: str
    vids_apart: int
    xways_apart: int


class Seconds(DataSource):
    """The spool: an offset counts seconds."""

    @classmethod
    def name(cls) -> str:
        """Its name for `format`."""
        return "seconds"

    def schema(self) -> Any:
        """Packed rows."""
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        """Follow the folder."""
        keys = tuple(int(key) for key in self.options["keys"].split())
        apart = int(self.options["vidsApart"]), int(self.options["xwaysApart"])
        return _Reader(Settings(self.options["path"], keys, self.options["history"], *apart))


@dataclass
class _Some(InputPartition):
    begin: int
    until: int


class _Reader(DataSourceStreamReader):
    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"second": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        until = start["second"]
        while until < start["second"] + BATCH_SECONDS and os.path.exists(f"{self.settings.folder}/{until}"):  # noqa: PTH110
            until += 1
        return {"second": until}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        begin, until, tasks = start["second"], end["second"], len(self.settings.keys)
        cuts = [begin + (until - begin) * task // tasks for task in range(tasks + 1)]
        return [_Some(low, high) for low, high in pairwise(cuts) if low < high]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Some)
        rows: list[Row] = []
        for number in range(partition.begin, partition.until):
            rows += _rows(self.settings, Path(self.settings.folder, str(number)))
        kinds = [pa.int32(), pa.int32(), pa.int32(), pa.binary()]
        columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, names=list(Row._fields))

    def commit(self, end: dict[str, int]) -> None:
        before = end["second"] - 1
        while before >= 0 and (done := Path(self.settings.folder, str(before))).exists():
            done.unlink()
            before -= 1


def _rows(settings: Settings, file: Path) -> Iterator[Row]:
    """A second, parsed and packed by shard; requests for the past are answered here, since they need no state."""
    table = csv.read_csv(
        file,
        csv.ReadOptions(column_names=COLUMNS, use_threads=False, block_size=1 << 26),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.int32())),
    )
    events = {name: table[name].to_numpy() for name in COLUMNS}
    second = int(events["time"][0])
    report = events["type"] == 0
    reports = np.empty(np.count_nonzero(report), REPORT)
    for name in ("vid", "pos", "speed", "lane", "seg"):
        reports[name] = events[name][report]
    reports["unit"] = events["xway"][report] * 2 + events["dir"][report]
    for key, part in by_shard(reports, reports["unit"], settings.keys):
        yield Row(key, second, REPORTS, part.tobytes())
    wanted = {name: values[~report] for name, values in events.items()}
    balance = wanted["type"] == 2
    if balance.any():
        requests = np.empty(np.count_nonzero(balance), REQUEST)
        requests["vid"], requests["qid"] = wanted["vid"][balance], wanted["qid"][balance]
        for key, part in by_shard(requests, requests["vid"], settings.keys):
            yield Row(key, second, REQUESTS, part.tobytes())
    text = _past(settings, second, wanted)
    if text:
        yield Row(settings.keys[0], second, ANSWERS, text)


def _past(settings: Settings, second: int, wanted: dict[str, np.ndarray]) -> bytes:
    text = b""
    day, journey = wanted["type"] == 3, wanted["type"] == 4
    if day.any():
        request = {name: wanted[name][day].astype(np.int64) for name in ("vid", "xway", "day", "qid")}
        text += lines(3, second, EMIT, request["qid"], expenditures(settings, request))
    if journey.any():
        unknown = np.where(wanted["sinit"][journey] == wanted["send"][journey], 0, -1)
        text += lines(4, second, EMIT, wanted["qid"][journey], unknown, unknown)
    return text


def history_key(vid: np.ndarray, day: np.ndarray, xway: np.ndarray) -> np.ndarray:
    """One number for a vehicle, a day and an expressway."""
    return np.asarray((vid * 128 + day) * 65_536 + xway)


def expenditures(settings: Settings, request: dict[str, np.ndarray]) -> np.ndarray:
    """TollHistory, sorted by key in files that all tasks map into memory. Replicas have the history of the original."""
    keys = np.load(f"{settings.history}/keys.npy", mmap_mode="r")
    tolls = np.load(f"{settings.history}/tolls.npy", mmap_mode="r")
    vid, xway = request["vid"], request["xway"]
    own = np.ones(len(vid), np.bool_)
    if settings.vids_apart:
        own = vid // settings.vids_apart == xway // settings.xways_apart
        vid, xway = vid % settings.vids_apart, xway % settings.xways_apart
    if not len(keys):
        return np.zeros(len(vid), np.int64)
    key = history_key(vid, request["day"], xway)
    at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    return np.where(own & (keys[at] == key), tolls[at], 0)
