"""Tells from Spark's logs whether a run is in a step: its offset is logged first, and that it is committed last."""

from __future__ import annotations

import time
from pathlib import Path

from arterial.engine.run.checkpoint.folder import find_checkpoint
from arterial.errors import RunError

LONGEST = 10.0
"""A step that began longer ago is not waited for: perhaps the run was killed in it."""


class StepWatch:
    """Looks at the log of a run in a folder of this machine, often and at little cost."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log: Path | None = None
        self._step = 0

    def is_in_step(self) -> bool:
        """Whether a step was planned, and is not committed yet."""
        log = self._log or self._opened()
        if log is None:
            return False
        while (log / "commits" / str(self._step)).exists():
            self._step += 1
        try:
            began = (log / "offsets" / str(self._step)).stat().st_mtime
        except OSError:
            return False
        return time.time() - began < LONGEST

    def _opened(self) -> Path | None:
        try:
            log = Path(find_checkpoint(self._folder)) / "spark"
            numbers = [int(path.name) for path in (log / "commits").iterdir() if path.name.isdigit()]
        except (RunError, OSError):  # no run is there, or none on Spark, or not on this machine
            return None
        self._log, self._step = log, max(numbers, default=0)
        return log
