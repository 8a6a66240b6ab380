"""Takes lines as they come, cleans them, and spools each second as soon as it is complete.

A second is complete when a later one has begun, when the input has ended, or, if the run has a clock, when its time is
over and the sender has been silent for as long as a second takes and `GRACE_SECONDS` more. Lines that come for it after
that are set aside, so what was released once is what it stays.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from arterial.arrays import Array
from arterial.connectors.pace import Pace
from arterial.connectors.rejects import SEVERAL_FILES, Reject, Rejects
from arterial.errors import DataError
from arterial.linearroad.application.live.spool import Account, Spool
from arterial.linearroad.data.cleaning import Cleaned, Cleaner, concatenated
from arterial.linearroad.data.event_files import reading

GRACE_SECONDS = 0.5
# Of a sender who sends nothing but faulty lines no more than this is kept in memory.
MOST_WAITING_REJECTS = 10_000
_STORED_REJECTS = pa.schema({"file": pa.string(), "line": pa.int64(), "reason": pa.string(), "text": pa.string()})


class Spooler:
    """Cleans one stream of lines into a spool.

    If the spool is not empty, a run continues, and the sender sends again: from wherever it likes, as long as
    that is not after the spool's end. Lines of seconds that are in the spool are skipped and counted. From a sender who
    does not send again the spooler's `state` must have been kept.
    """

    def __init__(
        self,
        spool: Spool,
        rejects: Path,
        pace: Pace,
        *,
        cleaner: Cleaner,
        until: int | None = None,
        state: bytes | None = None,
        start_file: Path | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.spool, self.pace, self.until, self.cleaner = spool, pace, until, cleaner
        self._now, self._start_file = now, start_file
        self._waiting: list[Cleaned] = []
        self._catching_up = spool.until > 0
        self._heard = now()
        if state is not None:
            self._restore(state)
        self.rejects = Rejects(rejects, SEVERAL_FILES, resume_at=spool.account.rejects_bytes)
        spool.account.rejects_bytes = self.rejects.size

    @property
    def done(self) -> bool:
        """Whether no more is wanted."""
        return self.spool.ended

    def feed(self, data: bytes) -> None:
        """Take what was received."""
        self._heard = self._now()
        if not self.done:
            self._take(self.cleaner.feed(data))

    def check_silence(self) -> None:
        """Release the latest second if its time is over and the sender is silent."""
        latest = self._latest
        if latest < self.spool.until or self.done or self.pace.runs_freely or not self.pace.started:
            return
        now = self._now()
        over = self.pace.due(latest + self.cleaner.disorder + 1) + GRACE_SECONDS
        if now >= over and now >= self._heard + 1 / self.pace.speed + GRACE_SECONDS:
            self._take(self.cleaner.advance(latest + 1))

    def complete(self, until: int) -> None:
        """Everything before this second has come."""
        if not self.done:
            self._take(self.cleaner.advance(until))

    def finish(self) -> None:
        """The input has ended: release everything."""
        if not self.done:
            self._take(self.cleaner.finish(take_cut=False), last=True)
        if not self.done:
            self.spool.end()

    def state(self) -> bytes:
        """Everything that what comes next depends on, for input that will not be sent again."""
        waiting = concatenated(self._waiting)
        store = io.BytesIO()
        np.savez(
            store,
            until=self.spool.until,
            catching_up=self._catching_up,
            account=np.frombuffer(self.spool.account.to_json(), np.uint8),
            cleaner=np.frombuffer(self.cleaner.state(), np.uint8),
            events=_packed(waiting.events),
            lines=waiting.lines,
            rejects=_packed(pa.Table.from_pylist([one._asdict() for one in waiting.rejects], _STORED_REJECTS)),
        )
        return store.getvalue()

    def _restore(self, state: bytes) -> None:
        """Go on from a state; if the spool has come further meanwhile, what it has is not taken again."""
        with np.load(io.BytesIO(state), allow_pickle=False) as stored:
            self.cleaner = Cleaner.restored(stored["cleaner"].tobytes())
            is_ahead = self.spool.until > int(stored["until"])
            self._catching_up = is_ahead or bool(stored["catching_up"])
            if not is_ahead:
                self.spool.account = Account.of_json(stored["account"].tobytes())
            events = _unpacked(stored["events"])
            rejects = [Reject(**row) for row in _unpacked(stored["rejects"]).to_pylist()]
            self._waiting = [self._without_known(Cleaned(events, stored["lines"], rejects))]

    @property
    def _latest(self) -> int:
        """The last second of which there is an event that is not spooled; -1 if there is none."""
        seen = [int(part.events["time"][-1].as_py()) for part in self._waiting if part.events.num_rows]
        return max([self.cleaner.latest_held, *seen])

    def _take(self, cleaned: Cleaned, *, last: bool = False) -> None:
        cleaned = self._without_known(cleaned)
        if cleaned.events.num_rows or cleaned.rejects:
            self._waiting.append(cleaned)
            self._start_pace(cleaned.events)
        until = max(self._latest + 1, self.spool.until) if last else self.cleaner.complete_until
        if self.until is not None:
            until = min(until, self.until)
        if until > self.spool.until or last:
            self._release(until)
        elif sum(len(part.rejects) for part in self._waiting) > MOST_WAITING_REJECTS:
            for part in self._waiting:
                self._set_aside(part.rejects)
            self._waiting = [Cleaned(part.events, part.lines, []) for part in self._waiting]
        if self.until is not None and self.spool.until >= self.until and not self.done:
            self.spool.end()

    def _without_known(self, cleaned: Cleaned) -> Cleaned:
        """What is not in the spool yet. Lines set aside again before the first new event were set aside before."""
        if not self._catching_up:
            return cleaned
        known = int(np.searchsorted(cleaned.events["time"].to_numpy(), self.spool.until))
        self.spool.account.skipped += known
        rejects = cleaned.rejects
        if known == cleaned.events.num_rows:
            self.spool.account.skipped += len(rejects)
            return Cleaned(cleaned.events.slice(known), cleaned.lines[known:], [])
        fresh = [one for one in rejects if one.line > cleaned.lines[known]]
        self.spool.account.skipped += len(rejects) - len(fresh)
        self._catching_up = False
        return Cleaned(cleaned.events.slice(known), cleaned.lines[known:], fresh)

    def _start_pace(self, events: pa.Table) -> None:
        """The first line of the window is due when it comes, unless the sender says when it began."""
        if self.pace.runs_freely or self.pace.started:
            return
        if self._start_file is not None:
            self.pace.start(_began(self._start_file) + self.pace.begin / self.pace.speed)
            return
        times = events["time"].to_numpy()
        if (place := int(np.searchsorted(times, self.pace.begin))) < len(times):
            self.pace.start(self._heard - (int(times[place]) - self.pace.begin) / self.pace.speed)

    def _release(self, until: int) -> None:
        """Spool the seconds before `until`, and the lines that were set aside among theirs."""
        waiting = concatenated(self._waiting)
        ready = int(np.searchsorted(waiting.events["time"].to_numpy(), until))
        events, left = waiting.events.slice(0, ready), waiting.events.slice(ready)
        first_left = waiting.lines[ready] if left.num_rows else np.inf
        later = [one for one in waiting.rejects if one.line >= first_left]
        self._set_aside([one for one in waiting.rejects if one.line < first_left])
        if until > self.spool.until:
            self.spool.write(events.combine_chunks(), until)
        # A copy, so that the few events that are left do not keep all in memory.
        left = left.take(np.arange(left.num_rows)) if left.num_rows else left
        self._waiting = [Cleaned(left, waiting.lines[ready:], later)] if left.num_rows or later else []

    def _set_aside(self, rejects: list[Reject]) -> None:
        self.rejects.add(rejects)
        self.spool.account.rejects_bytes = self.rejects.size
        self.spool.account.rejected.update(one.reason for one in rejects)


def _began(path: Path) -> float:
    """When second 0 was due, as the sender wrote it before its first line."""
    with reading(path):
        text = path.read_text().strip()
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{path}: expected the sender's start in seconds since 1970, got {text[:40]!r}") from None


def _packed(table: pa.Table) -> Array:
    packed = pa.BufferOutputStream()
    with pa.ipc.new_stream(packed, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(packed.getvalue(), np.uint8)


def _unpacked(packed: Array) -> pa.Table:
    return pa.ipc.open_stream(packed.tobytes()).read_all()
