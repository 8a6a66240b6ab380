"""The folder of a run inside its checkpoint: made, checked, and removed where it was only temporary."""

from __future__ import annotations

import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arterial.errors import RunError
from arterial.storage.place import OWN, put_in_place, remove
from arterial.storage.place import make_folder as make_path
from arterial.storage.remote import SCHEMES, is_remote, path_of

FOLDER = "arterial"
STATUS_FILE = "status.json"
_PLACES = (".", "checkpoint", "work/checkpoint", "local")
"""Where the checkpoint lies in the folder of a run: `arterial run`'s, Linear Road's, that of a local run."""
STARTING_OVER = ".starting-over"
"""A file in the checkpoint that is there while `--force` removes what an earlier run left."""


def make_folder(checkpoint: str | Path) -> Path:
    """The run's own folder in its checkpoint."""
    check_path(checkpoint)
    folder = path_of(checkpoint).absolute() / FOLDER
    if (folder.parent / STARTING_OVER).exists():
        raise RunError(
            f"{checkpoint}: --force was interrupted while it removed what an earlier run left there, or in the "
            "outputs. Use --force once more."
        )
    try:
        make_path(folder.parent)
        make_path(folder / "rejects", OWN)
        probe = folder / f".probe-{uuid.uuid4().hex}"
        put_in_place(probe, b"")
        remove(probe)
    except OSError as trouble:
        raise RunError(
            f"cannot keep a checkpoint in {checkpoint}: {trouble.strerror or trouble}. Give a folder that can be "
            "written to."
        ) from None
    return folder


def check_path(checkpoint: str | Path) -> None:
    """Raise if it is a URI of no store that we know: it would silently be a folder named after the scheme."""
    if not is_remote(checkpoint) and re.match(r"[a-z][a-z0-9+.-]+:/", str(checkpoint), re.IGNORECASE):
        raise RunError(
            f"cannot keep a checkpoint in {checkpoint}: it looks like a URI, and a checkpoint is a folder of this "
            f"machine, one that is mounted here, or {', '.join(f'{one}://' for one in SCHEMES)}. Give its path."
        )


def find_checkpoint(folder: Path) -> Path:
    """The checkpoint in a folder that a user names: the checkpoint itself, or the output folder of a run."""
    folder = path_of(folder)
    for place in _PLACES:
        if (folder / place / STATUS_FILE).exists() and (folder / place / FOLDER).is_dir():
            return folder / place if place != "." else folder
    raise RunError(
        f"{folder}: no run is there; expected the folder given as --out or --checkpoint, with a {STATUS_FILE} in it or "
        f"in its {', '.join(_PLACES[1:])}"
    )


@contextmanager
def checkpoint_or_temporary(checkpoint: str | Path | None) -> Iterator[Path]:
    """The checkpoint, or a new temporary folder, which is removed if the run cannot be started."""
    folder = path_of(checkpoint or tempfile.mkdtemp(prefix="arterial-run-"))
    try:
        yield folder
    except BaseException:
        if checkpoint is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def remove_unless_needed(folder: Path) -> None:
    """Remove a temporary checkpoint; it stays if lines or tuples were set aside there, for the user to look at."""
    if not any(path.name != "optimizer.jsonl" for path in folder.rglob("*.jsonl")):
        shutil.rmtree(folder.parent, ignore_errors=True)
