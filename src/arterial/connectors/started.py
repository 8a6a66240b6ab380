"""When a clock was started: a small file, so that all processes agree and a restart does not stop the time."""

from __future__ import annotations

import json
import time
from pathlib import Path

from arterial.storage.place import put_if_absent


def started(path: Path, at: float | None = None) -> float:
    """When the clock of this file was started, in seconds since 1970; the first call starts it, now or at a time."""
    if not path.exists():
        put_if_absent(path, json.dumps({"started": time.time() if at is None else at}))
    return float(json.loads(path.read_text())["started"])
