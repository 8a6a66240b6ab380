"""How tasks report to the command how far they are: each keeps a number in a small file, the command adds them up."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, Self

SAY_EVERY = 0.25


class Watched(Protocol):
    """A progress bar that is open while a stage runs."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...

    def to(self, done: float) -> None:
        """Say that `done` of the total is done."""


class Watcher(Protocol):
    """Opens the bar of a stage; `arterial.cli.parts.progress.Bar` is one."""

    def __call__(self, what: str, *, total: float, unit: str) -> Watched: ...


class Said:
    """A task's own count, written to its file now and then."""

    def __init__(self, file: Path) -> None:
        self._file, self._done, self._next = file, 0, 0.0

    def advance(self, amount: int) -> None:
        """Say that `amount` more is done."""
        self._done += amount
        if time.monotonic() >= self._next:
            self._file.write_text(str(self._done))
            self._next = time.monotonic() + SAY_EVERY


def heard(files: Iterable[Path]) -> int:
    """What all tasks have said so far; a file that is not there or half written counts nothing."""
    return sum(_number(file) for file in files)


def _number(file: Path) -> int:
    try:
        return int(file.read_text() or 0)
    except (OSError, ValueError):
        return 0
