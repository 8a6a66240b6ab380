"""The folder of a run inside its checkpoint: made, checked, and removed where it was only temporary."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from pathlib import Path

from arterial.errors import RunError

FOLDER = "arterial"


def make_folder(checkpoint: str | Path | None) -> Path:
    """The run's own folder in its checkpoint; without one, in a new temporary folder."""
    checkpoint = Path(checkpoint or tempfile.mkdtemp(prefix="arterial-run-")).absolute()
    folder = checkpoint / FOLDER
    try:
        (folder / "rejects").mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{uuid.uuid4().hex}"
        probe.touch()
        probe.unlink()
    except OSError as trouble:
        raise RunError(
            f"cannot keep a checkpoint in {checkpoint}: {trouble.strerror}. Give a folder that can be written to."
        ) from None
    return folder


def remove_unless_needed(folder: Path) -> None:
    """Remove a temporary checkpoint; it stays if lines or tuples were set aside there, for the user to look at."""
    if not any(folder.rglob("*.jsonl")):
        shutil.rmtree(folder.parent, ignore_errors=True)
