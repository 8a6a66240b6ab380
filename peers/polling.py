"""What the polling systems share: the driver's lines second by second, and answers with the driver's clock.

The driver delivers a second whole, so a second is complete when a line of a later one is there, or the input has ended.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

COLUMNS = (
    "type", "time", "vid", "speed", "xway", "lane", "dir", "seg", "pos", "qid", "sinit", "send", "dow", "tod", "day",
)  # fmt: skip


def queries(vids_apart: int = 0, xways_apart: int = 0) -> dict[str, str]:
    """How an answer of each type is written, and the query for it, over tables that the polling systems all have.

    Travel times are not computed: as without a SegmentHistory, they are unknown, but for journeys to where one is.
    Replica r has vehicle ids raised by r times `vids_apart` and expressways by r times `xways_apart`; the history is
    that of the originals.
    """
    nowhere = "case when sinit = send then 0 else -1 end"
    vid, xway = "r.vid", "r.xway"
    if vids_apart:
        replica = f"(r.vid - r.vid % {vids_apart})::bigint * {xways_apart}"
        same = f"{replica} = (r.xway - r.xway % {xways_apart})::bigint * {vids_apart}"
        vid, xway = f"case when {same} then r.vid % {vids_apart} else -1 end", f"r.xway % {xways_apart}"
    return {
        "0,{},{},{emit},{},{}": "select vid, time, lav, quote from came where entered and lane <> 4",
        "1,{},{emit},{},{},{},{}": (
            "select time, vid, xway, accident, dir from came where entered and lane <> 4 and accident is not null"
        ),
        "2,{},{emit},{},{},{}": (
            "select r.time, case when r.time - since <= 60 then since else r.time end, qid, coalesce(balance, 0) "
            "from arrived r left join accounts a on a.vid = r.vid where type = 2"
        ),
        "3,{},{emit},{},{}": (
            "select r.time, qid, coalesce(tolls, 0) from arrived r "
            f"left join history h on h.vid = {vid} and h.day = r.day and h.xway = {xway} where type = 3"
        ),
        "4,{},{emit},{},{},{}": f"select time, qid, {nowhere}, {nowhere} from arrived where type = 4",
    }


def options_of(description: str | None) -> argparse.ArgumentParser:
    """The options that all polling systems have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("output", type=Path, help="the file for the answers")
    options.add_argument("start", type=Path, help="the file with the driver's start")
    options.add_argument("--tolls", type=Path, help="TollHistory: a folder of Parquet files")
    options.add_argument("--vids-apart", type=int, default=0, help="how far apart the vehicles of two replicas are")
    options.add_argument("--xways-apart", type=int, default=0, help="how far apart the expressways of two replicas are")
    return options


def seconds() -> Iterator[tuple[int, pl.DataFrame]]:
    """Each second's events, in order; all that are complete whenever something has arrived."""
    rest, waiting = b"", pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.Int32))
    while True:
        data = os.read(sys.stdin.fileno(), 1 << 22)
        lines, _, rest = (rest + data).rpartition(b"\n")
        if lines:
            waiting = pl.concat([waiting, _events(lines)])
        last = None if not data else waiting["time"].max()
        ready = waiting if last is None else waiting.filter(pl.col("time") < last)
        for (second,), events in ready.group_by("time", maintain_order=True):
            yield int(str(second)), events
        if not data:
            return
        waiting = waiting.filter(pl.col("time") >= last)


def _events(lines: bytes) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(lines), has_header=False, schema=dict.fromkeys(COLUMNS, pl.Int32))


class Answers:
    """The file of answers. Emit is the time since the driver's start, rounded up to a millisecond."""

    def __init__(self, output: Path, start: Path) -> None:
        self._start, self._file = start, output.open("w")
        self._began: float | None = None

    def write(self, layout: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Rows in a layout such as `3,{},{emit},{},{}`."""
        if self._began is None:
            self._began = float(self._start.read_text())
        layout = layout.replace("{emit}", f"{math.ceil((time.time() - self._began) * 1000) / 1000:.3f}") + "\n"
        self._file.writelines(layout.format(*row) for row in rows)

    def flush(self) -> None:
        """Let readers see what was written."""
        self._file.flush()
