"""Runs a query over files that were read, in this process or on Spark, and reports the changes of its answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from arterial.boxes.parts.order import instants
from arterial.connectors.files.source import FileSource
from arterial.connectors.sinks.files.parts import FileSink
from arterial.engine.host.inprocess import InProcess
from arterial.errors import MachineError, RunError
from arterial.network.box import SIGN, Stream
from arterial.network.network import NetworkValue
from arterial.network.schema import Type
from arterial.network.train import BEGIN, END, Train
from arterial.sql.catalog import StreamEntry
from arterial.sql.draw import ANSWER, loaded_column
from arterial.sql.inputs.reading import MICROSECONDS, Input, as_fractions
from arterial.sql.inputs.standard_input import MoreRows, merge_steps
from arterial.storage.damage import read_parquet
from arterial.storage.place import put_if_absent

TRAIN_SIZE = 20_000
Told = Callable[["Answer", pl.DataFrame], None]
"""What is called after each train with the answer, and the changes that the train made."""


@dataclass
class Answer:
    """How far a query is: how many rows its answer has, what was reported and read so far."""

    stream: Stream
    size: int = 0
    updates: int = 0
    tuples: int = 0
    through: int = BEGIN

    def take(self, changes: pl.DataFrame) -> None:
        """Let rows come and go."""
        self.updates += changes.height
        self.size += int(changes[SIGN].cast(pl.Int64).sum())


def answer_stream(network: NetworkValue) -> Stream:
    """The stream that leaves by the output of a query."""
    return network.streams[network.arrival(ANSWER)]


def alike(inputs: Mapping[str, Input]) -> dict[str, Input]:
    """The inputs with all times in one unit: if one has fractions of seconds, so have all."""
    if any(one.fractional for one in inputs.values()):
        return {name: as_fractions(one) for name, one in inputs.items()}
    return dict(inputs)


def source_rows(network: NetworkValue, inputs: Mapping[str, Input]) -> dict[str, pl.DataFrame]:
    """What comes at each source of the network; the rows of a table with the first report of all."""
    streams = [one for one in inputs.values() if isinstance(one.entry, StreamEntry) and one.rows.height]
    firsts = [instants(one.rows, one.entry.time)[0] for one in streams if isinstance(one.entry, StreamEntry)]
    first = min(firsts, default=0)
    made = {}
    for box in network.boxes:
        if not box.inputs:
            one = inputs[box.name]
            rows = one.rows
            if not isinstance(one.entry, StreamEntry):
                kind = answer_stream(network).schema[answer_stream(network).time].polars
                rows = rows.with_columns(pl.lit(first, pl.Int64).cast(kind).alias(loaded_column(one.entry.schema)))
            made[box.name] = rows
    return made


def run_here(
    network: NetworkValue,
    inputs: Mapping[str, Input],
    told: Told,
    *,
    train_size: int = TRAIN_SIZE,
    speed: float | None = None,
    more: Mapping[str, MoreRows] | None = None,
) -> Answer:
    """Run a query in this process until its inputs end; `speed` is how many times faster than real time.

    `more` has what is still to come of an input: its rows are taken as they come.

    Time ends with the last report: what would happen later if nothing came, such as silence, is not reported.
    """
    answer = Answer(answer_stream(network))
    rows = source_rows(network, inputs)
    times = {name: _time_column(network, name) for name in network.source_names}
    host = InProcess(network, ordered_sources=list(rows))
    unit = MICROSECONDS if answer.stream.schema[answer.stream.time] is Type.TIMESTAMP else 1
    started = time.monotonic()
    first: int | None = None
    parts: Iterable[tuple[Mapping[str, pl.DataFrame], int | None]] = [(rows, None)]
    if more:
        ((name, comes),) = more.items()
        parts = merge_steps(rows, times, name, comes)
    size = 1 if speed else train_size
    for through, step in (made for part, end in parts for made in _steps(part, times, size, end)):
        first = through if first is None else first
        if speed:
            time.sleep(max(0.0, (through - first) / unit / speed - (time.monotonic() - started)))
        changes = host.step(step)[ANSWER].tuples
        answer.take(changes)
        answer.tuples += sum(len(train) for train in step.values())
        answer.through = through
        told(answer, changes)
    if has_windows(network):  # they close with the end of the input
        ended = {name: Train(frame.clear(), END) for name, frame in rows.items()}
        changes = host.step(ended)[ANSWER].tuples
        answer.take(changes)
        told(answer, changes)
    return answer


def has_windows(network: NetworkValue) -> bool:
    """Whether a query is over windows, whose last ones close when the input ends."""
    return any(box.windowed for box in network.boxes)


def sources_for_spark(network: NetworkValue, inputs: Mapping[str, Input], folder: Path) -> dict[str, FileSource]:
    """The inputs as Parquet files in a folder, for a run on Spark. What an earlier run began with is never replaced."""
    made = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, (name, rows) in enumerate(source_rows(network, inputs).items()):
            path = folder / f"{number:02d}.parquet"
            put_if_absent(path, rows.write_parquet)
            if not _read_kept(path).equals(rows):
                raise RunError(
                    f"{name}: its file has changed since the run of the checkpoint {folder.parent} began. Restore it, "
                    "give a new folder as --checkpoint, or use --force to start over."
                )
            made[name] = FileSource(path)
    except OSError as fault:
        raise MachineError(f"{folder}: cannot be written: {fault.strerror or fault}") from None
    return made


def _read_kept(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except pl.exceptions.PolarsError as broken:
        raise RunError(
            f"{path}: is damaged ({str(broken).splitlines()[0]}). Delete it: it is made again from the file behind it."
        ) from None


def last_instant(network: NetworkValue, inputs: Mapping[str, Input]) -> int:
    """The time of the last tuple of all; of a query over windows, which close at the end, the end of time."""
    if has_windows(network):
        return END
    ends = []
    for name, rows in source_rows(network, inputs).items():
        if rows.height:
            ends.append(instants(rows, _time_column(network, name))[-1])
    return max(ends, default=BEGIN)


class Parts:
    """The changes that a run on Spark has written, up to the last report."""

    def __init__(self, folder: Path, stream: Stream, last: int) -> None:
        self.folder, self.stream, self.last = folder, stream, last
        self._seen: set[str] = set()

    def new(self) -> pl.DataFrame:
        """The changes that were written since one asked last."""
        paths = [path for path in sorted(self.folder.glob("part-*.parquet")) if path.name not in self._seen]
        self._seen |= {path.name for path in paths}
        changes = pl.concat([self.stream.schema.empty(), *(read_parquet(path) for path in paths)])
        changes = changes.filter(pl.col(self.stream.time).cast(pl.Int64) <= self.last)
        return changes.sort(self.stream.time, SIGN, maintain_order=True)


@dataclass(frozen=True)
class WatchedParts(FileSink):
    """Writes the changes of an answer as parts, and calls a function of the driver after each step."""

    after_step: Callable[[], None] = lambda: None

    def commit(self, step: int) -> None:
        """Call it."""
        self.after_step()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "after_step": None}  # it is the driver's own


def as_texts(changes: pl.DataFrame, stream: Stream, fractional: bool) -> pl.DataFrame:
    """Changes as people read them: the time as in the files, + or -, and the columns of the answer."""
    others = [name for name in stream.schema.names if name not in (stream.time, SIGN)]
    known = changes[stream.time].unique()
    times = dict(zip(known.to_list(), (_shown(value, fractional) for value in known.to_list()), strict=True))
    return changes.select(
        pl.col(stream.time).replace_strict(times, return_dtype=pl.String),
        pl.when(pl.col(SIGN) > 0).then(pl.lit("+")).otherwise(pl.lit("-")).alias(SIGN),
        *(_readable(name, stream.schema[name]) for name in others),
    )


def _readable(name: str, kind: Type) -> pl.Expr:
    return pl.col(name).dt.to_string("%Y-%m-%d %H:%M:%S%.f") if kind is Type.TIMESTAMP else pl.col(name)


def _shown(value: int | datetime, fractional: bool) -> str:
    """A time as in the file: a number, or a date and time."""
    if not isinstance(value, datetime):
        return str(value)
    if not fractional:
        return value.isoformat(sep=" ")
    since = value - datetime(1970, 1, 1)
    micros = (since.days * 86_400 + since.seconds) * MICROSECONDS + since.microseconds
    whole, rest = divmod(abs(micros), MICROSECONDS)
    return ("-" if micros < 0 else "") + (f"{whole}.{rest:06d}".rstrip("0") if rest else str(whole))


def _time_column(network: NetworkValue, source: str) -> str:
    return next(stream.time for port, stream in network.streams.items() if port.box == source)


def _steps(
    rows: Mapping[str, pl.DataFrame], times: Mapping[str, str], size: int, through_all: int | None = None
) -> Iterator[tuple[int, dict[str, Train]]]:
    """Trains that end where an instant does, each with about so many tuples of all sources together.

    `through_all` is the time up to which these rows are complete, if that is later than the last of them.
    """
    found = {name: instants(frame, times[name]) for name, frame in rows.items()}
    every, counts = np.unique(np.concatenate([np.empty(0, np.int64), *found.values()]), return_counts=True)
    at, begins = 0, dict.fromkeys(rows, 0)
    sums = np.cumsum(counts)
    while at < len(every):
        done = int(sums[at - 1]) if at else 0
        to = max(at + 1, int(np.searchsorted(sums, done + size, side="right")))
        through = int(every[to - 1])
        if to == len(every) and through_all is not None:
            through = max(through, through_all)
        step = {}
        for name, frame in rows.items():
            end = int(np.searchsorted(found[name], through, side="right"))
            step[name] = Train(frame.slice(begins[name], end - begins[name]), through)
            begins[name] = end
        yield through, step
        at = to
