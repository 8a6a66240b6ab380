"""Files that the driver appends to, step by step: each piece is there once, whatever is repeated after a crash.

A journal says through which step the files are complete, and how long they are then. It is written after the pieces
and before Spark commits the step; the next start cuts the files back to it, and Spark repeats the step.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from arterial.errors import RunError
from arterial.storage.place import put_in_place

_COPIED_AT_ONCE = 1 << 20


class AppendedFiles:
    """The files and their journal. `kept` is what their owner wants to find again with it; what JSON can hold."""

    def __init__(self, files: Sequence[Path], journal: Path) -> None:
        self._files, self._journal = files, journal
        self.step = -1
        self.kept: dict[str, Any] = {}
        self.sizes = dict.fromkeys((path.name for path in files), 0)
        if journal.exists():
            said = json.loads(journal.read_text())
            self.step, self.sizes, self.kept = said["step"], said["sizes"], said["kept"]
        for path in files:
            path.touch()
            size = self.sizes[path.name]
            if path.stat().st_size < size:
                raise RunError(
                    f"{path}: is shorter than the run left it, so it cannot go on there. Begin anew in another folder."
                )
            cut_back(path, size)

    def append(self, step: int, pieces: Iterable[tuple[Path, Path]], kept: dict[str, Any] | None = None) -> None:
        """Append the pieces of a step that was not appended before: to which file, and the file that holds it."""
        for path, piece in pieces:
            with piece.open("rb") as held:
                append_to(path, held)
        self.kept = kept or {}
        self.sizes = {path.name: path.stat().st_size for path in self._files}
        put_in_place(self._journal, json.dumps({"step": step, "sizes": self.sizes, "kept": self.kept}))
        self.step = step


def append_to(path: Path, content: BinaryIO) -> None:
    """Append to a file all that another has from its position on."""
    with path.open("ab") as file:
        # A little at a time: memory that is touched for the first time costs more than the copy.
        shutil.copyfileobj(content, file, _COPIED_AT_ONCE)


def cut_back(path: Path, size: int) -> None:
    """Remove what was appended to a file beyond a size."""
    os.truncate(path, size)
