"""An ad-hoc query at work: reads connection points from another process than the run's, and gives its answer.

It is a run of its own, on the in-process host. What it reads are files that the run wrote anyway, so the run is
not touched.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from arterial.connectors.points.source import PointSource, Reading
from arterial.connectors.source import Part, Progress, Source, Span
from arterial.engine.attach.token import Token, TokenState, digest, keep_token, moved
from arterial.engine.host.inprocess import InProcess
from arterial.engine.run.binding import bind_sources, plan_run
from arterial.engine.run.versions.views import VIEW
from arterial.engine.steering.offsets import plan_step
from arterial.errors import RunError
from arterial.network.box import Stream
from arterial.network.network import NetworkValue
from arterial.network.train import BEGIN, END
from arterial.storage.remote import path_of

FIRST_TRAIN, GROWTH, TRAIN_SIZE = 20_000, 8, 2_000_000
"""About so many tuples of history at a time: few at first, so that the first rows come at once, then more."""
LOOK_SECONDS = 0.05
"""How often it looks for a new step."""
SAVE_SECONDS = 1.0
"""How often the state is kept, at most."""

FINISHED, REACHED, STOPPED = "finished", "reached", "stopped"
"""Why an answer ended: the run came to its end; the time of `up_to` was reached; the run is no longer at work."""


@dataclass(frozen=True)
class Answer:
    """A piece of the answer: the rows of each output since the piece before, complete through a time."""

    rows: Mapping[str, pl.DataFrame]
    through: int
    """The whole answer up to this time was given; `END` once the run is at its end."""
    token: str
    """Goes on from here."""
    lost: tuple[tuple[int, int], ...] = ()
    """Times whose tuples the retention removed before they were read: after the first, through the second."""

    @property
    def frame(self) -> pl.DataFrame:
        """The rows, of a query with one output."""
        if len(self.rows) != 1:
            raise RunError(f"the query has the outputs {', '.join(self.rows)}; take one of `rows`")
        return next(iter(self.rows.values()))


@dataclass
class TokenPlace:
    """What an attachment goes on from, and where it keeps how far it is."""

    token: Token | None = None
    kept: TokenState | None = None
    file: Path | None = None
    written: Callable[[], int] = field(default=lambda: 0)
    """How many bytes of the answer are in an output file."""


class Attachment:
    """An iterable of answers: history first, then live, until it is closed, `up_to` is reached, or the run ends."""

    def __init__(
        self,
        network: NetworkValue,
        sources: Mapping[str, Source],
        *,
        active: Callable[[], bool],
        dropped: Callable[[Iterable[str]], str | None] = lambda names: None,
        since: int | None = None,
        follow: bool = False,
        resume: TokenPlace | None = None,
    ) -> None:
        if not any(not box.outputs for box in network.boxes):
            raise RunError(f"network {network.name!r}: it has no output, so nobody would see its answer; draw one")
        self.network = network
        with tempfile.TemporaryDirectory(prefix="arterial-attach-") as folder:
            self._sources = bind_sources(network, sources, Path(folder))
        self.points = {name: one for name, one in self._sources.items() if isinstance(one, PointSource)}
        self.since = since
        """Where the answer begins; None: with all that is kept."""
        self._active, self._dropped, self._follow = active, dropped, follow
        self._resume = resume or TokenPlace()
        self._host = InProcess(plan_run(network, 1, self._sources))
        self._at = {name: source.begin() for name, source in self._sources.items()}
        self.ended: str | None = None
        """Why the answer is over; None while it goes on."""
        self._detached = self._closed = False
        self._shown = BEGIN
        self._saved = 0.0
        self.token = self._begin()

    @property
    def outputs(self) -> dict[str, Stream]:
        """The streams of the answer, by output."""
        network = self.network
        return {name: network.streams[network.arrival(name)] for name in network.output_names}

    @property
    def reading(self) -> Reading:
        """What reading the connection points has cost so far."""
        readings = [one.reading for one in self.points.values()]
        return Reading(sum(one.bytes for one in readings), sum(one.tuples for one in readings))

    def detach(self) -> None:
        """Let the iteration end after the piece at hand; another thread, or a signal, may say so."""
        self._detached = True

    def close(self) -> None:
        """Detach; all pieces that were given have been dealt with, so the token is kept if there is a file for it."""
        self._detached = True
        if not self._closed:
            self._closed = True
            self._keep(force=True)

    def __enter__(self) -> Attachment:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:  # the last piece may be lost on its way, so the token that was kept before it stays
            self._detached = self._closed = True

    def __iter__(self) -> Iterator[Answer]:
        size = FIRST_TRAIN
        while not self._detached and self.ended is None:
            answer = self._next(size)
            if answer is None:
                self._wait()
                continue
            size = min(TRAIN_SIZE, size * GROWTH)
            if answer.through > self._shown:
                self.token = moved(self.token, answer.through)
                yield answer
                self._keep()  # who asks for the next piece has dealt with this one
        self.close()

    def collect(self) -> dict[str, pl.DataFrame]:
        """All answers put together, of a query that comes to an end."""
        pieces: dict[str, list[pl.DataFrame]] = {name: [stream.schema.empty()] for name, stream in self.outputs.items()}
        for answer in self:
            for name, rows in answer.rows.items():
                pieces[name].append(rows)
        return {name: pl.concat(frames) for name, frames in pieces.items()}

    def _begin(self) -> Token:
        ids = {name: _id(one) for name, one in self.points.items()}
        query = digest(self.network)
        token = self._resume.kept.token if self._resume.kept else self._resume.token
        if token is None:
            lost = max((one.look().lost for one in self.points.values()), default=BEGIN)
            return Token(ids, query, BEGIN, self.since, lost)
        token.check(ids, query)
        if self.since != token.since:
            raise RunError("the token began at another time; leave out --since: the token knows it")
        if token.through == BEGIN:
            return token
        self._shown = token.through
        if token.through == END:
            self.ended = FINISHED
        elif all(one.up_to is not None and token.through >= one.up_to for one in self.points.values()):
            self.ended = REACHED
        if self._resume.kept is not None:
            self._host.restore(self._resume.kept.chunks)
            self._at = {name: _reached(one, token.through) for name, one in self._sources.items()}
        elif all(box.stateless or box.regroups for box in self.network.boxes):
            self._at = {name: _reached(one, token.through) for name, one in self._sources.items()}
        else:
            self._check_history(token)
        return token

    def _check_history(self, token: Token) -> None:
        """A query with state is computed again from its beginning, which must still be there."""
        for name, one in self.points.items():
            began = token.lost if one.since is None else max(token.lost, one.since - 1)
            if one.look().lost > began:
                raise RunError(
                    f"source {name!r}: the history that the query began with is no longer kept, and its state cannot "
                    "be computed again. With --token FILE the state is kept too; without, leave out --resume"
                )

    def _next(self, size: int) -> Answer | None:
        """The answer to the next tuples, if there are any."""
        before = self._at
        after = plan_step(self._planned(), before, size, time.time())
        if after == before:
            return None
        trains = {}
        for name, source in self._sources.items():
            parts = list(source.read_trains(Span(before[name], after[name]), Part(0, 1)))
            trains[name] = [parts]
        rows = self._host.gather(self._host.step_by_slot(trains))
        self._at = after
        through = min((one.through for name, one in after.items() if name in self.points), default=END)
        lost = tuple(one for point in self.points.values() for one in point.reading.lost)
        for point in self.points.values():
            point.reading.lost.clear()
        if through == END:
            self.ended = FINISHED
        elif all(one.up_to is not None and after[name].through >= one.up_to for name, one in self.points.items()):
            self.ended = REACHED
        return Answer(
            {name: rows[name].tuples for name in self.outputs}, through, str(moved(self.token, through)), lost
        )

    def _planned(self) -> Mapping[str, Source]:
        """The sources as they are planned: what was shown before is computed again, up to exactly there."""
        if not self._again:
            return self._sources
        again = {name: replace(one, up_to=_least(one.up_to, self._shown)) for name, one in self.points.items()}
        return {**self._sources, **again}

    @property
    def _again(self) -> bool:
        return self._shown != BEGIN and any(self._at[name].through < self._shown for name in self.points)

    def _wait(self) -> None:
        """Wait for a new step; the answer is over if none can come."""
        for name, point in self.points.items():
            if (path_of(point.folder) / VIEW).exists():
                raise RunError(
                    f"source {name!r}: the run no longer keeps this view; attach again, and it is computed: the last "
                    "mark says how far the answer is, and --since begins after it"
                )
        # The points are looked at after the run was found to be over: nothing was committed in between.
        active = self._active()
        names = [one.point.name for one in self.points.values() if one.point is not None]
        if active and self._has_all() and (gone := self._dropped(names)) is not None:
            raise RunError(
                f"the network that runs no longer has the connection point {gone!r}, which a replacement dropped; the "
                "last mark says how far the answer is"
            )
        if not self._follow and not active and self._has_all():
            self.ended = STOPPED
        else:
            time.sleep(LOOK_SECONDS)

    def _has_all(self) -> bool:
        """Whether all that is in the tables was read."""
        return all(_least(one.up_to, one.look().through) <= self._at[name].through for name, one in self.points.items())

    def _keep(self, *, force: bool = False) -> None:
        if self._resume.file is None or self._again or self.token.through == BEGIN:
            return
        if force or self.ended or time.monotonic() - self._saved >= SAVE_SECONDS:
            self.token = moved(self.token, self.token.through, self._resume.written())
            keep_token(self._resume.file, self.token, self._host.chunks())
            self._saved = time.monotonic()


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _reached(source: Source, through: int) -> Progress:
    """A source that was read through a time; a table was read at once."""
    begin = source.begin()
    return Progress({**begin.position, "through": through, "done": True}, through)


def _id(point: PointSource) -> str:
    assert point.point is not None
    return point.point.id
