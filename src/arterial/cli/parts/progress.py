"""Progress of long work: a live bar on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

PLAIN_SECONDS = 5.0


class Bar:
    """What, at which event time, how far, how fast, how long still; without an end if the total is not known.

    >>> with Bar("counting", total=2, unit="steps", quiet=True) as bar:
    ...     bar.advance(1)
    ...     bar.advance(1)
    >>> bar.done
    2.0
    """

    def __init__(self, what: str, *, total: float | None, unit: str, quiet: bool = False, done: float = 0.0) -> None:
        self.what, self.total, self.unit, self.done = what, total, unit, done
        self._before = done
        self._at: object = None
        self._started = self._said = time.monotonic()
        self._live: Progress | None = None
        self._quiet = quiet
        if not quiet and (live := _live_bar()) is not None:
            self._live = live
            self._task = live.add_task(what, total=total, completed=int(done), rate="", at="")

    def __enter__(self) -> Bar:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._live:
            self._live.stop()
        elif kind is None:
            self._say()

    def advance(self, amount: float) -> None:
        """Say that `amount` more of the total is done."""
        self.to(self.done + amount)

    def to(self, done: float, at: object = None) -> None:
        """Say that `done` of the total is done, and event time is `at`."""
        self.done, self._at = done, at
        if self._live:
            shown = "" if at is None else f"at {at}"
            self._live.update(self._task, completed=done, rate=self._rate(), at=shown)
        elif time.monotonic() - self._said >= PLAIN_SECONDS:
            self._said = time.monotonic()
            self._say()

    def _a_second(self) -> float:
        seconds = time.monotonic() - self._started
        return (self.done - self._before) / seconds if seconds > 0 else 0.0

    def _rate(self) -> str:
        return f"{self._a_second():,.0f} {self.unit}/s"

    def _say(self) -> None:
        if not self._quiet:
            of, share, left = "", "", ""
            if self.total is not None:
                of, share = f" of {self.total:,.0f}", f" ({100 * self.done / max(self.total, 1):.0f} %)"
                if self.done < self.total and (rate := self._a_second()):
                    left = f", {in_words((self.total - self.done) / rate)} left"
            at = "" if self._at is None else f", at {self._at}"
            sys.stderr.write(f"{self.what}: {self.done:,.0f}{of} {self.unit}{share}{at}, {self._rate()}{left}\n")
            sys.stderr.flush()


def _live_bar() -> Progress | None:
    """A bar on the terminal, if standard error is one. Rich is loaded here: it takes a tenth of a second."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[at]}", markup=False),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def in_words(seconds: float) -> str:
    """A span of time, as people say it.

    >>> in_words(4.2), in_words(187), in_words(7500)
    ('4 s', '3 min', '2 h 5 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
