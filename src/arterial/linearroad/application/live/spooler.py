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
import pyarrow.compute as pc
import pyarrow.csv

from arterial.arrays import Array
from arterial.linearroad.application.clock import RunClock
from arterial.linearroad.application.live.spool import Account, Spool
from arterial.linearroad.data.cleaning import NO_REJECTS, REJECT_SCHEMA, Cleaned, Cleaner, concatenated
from arterial.linearroad.data.event_files import writing
from arterial.storage.appended import append_to, cut_back

GRACE_SECONDS = 0.5
# Of a sender who sends nothing but faulty lines no more than this is kept in memory.
MOST_WAITING_REJECTS = 10_000


class Spooler:
    """Cleans one stream of lines into a spool.

    If the spool is not empty, a run is taken up again, and the sender sends again: from wherever it likes, as long as
    that is not after the spool's end. Lines of seconds that are in the spool are skipped and counted. From a sender who
    does not send again the spooler's `state` must have been kept.
    """

    def __init__(
        self,
        spool: Spool,
        rejects: Path,
        clock: RunClock,
        *,
        cleaner: Cleaner,
        until: int | None = None,
        state: bytes | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.spool, self.rejects, self.clock, self.until, self.cleaner = spool, rejects, clock, until, cleaner
        self._now = now
        self._waiting: list[Cleaned] = []
        self._catching_up = spool.until > 0
        self._heard = now()
        if state is not None:
            self._restore(state)
        spool.account.rejects_bytes = _cut_rejects(rejects, spool.account.rejects_bytes)

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
        if latest < self.spool.until or self.done or self.clock.runs_freely or not self.clock.path.exists():
            return
        pace, now = self.clock.pace, self._now()
        over = pace.due(latest + self.cleaner.disorder + 1) + GRACE_SECONDS
        if now >= over and now >= self._heard + 1 / pace.speed + GRACE_SECONDS:
            self._take(self.cleaner.advance(latest + 1))

    def finish(self) -> None:
        """The input has ended: release everything."""
        if not self.done:
            self._take(self.cleaner.finish(), last=True)
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
            rejects=_packed(waiting.rejects),
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
            events, rejects = _unpacked(stored["events"]), _unpacked(stored["rejects"])
            self._waiting = [self._without_known(Cleaned(events, stored["lines"], rejects))]

    @property
    def _latest(self) -> int:
        """The last second of which there is an event that is not spooled; -1 if there is none."""
        seen = [int(part.events["time"][-1].as_py()) for part in self._waiting if part.events.num_rows]
        return max([self.cleaner.latest_held, *seen])

    def _take(self, cleaned: Cleaned, *, last: bool = False) -> None:
        cleaned = self._without_known(cleaned)
        if cleaned.events.num_rows or cleaned.rejects.num_rows:
            self._waiting.append(cleaned)
            self._start_clock(cleaned.events)
        until = max(self._latest + 1, self.spool.until) if last else self.cleaner.complete_until
        if self.until is not None:
            until = min(until, self.until)
        if until > self.spool.until or last:
            self._release(until)
        elif sum(part.rejects.num_rows for part in self._waiting) > MOST_WAITING_REJECTS:
            self._set_aside(pa.concat_tables([part.rejects for part in self._waiting]))
            self._waiting = [Cleaned(part.events, part.lines, NO_REJECTS) for part in self._waiting]
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
            self.spool.account.skipped += rejects.num_rows
            return Cleaned(cleaned.events.slice(known), cleaned.lines[known:], NO_REJECTS)
        fresh = rejects["line"].to_numpy() > cleaned.lines[known]
        self.spool.account.skipped += int((~fresh).sum())
        self._catching_up = False
        return Cleaned(cleaned.events.slice(known), cleaned.lines[known:], rejects.filter(pa.array(fresh)))

    def _start_clock(self, events: pa.Table) -> None:
        """The first line of the window is due when it comes."""
        if self.clock.runs_freely or self.clock.path.exists():
            return
        times = events["time"].to_numpy()
        if (place := int(np.searchsorted(times, self.clock.begin))) < len(times):
            self.clock.start(self._heard - (int(times[place]) - self.clock.begin) / self.clock.speed)

    def _release(self, until: int) -> None:
        """Spool the seconds before `until`, and the lines that were set aside among theirs."""
        waiting = concatenated(self._waiting)
        ready = int(np.searchsorted(waiting.events["time"].to_numpy(), until))
        events, left = waiting.events.slice(0, ready), waiting.events.slice(ready)
        rejects, later = waiting.rejects, NO_REJECTS
        if left.num_rows:
            before = pa.array(rejects["line"].to_numpy() < waiting.lines[ready])
            rejects, later = rejects.filter(before), rejects.filter(pc.invert(before))
        self._set_aside(rejects)
        if until > self.spool.until:
            self.spool.write(events.combine_chunks(), until)
        # A copy, so that the few events that are left do not keep all in memory.
        left = left.take(np.arange(left.num_rows)) if left.num_rows else left
        self._waiting = [Cleaned(left, waiting.lines[ready:], later)] if left.num_rows or later.num_rows else []

    def _set_aside(self, rejects: pa.Table) -> None:
        if not rejects.num_rows:
            return
        lines = io.BytesIO()
        pa.csv.write_csv(rejects, lines, pa.csv.WriteOptions(include_header=False))
        lines.seek(0)
        with writing(self.rejects):
            append_to(self.rejects, lines)
        account = self.spool.account
        account.rejects_bytes += len(lines.getvalue())
        account.rejected.update(rejects["reason"].to_pylist())


def _packed(table: pa.Table) -> Array:
    packed = pa.BufferOutputStream()
    with pa.ipc.new_stream(packed, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(packed.getvalue(), np.uint8)


def _unpacked(packed: Array) -> pa.Table:
    return pa.ipc.open_stream(packed.tobytes()).read_all()


def _cut_rejects(path: Path, size: int) -> int:
    """Begin the file of lines set aside, or cut it back to what the spool says of it; how long it is without header."""
    header = (",".join(REJECT_SCHEMA.names) + "\n").encode()
    with writing(path):
        if not size or not path.exists():
            path.write_bytes(header)
            return 0
        size = min(size, path.stat().st_size - len(header))
        cut_back(path, len(header) + size)
    return size
