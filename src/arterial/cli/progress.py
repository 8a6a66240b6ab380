"""Progress of long work: a live bar on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

PLAIN_SECONDS = 5.0


class Bar:
    """What, how far, how fast, until when; without an end if the total is not known.

    >>> with Bar("counting", total=2, unit="steps", quiet=True) as bar:
    ...     bar.advance(1)
    ...     bar.advance(1)
    >>> bar.done
    2.0
    """

    def __init__(self, what: str, *, total: float | None, unit: str, quiet: bool = False) -> None:
        self.what, self.total, self.unit, self.done = what, total, unit, 0.0
        self._started = self._said = time.monotonic()
        self._live: Progress | None = None
        self._quiet = quiet
        console = Console(stderr=True)
        if console.is_terminal and not quiet:
            self._live = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=console,
            )
            self._task = self._live.add_task(what, total=total, rate="")

    def __enter__(self) -> Bar:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
        elif kind is None:
            self._say()

    def advance(self, amount: float) -> None:
        """Say that `amount` more of the total is done."""
        self.to(self.done + amount)

    def to(self, done: float) -> None:
        """Say that `done` of the total is done."""
        self.done = done
        if self._live:
            self._live.update(self._task, completed=done, rate=self._rate())
        elif time.monotonic() - self._said >= PLAIN_SECONDS:
            self._said = time.monotonic()
            self._say()

    def _rate(self) -> str:
        seconds = time.monotonic() - self._started
        return f"{self.done / seconds:,.0f} {self.unit}/s" if seconds > 0 else ""

    def _say(self) -> None:
        if not self._quiet:
            of, share = "", ""
            if self.total is not None:
                of, share = f" of {self.total:,.0f}", f" ({100 * self.done / max(self.total, 1):.0f} %)"
            sys.stderr.write(f"{self.what}: {self.done:,.0f}{of} {self.unit}{share}, {self._rate()}\n")
            sys.stderr.flush()
