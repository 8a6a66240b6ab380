"""Cleaning a stream of lines: good events in time order, every other line set aside with its number, reason and text.

The rules stand in docs/linear-road/data.md. A `Cleaner` is fed bytes as they come (from a file, a socket, a pipe);
where the pieces are cut makes no difference to what comes out, and its state is small enough to be stored after each.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from arterial.connectors.rejects import Reject
from arterial.linearroad.formats.events import EVENT_SCHEMA
from arterial.linearroad.formats.line_reader import (
    MAX_LINE_BYTES,
    TRUNCATED,
    WRONG_FIELD_COUNT,
    Recent,
    describe_fault,
    empty_columns,
    no_recent,
    read_lines,
    without_old,
)

# What a cleaner knows of the lines so far, beside the latest reports.
COUNTERS = ("lines", "blank", "highest_time", "doubtful_time")


@dataclass(frozen=True)
class Cleaned:
    """What came of a piece of input: events in time order with the line that each stood in, and the lines set aside."""

    events: pa.Table
    lines: NDArray[np.int64]
    rejects: list[Reject]


class Cleaner:
    """Cleans one stream of lines.

    `disorder` is by how many seconds a line may be older than an earlier one; such lines are put in order.

    >>> cleaner = Cleaner()
    >>> cleaned = cleaner.feed(b"0,30,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1\\n0,31,8,55,0,1,0,-2,105700,-1,-1,-1,")
    >>> cleaned.events["vid"].to_pylist(), cleaner.complete_until
    ([7], 30)
    >>> [(reject.line, reject.reason) for reject in cleaner.feed(b"-1,-1,-1\\n").rejects]
    [(2, 'seg is not in 0..99')]
    """

    def __init__(self, *, disorder: int = 0, file: str = "") -> None:
        self.disorder, self.file = disorder, file
        self.lines = 0
        self.blank = 0
        self.highest_time = -1
        self.doubtful_time = -1
        self._recent = no_recent()
        self._cut = b""
        self._held = EVENT_SCHEMA.empty_table()
        self._held_lines = np.zeros(0, np.int64)

    @property
    def complete_until(self) -> int:
        """Every event before this second has been returned; later ones may still come."""
        return max(0, self.highest_time - self.disorder)

    @property
    def latest_held(self) -> int:
        """The last second of which an event is held back, to be put in order; -1 if none is."""
        return int(self._held["time"].to_numpy().max()) if self._held.num_rows else -1

    def feed(self, data: bytes) -> Cleaned:
        """Clean the lines that `data` completes; an unfinished last line waits for the next piece."""
        end = data.rfind(b"\n") + 1
        if end == 0:
            # Past the longest permitted line nothing more of it needs to be kept.
            self._cut = (self._cut + data[: MAX_LINE_BYTES + 1])[: MAX_LINE_BYTES + 1]
            return self._in_order(EVENT_SCHEMA.empty_table(), np.zeros(0, np.int64), [])
        whole = self._cut + data[:end] if self._cut else data[:end] if end < len(data) else data
        self._cut = data[end : end + MAX_LINE_BYTES + 1]
        return self._in_order(*self._read(whole))

    def advance(self, until: int) -> Cleaned:
        """Wait no longer for lines before the second `until`: give what was held of them, set aside what comes late."""
        self.highest_time = max(self.highest_time, until + self.disorder)
        return self._in_order(EVENT_SCHEMA.empty_table(), np.zeros(0, np.int64), [])

    @property
    def is_cut(self) -> bool:
        """Whether a line has begun that has no end yet."""
        return bool(self._cut)

    def finish(self, *, take_cut: bool = True) -> Cleaned:
        """Clean a last line without an end, and return everything that was still held.

        Without `take_cut` such a line is set aside even if it fits: what was to follow may have been lost.
        """
        if not self._cut:
            return self._in_order(EVENT_SCHEMA.empty_table(), np.zeros(0, np.int64), [], last=True)
        if not take_cut:
            self.lines += 1
            bad = [(self.lines, TRUNCATED, _text(self._cut, 0, len(self._cut)))]
            self._cut = b""
            return self._in_order(EVENT_SCHEMA.empty_table(), np.zeros(0, np.int64), bad, last=True)
        events, lines, bad = self._read(self._cut + b"\n")
        self._cut = b""
        bad = [(line, TRUNCATED if fault == WRONG_FIELD_COUNT else fault, text) for line, fault, text in bad]
        return self._in_order(events, lines, bad, last=True)

    def state(self) -> bytes:
        """Everything that the next piece depends on; give it to `restored`."""
        vids, times, _ = without_old(*self._recent, self.highest_time - self.disorder)
        used = times >= 0
        numbers = {name: getattr(self, name) for name in ("disorder", "file", *COUNTERS)}
        held = pa.BufferOutputStream()
        with pa.ipc.new_stream(held, EVENT_SCHEMA) as writer:
            writer.write_table(self._held)
        store = io.BytesIO()
        np.savez(
            store,
            numbers=np.frombuffer(json.dumps(numbers).encode(), np.uint8),
            cut=np.frombuffer(self._cut, np.uint8),
            vids=vids[used],
            times=times[used],
            held=np.frombuffer(held.getvalue(), np.uint8),
            held_lines=self._held_lines,
        )
        return store.getvalue()

    @classmethod
    def restored(cls, state: bytes) -> Cleaner:
        """The cleaner whose `state` was taken."""
        with np.load(io.BytesIO(state), allow_pickle=False) as stored:
            numbers = json.loads(stored["numbers"].tobytes())
            cleaner = cls(disorder=numbers["disorder"], file=numbers["file"])
            for name in COUNTERS:
                setattr(cleaner, name, numbers[name])
            cleaner._cut = stored["cut"].tobytes()
            vids, times, _ = without_old(stored["vids"], stored["times"], 0)
            cleaner._recent = Recent(vids, times)
            cleaner._held = pa.ipc.open_stream(stored["held"].tobytes()).read_all()
            cleaner._held_lines = stored["held_lines"]
        return cleaner

    def _read(self, whole: bytes) -> tuple[pa.Table, NDArray[np.int64], list[tuple[int, int, str]]]:
        room = whole.count(b"\n")
        columns = empty_columns(room)
        lines = np.empty(room, np.int64)
        bad = np.empty((room, 4), np.int64)
        good, faulty, blank, read, highest, doubtful, vids, times = read_lines(
            np.frombuffer(whole, np.uint8),
            self.lines + 1,
            self.highest_time,
            self.doubtful_time,
            self.disorder,
            *self._recent,
            columns,
            lines,
            bad,
        )
        self.lines += read
        self.blank += blank
        self.highest_time, self.doubtful_time = highest, doubtful
        self._recent = Recent(vids, times)
        events = pa.Table.from_arrays([pa.array(column[:good]) for column in columns], schema=EVENT_SCHEMA)
        return events, lines[:good], [(line, fault, _text(whole, a, b)) for line, fault, a, b in bad[:faulty].tolist()]

    def _in_order(
        self, events: pa.Table, lines: NDArray[np.int64], bad: list[tuple[int, int, str]], *, last: bool = False
    ) -> Cleaned:
        if self.disorder and (events.num_rows or self._held.num_rows):
            events = pa.concat_tables([self._held, events])
            lines = np.concatenate([self._held_lines, lines])
            times = events["time"].to_numpy()
            order = np.argsort(times, kind="stable")
            ready = len(order) if last else int(np.searchsorted(times[order], self.complete_until, side="right"))
            # Held lines stay in the order in which they came, so that equal times keep it.
            waiting = np.sort(order[ready:])
            self._held, self._held_lines = events.take(waiting), lines[waiting]
            events, lines = events.take(order[:ready]), lines[order[:ready]]
        rejects = [Reject(line, describe_fault(fault), text, self.file) for line, fault, text in bad]
        return Cleaned(events, lines, rejects)


def _text(data: bytes, begin: int, end: int) -> str:
    return data[begin:end].decode("utf-8", "backslashreplace")


def no_events() -> Cleaned:
    """A piece of input from which nothing came."""
    return Cleaned(EVENT_SCHEMA.empty_table(), np.zeros(0, np.int64), [])


def concatenated(pieces: list[Cleaned]) -> Cleaned:
    """Several pieces as one."""
    if not pieces:
        return no_events()
    return Cleaned(
        pa.concat_tables([piece.events for piece in pieces]),
        np.concatenate([piece.lines for piece in pieces]),
        [reject for piece in pieces for reject in piece.rejects],
    )
