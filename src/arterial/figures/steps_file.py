"""`steps.jsonl`: the figures of every step, a line each; bounded, and kept across restarts.

The driver appends a line before Spark commits the step. A step that is run again after a crash is in the file already,
and a line that was cut short by the crash is removed when the file is opened. When the file is full it becomes
`steps.1.jsonl`, in the place of an older one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from arterial.figures.step import StepFigures, as_json, from_json
from arterial.storage.place import put_in_place, remove, rename
from arterial.storage.remote import is_remote

STEPS_FILE, OLDER_FILE = "steps.jsonl", "steps.1.jsonl"
MOST_BYTES = 8 << 20
"""How long each of the two files may become."""
MOST_BYTES_FAR = 128 << 10
"""In a store, where a file is written again with every step."""

_TAIL = 1 << 20
_HEAD = 100
"""The first bytes of a file have the number of its first step and when that was born: no two files begin alike."""


class StepsFile:
    """Appends steps to the file in a folder."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._path, self._older = folder / STEPS_FILE, folder / OLDER_FILE
        self._most = min(most_bytes, MOST_BYTES_FAR) if is_remote(folder) else most_bytes
        self._file = _open(self._path)
        self._last = self._cut_back()

    def add(self, step: StepFigures) -> None:
        """Append the next step, unless it is there already."""
        if step.step <= self._last:
            return
        line = (json.dumps(as_json(step), separators=(",", ":")) + "\n").encode()
        if self._file.size and self._file.size + len(line) > self._most:
            self.close()
            rename(self._path, self._older)
            self._file = _open(self._path)
        self._file.append(line)
        self._last = step.step

    def close(self) -> None:
        """Write no more."""
        self._file.close()

    def _cut_back(self) -> int:
        """Remove a line that was cut short; the number of the last step."""
        size = self._file.size
        begin = max(0, size - _TAIL)
        tail = self._file.tail(begin)
        end = tail.rfind(b"\n") + 1
        if begin + end < size:
            self._file.cut(begin + end)
        lines = tail[:end].splitlines()
        if not lines:
            older = list(_lines(self._older))[-1:]
            return older[0].step if older else 0
        try:
            return int(json.loads(lines[-1])["step"])
        except (ValueError, KeyError, TypeError):
            return 0


class _NearFile:
    """A file of this machine that is open for appending."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)

    @property
    def size(self) -> int:
        return os.fstat(self._file).st_size

    def tail(self, begin: int) -> bytes:
        return os.pread(self._file, self.size - begin, begin)

    def append(self, line: bytes) -> None:
        size = self.size
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError:
            self.cut(size)  # else the next line would begin in the midst of this one
            raise

    def cut(self, size: int) -> None:
        os.ftruncate(self._file, size)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class _FarFile:
    """A file of a store: it is short, and put there again with every line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content = path.read_bytes() if path.exists() else b""

    @property
    def size(self) -> int:
        return len(self._content)

    def tail(self, begin: int) -> bytes:
        return self._content[begin:]

    def append(self, line: bytes) -> None:
        self._content += line
        put_in_place(self._path, self._content)

    def cut(self, size: int) -> None:
        self._content = self._content[:size]

    def close(self) -> None:
        """Nothing is open."""


def _open(path: Path) -> _NearFile | _FarFile:
    return _FarFile(path) if is_remote(path) else _NearFile(path)


def read_steps(folder: Path) -> Iterator[StepFigures]:
    """All steps that the files of a folder still have, each once, from the first to the last."""
    last = 0
    for name in (OLDER_FILE, STEPS_FILE):
        for step in _lines(folder / name):
            if step.step > last:
                last = step.step
                yield step


class StepsReader:
    """Reads the steps of a run while it writes them: at every look, those that came since the one before."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._place: tuple[bytes | None, int] = (None, 0)
        self._last, self._born = 0, 0.0

    def more(self) -> list[StepFigures]:
        """The steps since the last look; at the first one all that the files have."""
        try:
            with (self._folder / STEPS_FILE).open("rb") as file:
                head, at = self._place
                if is_remote(self._folder):
                    return self._all(b"")
                own = file.read(_HEAD)
                if own != head or os.fstat(file.fileno()).st_size < at:
                    return self._all(own)
                file.seek(at)
                new = file.read()
        except FileNotFoundError:
            self._place, self._last = (None, 0), 0
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._place = (head, at + len(whole))
        return self._after(_parsed(whole.decode(errors="replace").splitlines()))

    def _all(self, head: bytes) -> list[StepFigures]:
        """Another file than at the last look: the first look, one that was full, or a run that began from the start."""
        found = list(read_steps(self._folder))
        again = [step.born for step in found if step.step == self._last]
        if found and (found[-1].step < self._last or (again and again[0] != self._born)):
            self._last = 0
        self._place = (head, 0)
        return self._after(found)

    def _after(self, steps: Iterable[StepFigures]) -> list[StepFigures]:
        new = []
        for step in steps:
            if step.step > self._last:
                self._last, self._born = step.step, step.born
                new.append(step)
        return new


def remove_steps(folder: Path) -> None:
    """For a run that begins from the start."""
    for name in (OLDER_FILE, STEPS_FILE):
        remove(folder / name)


def _lines(path: Path) -> Iterator[StepFigures]:
    """The steps of one file; what is not a whole line of figures is passed over."""
    try:
        with path.open() as file:
            yield from _parsed(file)
    except FileNotFoundError:
        return


def _parsed(lines: Iterable[str]) -> Iterator[StepFigures]:
    for line in lines:
        try:
            yield from_json(json.loads(line))
        except (ValueError, KeyError, TypeError):
            continue
