"""Whether a file or folder is this user's alone: what is run or unpickled from it must be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def not_private(path: Path) -> str | None:
    """How somebody else could have written what is at a path; None if nobody could."""
    if not hasattr(os, "geteuid"):
        return None
    found = path.lstat()
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}, and you are user {os.geteuid()}"
    if found.st_mode & _OTHERS and not stat.S_ISLNK(found.st_mode):
        return f"other users can write to it (mode {stat.S_IMODE(found.st_mode):o})"
    return None
