"""Fail points: named moments at which a test lets a whole run be killed, Java with it. They do nothing otherwise.

`ARTERIAL_FAIL_POINT=NAME` kills the run when a process of it comes to that point, `NAME:3` when one comes there for the
third time. `docs/faults.md` lists them; `python -m tools.fail_points` reads them from the code.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

VARIABLE = "ARTERIAL_FAIL_POINT"
_GROUP = "ARTERIAL_FAIL_GROUP"
"""The process group of the driver: workers are in one of their own."""

_wanted, _, _times = os.environ.get(VARIABLE, "").partition(":")
_left = int(_times or 1)
if _wanted:
    os.environ.setdefault(_GROUP, str(os.getpgrp()))


def fail_point(name: str) -> None:
    """A moment at which a run may be killed."""
    if _wanted and name == _wanted:
        _reach()


def _reach() -> None:
    global _left
    _left -= 1
    if _left == 0:
        for group in (int(os.environ[_GROUP]), os.getpgrp()):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
