"""When a clock was started: a small file, so that all processes agree and a restart does not stop the time."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path


def started(path: Path, at: float | None = None) -> float:
    """When the clock of this file was started, in seconds since 1970; the first call starts it, now or at a time."""
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_text(json.dumps({"started": time.time() if at is None else at}))
        try:
            os.link(draft, path)  # fails if another process was first
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return float(json.loads(path.read_text())["started"])
