"""The exit codes of all commands: one for each way in which a run can stand, and those that shells expect."""

from __future__ import annotations

from arterial.engine.run.states import FAILED, FINISHED, PAUSED, RUNNING, STOPPED

OK = 0
MISTAKE = 1
"""A run failed, or a command could not do what it was asked; the message says why."""
USAGE = 2
"""An unknown option, or a value that does not fit."""
RESUMABLE = 3
"""A run was stopped, by `arterial control stop` or SIGTERM, before the end of its sources."""
INTERRUPTED = 130
"""Ctrl-C. A run with a checkpoint was stopped just as resumably."""
NO_READER = 141
"""Nobody reads standard output any more."""

OF_STATE = {FINISHED: OK, FAILED: MISTAKE, STOPPED: RESUMABLE, PAUSED: 4, RUNNING: 5}
"""What `arterial status` ends with."""
