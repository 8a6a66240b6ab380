"""What is live: each channel that a page opens is a stream of frames, made here as an asynchronous iterator.

A page has one socket and may open many channels on it: `{"open": "tuples", "id": 3, …}`, `{"close": 3}`. A channel goes
only as fast as its page takes its frames; a page that takes none for long is let go, and no run waits for any.
To add a channel, write a function and name it in `CHANNELS`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from arterial.engine.attach.attachment import Answer, Attachment
from arterial.engine.run.figures.status import Status
from arterial.engine.run.states import PAUSED
from arterial.engine.steering import control
from arterial.engine.steering.arcs import check_predicate, find_arc, read_arcs
from arterial.engine.steering.taps import close_tap, open_tap, renew_tap, take_tapped
from arterial.errors import RunError
from arterial.figures.steering import Tap
from arterial.network.train import BEGIN
from arterial.sql.attach import Options, attach_to
from arterial.studio.frames import pack, pack_json, pack_rows
from arterial.studio.subject import Run

Asked = Mapping[str, Any]
Channel = Callable[[Run, Asked], AsyncIterator[bytes]]
Answers = asyncio.Queue[Answer | BaseException | None]

FIGURES_SECONDS = 0.5
STILL_SECONDS = 2.0
"""A page hears as often at least, so that it knows a run that does nothing."""
TAP_SECONDS = 0.15
BREAK_SECONDS = 0.01
RENEW_SECONDS = 1.0
MOST_TUPLES = 500
"""So many tuples of a step and slot at most, for an arc monitor."""
PIECES_AHEAD = 2
"""So many pieces of an answer at most wait for a page that is slow."""
STEPS_A_FRAME = 200
FIRST_STEPS = 2000
"""So many steps of the past a page is given as it opens; it asks for older ones."""


async def figures(run: Run, asked: Asked) -> AsyncIterator[bytes]:
    """The status of the run whenever it is another, with the steps that came since; and that nothing happens."""
    seen, before, sent = -1, "", 0.0
    while True:
        look = await asyncio.to_thread(run.look)
        if seen < 0:
            seen = max(0, look.steps - FIRST_STEPS)
        steps, now_seen = run.steps_since(seen)
        if steps or look.as_json != before or time.monotonic() - sent >= STILL_SECONDS:
            for begin in range(0, max(1, len(steps)), STEPS_A_FRAME):
                some = ",".join(step.as_json for step in steps[begin : begin + STEPS_A_FRAME])
                yield pack_json(f'{{"status":{look.as_json},"steps":[{some}],"now":{time.time()},"columns":{{}}}}')
            before, seen, sent = look.as_json, now_seen, time.monotonic()
        # All pages at the same moments: then one look at the files, and one text, is for all of them.
        await asyncio.sleep(FIGURES_SECONDS - time.monotonic() % FIGURES_SECONDS)


async def tuples(run: Run, asked: Asked) -> AsyncIterator[bytes]:
    """The tuples of an arc as they pass: what `arterial tap` shows."""
    arc = find_arc(_needed(asked, "arc"), read_arcs(run.folder))
    where = _given(asked, "where")
    check_predicate(arc, where)
    own = await asyncio.to_thread(open_tap, run.folder, Tap(arc.name, where, MOST_TUPLES))
    seen: set[str] = set()
    renewed = time.monotonic()
    try:
        yield pack({"arc": arc.name, "schema": dict(arc.columns), "time": arc.time})
        while True:
            active = (await asyncio.to_thread(run.look)).status.is_active
            for rows in await asyncio.to_thread(take_tapped, own, seen):
                yield pack_rows({}, rows)
            if not active:
                return
            if time.monotonic() - renewed >= RENEW_SECONDS:
                renewed = time.monotonic()
                await asyncio.to_thread(renew_tap, own)
            await asyncio.sleep(TAP_SECONDS)
    finally:
        close_tap(own)


async def rows(run: Run, asked: Asked) -> AsyncIterator[bytes]:
    """The answer of an ad-hoc query, history first, then live: what `arterial attach` prints.

    With `newest`, a column, only the newest row of each of its values in a piece of the answer: where things are. What
    the retention has removed meanwhile is then left out.
    """
    place = await asyncio.to_thread(run.place, _needed(asked, "place"))
    query, newest = _given(asked, "query"), _given(asked, "newest")
    bounds = _given(asked, "since"), _given(asked, "up_to"), _given(asked, "object")
    options = Options(*bounds, skip_lost=newest is not None)
    attachment = await asyncio.to_thread(attach_to, run.checkpoint, place, query, options)
    answers: Answers = asyncio.Queue()
    room = threading.Semaphore(PIECES_AHEAD)
    # A thread of its own: an answer may last as long as the run.
    asked_for = (attachment, answers, room, asyncio.get_running_loop())
    threading.Thread(target=_answer, args=asked_for, daemon=True).start()
    try:
        outputs = {
            name: {column.name: str(column.type) for column in stream.schema}
            for name, stream in attachment.outputs.items()
        }
        history = max((point.look().through for point in attachment.points.values()), default=BEGIN)
        yield pack({"outputs": outputs, "history": str(history)})
        while (answer := await answers.get()) is not None:
            room.release()
            if isinstance(answer, BaseException):
                raise answer
            for name, found in answer.rows.items():
                frame = found if newest is None else _newest(found, newest, attachment.outputs[name].time)
                if frame.height:
                    for begin in range(0, frame.height, 20_000):
                        yield pack_rows({"output": name}, frame.slice(begin, 20_000))
            yield pack({"through": str(answer.through), "token": answer.token})
        yield pack({"ended": attachment.ended})
    finally:
        # Nothing is awaited: a studio that stops would cancel that. The thread may wait for room; it ends by itself.
        attachment.detach()
        room.release()


def _newest(rows: pl.DataFrame, column: str, time: str) -> pl.DataFrame:
    if column not in rows.columns:
        raise RunError(f"there is no column {column!r}; there are: {', '.join(rows.columns)}")
    return rows.sort(time, maintain_order=True).unique(column, keep="last", maintain_order=True)


async def breakpoint(run: Run, asked: Asked) -> AsyncIterator[bytes]:
    """Let the run go on train by train until a tuple passes an arc, and leave it paused there.

    If nobody waits for that any more, the run goes on by itself.
    """
    arc = find_arc(_needed(asked, "arc"), read_arcs(run.folder))
    where = _given(asked, "where")
    check_predicate(arc, where)
    own = await asyncio.to_thread(open_tap, run.folder, Tap(arc.name, where, MOST_TUPLES))
    seen: set[str] = set()
    hit = False
    reins = _Reins(run.folder)
    try:
        await asyncio.to_thread(reins.give, control.pause)
        yield pack({"waits": True})
        status = await _when(run, own, lambda now: now.state == PAUSED)  # the train at hand may be the one
        while True:
            for rows in await asyncio.to_thread(take_tapped, own, seen):
                if rows.height:
                    hit = True
                    yield pack_rows({"hit": status.step}, rows)
            if hit or not status.is_active:
                return
            step = status.step
            await asyncio.to_thread(reins.give, control.step)
            status = await _when(run, own, partial(_is_behind, step))
    finally:
        close_tap(own)
        reins.let_go(resume=not hit)


class _Reins:
    """The commands of a breakpoint. A thread that gives one outlives its channel: what comes too late is not given."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock, self._over = folder, threading.Lock(), False

    def give(self, command: Callable[[Path], object]) -> None:
        with self._lock:
            if not self._over:
                command(self._folder)

    def let_go(self, *, resume: bool) -> None:
        with self._lock:
            self._over = True
            if resume:
                control.resume(self._folder)


def _is_behind(step: int, status: Status) -> bool:
    return status.step > step


async def _when(run: Run, own: Path, true: Callable[[Status], bool]) -> Status:
    """The status as soon as something is true of it, or the run is over; the tap is kept fresh meanwhile."""
    renewed = 0.0
    while True:
        if time.monotonic() - renewed >= RENEW_SECONDS:
            renewed = time.monotonic()
            await asyncio.to_thread(renew_tap, own)
        status = await asyncio.to_thread(run.status)
        if true(status) or not status.is_active:
            return status
        await asyncio.sleep(BREAK_SECONDS)


def _answer(
    attachment: Attachment, answers: Answers, room: threading.Semaphore, loop: asyncio.AbstractEventLoop
) -> None:
    """Compute the answer in a thread; it waits where the page is slow."""
    last: BaseException | None = None
    try:
        with attachment:
            for answer in attachment:
                room.acquire()
                if not _put(answers, answer, loop):
                    return
    except Exception as mistake:
        last = mistake
    _put(answers, last, loop)


def _put(answers: Answers, answer: Answer | BaseException | None, loop: asyncio.AbstractEventLoop) -> bool:
    """Put something into a queue of another thread's loop; whether that loop is still there."""
    try:
        loop.call_soon_threadsafe(answers.put_nowait, answer)
    except RuntimeError:  # the studio was ended meanwhile
        return False
    return True


CHANNELS: dict[str, Channel] = {"figures": figures, "tuples": tuples, "rows": rows, "breakpoint": breakpoint}


def _needed(asked: Asked, name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str) or not value:
        raise RunError(f"expected a text as {name!r}, got {value!r}")
    return value


def _given(asked: Asked, name: str) -> str | None:
    return _needed(asked, name) if asked.get(name) not in (None, "") else None
