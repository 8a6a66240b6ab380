"""Whose a checkpoint is: that of the run which said so last. An earlier one that still works finds out and stops.

A lock keeps a second run off a checkpoint. Where locks do nothing, or a driver was cut off and came back, this does.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

from arterial.errors import RunError
from arterial.storage.place import put_in_place

EPOCH_FILE = "epoch.json"


def take_over(folder: Path, run: str) -> None:
    """Make the checkpoint this run's own; `folder` is the engine's own in it."""
    path = folder / EPOCH_FILE
    epoch = int(str(_read(path)["epoch"])) + 1 if path.exists() else 1
    owner = {"epoch": epoch, "run": run, "process": os.getpid(), "host": socket.gethostname()}
    put_in_place(path, json.dumps(owner))


def check_epoch(folder: Path, run: str) -> None:
    """Raise if another run has taken the checkpoint over."""
    owner = _read(folder / EPOCH_FILE)
    if owner["run"] != run:
        raise _taken(folder, owner)


def taken_over(folder: Path, run: str) -> RunError | None:
    """What a run should say that ends because another has taken its checkpoint over; None if that cannot be seen."""
    try:
        owner = _read(folder / EPOCH_FILE)
    except RunError:
        return None
    return _taken(folder, owner) if owner["run"] != run else None


def _taken(folder: Path, owner: dict[str, object]) -> RunError:
    return RunError(
        f"another run (process {owner['process']} on {owner['host']}) has taken over the checkpoint {folder.parent} "
        "from this one, which stops here; what it did since then does not count. Let the other go on, or end it and "
        "start again with the same checkpoint."
    )


def _read(path: Path) -> dict[str, object]:
    try:
        owner = json.loads(path.read_text())
        if not isinstance(owner, dict) or not {"epoch", "run", "process", "host"} <= owner.keys():
            raise ValueError("it does not name a run")
    except (OSError, ValueError) as broken:
        raise RunError(
            f"the checkpoint is damaged: {path} cannot be read ({broken}). Delete it and start again; make sure that "
            "no other run uses this checkpoint."
        ) from None
    return owner
