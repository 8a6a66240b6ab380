"""Linear Road on a DataFrame of Spark: `run_frame(frame, options)`, for frames of rows that are there and for streams.

The frame has the 15 columns of an event, by our names or the paper's; what is in them is cleaned like anyone's lines.
"""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from arterial.engine.spark.errors import as_run_error
from arterial.errors import DataError
from arterial.linearroad.application.inputs import Input, StoredInput
from arterial.linearroad.application.live.input import CHECK_SECONDS, SpooledInput
from arterial.linearroad.application.live.spooler import Spooler
from arterial.linearroad.application.run import LinearRoadRun, RunOptions, input_place
from arterial.linearroad.data.event_files import writing
from arterial.linearroad.data.event_sources import ALIASES, as_lines
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.storage.place import put_in_place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FRAME = "frame"
"""What stands for the path of the data in the options and figures of such a run."""


def run_frame(frame: DataFrame, options: RunOptions, *, only_available: bool = False) -> LinearRoadRun:
    """Start a run on a frame, or take it up again; `options.data` is not looked at.

    A frame that is no stream is put in the order of time by Spark and cleaned into a data set in `OUT/work`; replicas
    and `--from` are as for files. A streaming frame is spooled as its rows come, each exactly once; it ends at
    `options.until`, or, with `only_available`, with what is there at the start. Its rows must be in the order of time
    from one step of Spark to the next, but for `options.disorder` seconds.
    """
    events = _events_of(frame)
    options = replace(options, data=FRAME)
    source = partial(_streaming, events, only_available) if frame.isStreaming else partial(_stored, events)
    return LinearRoadRun(options, spark=frame.sparkSession, source=source)


def _events_of(frame: DataFrame) -> DataFrame:
    """The columns of an event under our names. Text becomes numbers, or nothing, which is then set aside."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType

    names = {ALIASES.get(name.lower(), name.lower()): name for name in frame.columns}
    if missing := [name for name in EVENT_SCHEMA.names if name not in names]:
        raise DataError(
            f"the DataFrame has no column {', '.join(missing)}; it has: {', '.join(frame.columns)}. Expected: "
            f"{', '.join(EVENT_SCHEMA.names)}"
        )
    columns = []
    for name in EVENT_SCHEMA.names:
        column = f.col(f"`{names[name]}`")
        is_text = isinstance(frame.schema[names[name]].dataType, StringType)
        columns.append((column.try_cast("bigint") if is_text else column).alias(name))
    return frame.select(*columns)


def _stored(events: DataFrame, options: RunOptions, work: Path) -> Input:
    staged = work / "frame.parquet"
    if not (work / "data").exists():
        try:
            # In the order of all columns, so that of two reports of a vehicle in a second always the same one stays.
            events.orderBy("time", *EVENT_SCHEMA.names).write.mode("overwrite").parquet(str(staged.absolute()))
        except Exception as trouble:
            raise as_run_error(trouble, work) from None
    stored = StoredInput(staged, **input_place(options, work))
    shutil.rmtree(staged, ignore_errors=True)
    return stored


def _streaming(events: DataFrame, only_available: bool, options: RunOptions, work: Path) -> Input:
    return FrameInput(events, only_available, **input_place(options, work))


class FrameInput(SpooledInput):
    """The rows of a streaming frame, which Spark gives again if they are not known to be spooled.

    Spark numbers what it gives. With the number of what was taken last goes the state of the spooler, for the rows of
    the second that is not complete yet; so after a crash each row is still taken exactly once.
    """

    def __init__(self, events: DataFrame, only_available: bool, *, work: Path, **where: Any) -> None:
        super().__init__(FRAME, work=work, **where)
        self.notes = []
        self._events, self._only_available = events, only_available
        self._checkpoint = (work / "frame").absolute()
        self._state = self.spool.folder / "state"
        self._lock = threading.Lock()
        self._taken = -1
        self._spooling: Spooler | None = None

    def _receive(self) -> None:
        state = None
        if self._state.exists():
            number, _, state = self._state.read_bytes().partition(b"\n")
            self._taken = int(number)
        spooler = self._spooling = self._spooler(state)
        writer = self._events.writeStream.foreachBatch(self._take).option("checkpointLocation", str(self._checkpoint))
        if self._only_available:
            writer = writer.trigger(availableNow=True)
        try:
            query = writer.start()
            try:
                while not query.awaitTermination(CHECK_SECONDS):  # type: ignore[arg-type]
                    if self._stopped.is_set() or spooler.done:
                        return
                    with self._lock:
                        before = self.spool.until
                        spooler.check_silence()
                        if self.spool.until > before:
                            self._keep()
                        self.spool.trim()
            finally:
                query.stop()
        except Exception as trouble:
            raise as_run_error(trouble, self._checkpoint) from None
        spooler.finish()

    def _take(self, rows: DataFrame, number: int) -> None:
        """Spool some rows, unless that was done before."""
        assert self._spooling is not None
        if number <= self._taken:
            return
        events: pa.Table = rows.toArrow()
        lines = b"".join(as_lines(part) for part in events.sort_by([(n, "ascending") for n in _ORDER]).to_batches())
        with self._lock:
            self._spooling.feed(lines)
            self._taken = number
            self._keep()
        self._wait_for_room()

    def _keep(self) -> None:
        assert self._spooling is not None
        with writing(self._state):
            put_in_place(self._state, b"%d\n" % self._taken + self._spooling.state())


_ORDER = ("time", *(name for name in EVENT_SCHEMA.names if name != "time"))
