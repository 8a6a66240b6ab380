"""Files that the driver appends to, step by step: each piece is there once, whatever is repeated after a crash.

Tasks leave the pieces of a step as parts in a folder. A journal there says through which step the files are complete,
and how long they are then. It is written after the pieces and before Spark commits the step; the next start cuts the
files back to it, and Spark repeats the step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from arterial.errors import RunError
from arterial.storage.damage import damaged, read_json
from arterial.storage.disk import sync
from arterial.storage.fail_point import fail_point
from arterial.storage.place import make_folder, put_in_place, remove, remove_drafts
from arterial.storage.remote_disk import disk_of

JOURNAL, PART = "journal.json", ".part"


class AppendedFiles:
    """The files, by the kind of parts that they are made of. The parts of a step are appended by kind, then by slot.

    `merge` makes one of several parts of a kind, where they are not just to follow each other.
    `kept` is what the owner of the files wants to find again in the journal; what JSON can hold.
    """

    def __init__(
        self,
        files: Mapping[str, Path],
        folder: Path | None = None,
        merge: Callable[[Sequence[Path]], BinaryIO] | None = None,
    ) -> None:
        self.files, self.folder, self._merge = files, folder, merge
        self.step = -1
        self.kept: dict[str, Any] = {}
        self.sizes: dict[str, int] = {path.name: 0 for path in files.values()}
        self._open = False
        self._received: dict[int, set[str]] = {}

    def open(self, folder: Path, *, began: bool = False) -> None:
        """Read the journal and cut the files back to it, once; `folder` is for parts if no other was given.

        `began` says that the run has made steps. Then a journal that is missing was lost: it is written at the start.
        """
        if self._open:
            return
        self.folder = self.folder or folder
        journal = self.folder / JOURNAL
        with writing(next(iter(self.files.values()))):
            left = any(path.exists() and path.stat().st_size for path in self.files.values())
            if began and left and self.folder.is_dir() and not journal.exists():
                raise damaged(journal, "it is missing")
            make_folder(self.folder)
            if journal.exists():
                said = read_json(journal)
                self.step, self.sizes, self.kept = said["step"], said["sizes"], said["kept"]
            for path in set(self.files.values()):
                if not path.exists():
                    append_to(path, BytesIO())
                    sync(path.parent)
                size = self.sizes[path.name]
                if path.stat().st_size < size:
                    raise RunError(
                        f"{path}: is shorter than the run left it, so the run cannot go on. Begin again in another "
                        "folder."
                    )
                cut_back(path, size)
            if not journal.exists():
                self._note()
            for path in self.folder.glob("step-*"):  # of a task that was late: its step is in the files
                if path.name[5:14].isdigit() and int(path.name[5:14]) <= self.step:
                    remove(path)
            remove_drafts(self.folder)
        self._open = True

    def part(self, kind: str, step: int, slot: int) -> Path:
        """Where a task leaves what a slot adds in a step; notes for the driver lie beside it, with another suffix."""
        assert self.folder is not None, "files are opened before they are written"
        return self.folder / f"step-{step:09d}-{kind}-{slot:03d}{PART}"

    def receive(self, step: int, name: str) -> None:
        """Know of a part that a task of this step has written, maybe on another host."""
        self._received.setdefault(step, set()).add(name)

    def parts(self, step: int) -> list[Path]:
        """The parts of a step, in the order in which they are appended: those that tasks named, else what is there."""
        assert self.folder is not None
        if named := self._received.get(step):
            return sorted(self.folder / name for name in named)
        return [path for path in self._left(step) if path.suffix == PART]

    def append(self, step: int) -> None:
        """Append the parts of a step, unless that was done before, and remove them."""
        assert self.folder is not None
        parts = self.parts(step)
        with writing(next(iter(self.files.values()))):
            if parts and step > self.step:
                for kind, some in groupby(parts, _kind_of):
                    for content in self._contents(list(some)):
                        append_to(self.files[kind], content)
                fail_point("appended.pieces")
                self.sizes = {path.name: path.stat().st_size for path in self.files.values()}
                self.step = step
                self._note()
                fail_point("appended.journal")
            for path in {*parts, *self._left(step)}:
                remove(path)
            self._received = {later: names for later, names in self._received.items() if later > step}

    def _contents(self, parts: list[Path]) -> Iterator[BinaryIO]:
        if self._merge is not None and len(parts) > 1:
            yield self._merge(parts)
            return
        for part in parts:
            with part.open("rb") as content:
                yield content

    def _note(self) -> None:
        assert self.folder is not None
        put_in_place(self.folder / JOURNAL, json.dumps({"step": self.step, "sizes": self.sizes, "kept": self.kept}))

    def _left(self, step: int) -> list[Path]:
        assert self.folder is not None
        return sorted(self.folder.glob(f"step-{step:09d}-*"))


def append_to(path: Path, content: BinaryIO) -> None:
    """Append to a file all that another has from its position on."""
    disk_of(path).append(path, content)
    sync(path)


def cut_back(path: Path, size: int) -> None:
    """Remove what was appended to a file beyond a size."""
    if path.stat().st_size > size:
        disk_of(path).cut(path, size)
        sync(path)


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
