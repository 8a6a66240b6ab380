"""Pickles of a checkpoint are code: they are loaded only where nobody but this user can have put them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arterial.errors import RunError
from arterial.storage.private import not_private

_WITH_PICKLES = ("networks", "works", "requests")


def check_private(folder: Path) -> None:
    """Raise if another user could put a pickle into the run's own folder of a checkpoint."""
    for path in (folder, *(folder / name for name in _WITH_PICKLES)):
        if path.exists():
            check_owner(path)


def check_owner(path: Path) -> None:
    """Raise unless a file or folder belongs to this user, and no other can write to it."""
    if (why := not_private(path)) is not None:
        raise RunError(
            f"{path}: {why}. A checkpoint holds pickled objects, and loading them runs code: run as the user that it "
            f"belongs to, or give a folder of your own as checkpoint; if you trust what is there, chmod -R go-w {path}"
        )


def load_pickle(path: Path, content: bytes | None = None) -> Any:
    """What a pickle of this user's own holds; `content` is the part of the file to load, if not all of it."""
    from pyspark import cloudpickle

    for owned in (path.parent.parent, path.parent, path):
        if owned.exists():
            check_owner(owned)
    try:
        return cloudpickle.loads(path.read_bytes() if content is None else content)
    except Exception as broken:  # whatever a pickle that was cut or overwritten raises
        raise RunError(
            f"the checkpoint is damaged: {path} cannot be read ({type(broken).__name__}: {broken}). Restore it from a "
            "copy, or begin from the start (--force, or a new folder as checkpoint)."
        ) from None
