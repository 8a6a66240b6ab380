"""The states of a run, as words; `arterial status`, `status.json`, `--json` and `Run.state` all use them."""

from __future__ import annotations

RUNNING = "running"
PAUSED = "paused"
"""It waits between two trains for a command."""
STOPPED = "stopped"
"""It is over before the end of its sources, and can go on."""
FINISHED = "finished"
"""It came to the end of its sources, and all outputs are written."""
FAILED = "failed"
"""It is over by an error."""

STATES = (RUNNING, PAUSED, STOPPED, FINISHED, FAILED)
