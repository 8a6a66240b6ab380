"""Files that the driver appends to, step by step: each piece is there once, whatever is repeated after a crash.

Tasks leave the pieces of a step as parts in a folder. A journal there says through which step the files are complete,
and how long they are then. It is written after the pieces and before Spark commits the step; the next start cuts the
files back to it, and Spark repeats the step.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from arterial.errors import RunError
from arterial.storage.place import put_in_place, remove

JOURNAL, PART = "journal.json", ".part"
_COPIED_AT_ONCE = 1 << 20


class AppendedFiles:
    """The files, by the kind of parts that they are made of. The parts of a step are appended by kind, then by slot.

    `kept` is what the owner of the files wants to find again in the journal; what JSON can hold.
    """

    def __init__(self, files: Mapping[str, Path], folder: Path | None = None) -> None:
        self.files, self.folder = files, folder
        self.step = -1
        self.kept: dict[str, Any] = {}
        self.sizes: dict[str, int] = {path.name: 0 for path in files.values()}
        self._open = False

    def open(self, folder: Path) -> None:
        """Read the journal and cut the files back to it, once; `folder` is for parts if no other was given."""
        if self._open:
            return
        self.folder = self.folder or folder
        journal = self.folder / JOURNAL
        with writing(next(iter(self.files.values()))):
            self.folder.mkdir(parents=True, exist_ok=True)
            if journal.exists():
                said = json.loads(journal.read_text())
                self.step, self.sizes, self.kept = said["step"], said["sizes"], said["kept"]
            for path in set(self.files.values()):
                path.touch()
                size = self.sizes[path.name]
                if path.stat().st_size < size:
                    raise RunError(
                        f"{path}: is shorter than the run left it, so the run cannot go on. Begin again in another "
                        "folder."
                    )
                cut_back(path, size)
        self._open = True

    def part(self, kind: str, step: int, slot: int) -> Path:
        """Where a task leaves what a slot adds in a step; notes for the driver lie beside it, with another suffix."""
        assert self.folder is not None, "files are opened before they are written"
        return self.folder / f"step-{step:09d}-{kind}-{slot:03d}{PART}"

    def parts(self, step: int) -> list[Path]:
        """The parts of a step, in the order in which they are appended."""
        return [path for path in self._left(step) if path.suffix == PART]

    def append(self, step: int) -> None:
        """Append the parts of a step, unless that was done before, and remove them."""
        assert self.folder is not None
        parts = self.parts(step)
        with writing(next(iter(self.files.values()))):
            if parts and step > self.step:
                for part in parts:
                    with part.open("rb") as content:
                        append_to(self.files[_kind_of(part)], content)
                self.sizes = {path.name: path.stat().st_size for path in self.files.values()}
                said = {"step": step, "sizes": self.sizes, "kept": self.kept}
                put_in_place(self.folder / JOURNAL, json.dumps(said))
                self.step = step
            for path in self._left(step):
                remove(path)

    def _left(self, step: int) -> list[Path]:
        assert self.folder is not None
        return sorted(self.folder.glob(f"step-{step:09d}-*"))


def append_to(path: Path, content: BinaryIO) -> None:
    """Append to a file all that another has from its position on."""
    with path.open("ab") as file:
        # A little at a time: memory that is touched for the first time costs more than the copy.
        shutil.copyfileobj(content, file, _COPIED_AT_ONCE)


def cut_back(path: Path, size: int) -> None:
    """Remove what was appended to a file beyond a size."""
    os.truncate(path, size)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what a disk can refuse into an error that says why the run cannot go on, and what to do."""
    try:
        yield
    except OSError as fault:
        raise RunError(
            f"{fault.filename or path}: cannot be written: {fault.strerror or fault}. Nothing is lost: make room or "
            "fix the folder, then start again with the same checkpoint."
        ) from None


def _kind_of(part: Path) -> str:
    return part.name.split("-", 2)[2].rpartition("-")[0]
