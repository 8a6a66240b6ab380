"""What a source is to the engine: a thing that plans on the driver how far to read next, and reads it in tasks.

A source's position is plain data that goes into the offset, which Spark logs before a step runs. So a step that is run
again reads the same tuples again; a source must only keep that promise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from arterial.network.keys.left_out import LeftOut
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END, Train

Position = dict[str, Any]
"""Where a source is: what JSON can hold."""


@dataclass(frozen=True)
class Ask:
    """How far a source may go in the next step."""

    now: float
    """Seconds since 1970."""
    tuples: int
    """About so many tuples at most; a source may always give one instant whole."""
    until: int | None = None
    """No tuple later than this, so that sources advance together."""


@dataclass(frozen=True)
class Progress:
    """How far a source has come."""

    position: Position
    through: int = BEGIN
    """Every tuple up to this time has been read; `END` once the source is at its end."""


@dataclass(frozen=True)
class Span:
    """What a step reads of a source: all between two positions."""

    before: Progress
    after: Progress


@dataclass(frozen=True)
class Part:
    """What one task of a step reads: a contiguous piece, or the tuples of a slot where the source delivers by slot."""

    index: int
    count: int
    key: tuple[str, ...] | None = None
    without: LeftOut | None = None
    """Groups that are not wanted; for a source that `skips` them."""


class Source(ABC):
    """The base of all sources. It is sent to tasks, so it holds no open files; what it holds must be picklable."""

    ordered: ClassVar[bool] = True
    """Whether its tuples come in the order of their time. If not, the network's source box puts them in order."""

    keeps_up: ClassVar[bool] = False
    """Whether it is complete at any time, as a table is. It is then planned after the others, with the least of their
    times as `until`, so that nobody waits for it and the run ends with them."""

    def allow(self, disorder: int, *, signed: bool) -> Source:
        """This source, with the source box's `disorder` in units of its time, and whether it is signed; before `bind`.

        An ordered source that reads late tuples gives them in `read_trains`, as `Train.late`.
        """
        return self

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> Source:
        """This source, checked and made ready for a source box; `folder` may keep files. Runs once, at the start."""
        return self

    def start(self) -> None:  # noqa: B027
        """Begin to take input that comes by itself. Runs on the driver, before the first step is planned."""

    def close(self, *, ended: bool) -> None:  # noqa: B027
        """Take no more: the run is over, and has read everything if it `ended`. Runs on the driver."""

    def splits_by(self, key: tuple[str, ...]) -> bool:
        """Whether it can deliver the tuples of each slot by these key columns (`arterial.network.keys.slots.slots`)."""
        return False

    def deliver_by(self, key: tuple[str, ...], shards: int) -> None:  # noqa: B027
        """Tasks will ask for slots by a key that it `splits_by`: from now on arrange tuples so, if that saves work."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about it by now, such as lines that were set aside; asked at start and end."""
        return ()

    @abstractmethod
    def begin(self) -> Progress:
        """Where it begins."""

    @abstractmethod
    def plan(self, before: Progress, ask: Ask) -> Progress:
        """How far the next step goes; `before` itself if there is nothing to read yet. Runs on the driver."""

    @abstractmethod
    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """A part of the tuples between two positions, in order. Runs in tasks, and gives the same every time."""

    def read_trains(self, span: Span, part: Part) -> Iterable[Train]:
        """The same as trains that follow each other: one, unless the source knows what length its boxes like best."""
        return [Train(self.read(span.before, span.after, part), span.after.through)]

    def skips(self, by: tuple[str, ...]) -> bool:
        """Whether it can leave out groups, which agree in these columns, without reading them (`Part.without`)."""
        return False

    def skipped(self, span: Span, part: Part) -> int:
        """How many tuples of a part are not read, by `Part.without`."""
        return 0

    def share(self, progress: Progress) -> float | None:
        """How much of it is read, from 0 to 1, if it knows how much there is."""
        return 1.0 if progress.through == END else None

    def waiting(self, progress: Progress, now: float) -> int | None:
        """How many tuples wait to be read, if it knows; the queue before the network."""
        return None

    def waiting_after(self, through: int) -> int | None:
        """The same for what lies behind a time, whoever asks; of input that comes by itself, whatever the run does."""
        return None

    def waited(self, span: Span, now: float) -> float:
        """How long the oldest tuple of a step has waited by now, in seconds, if it knows: from when it arrived, or was
        due, to when the step is planned."""
        return 0.0


@dataclass(frozen=True)
class Reading:
    """What a part of a source gives in a step. Nothing is read before somebody goes through it."""

    source: Source
    span: Span
    part: Part
    arc: str = ""
    """For a source that can leave out groups: the arc on which they are missing then."""

    @property
    def skipped(self) -> int:
        """How many tuples are not read."""
        return self.source.skipped(self.span, self.part) if self.part.without is not None else 0

    def __iter__(self) -> Iterator[Train]:
        return iter(self.source.read_trains(self.span, self.part))
