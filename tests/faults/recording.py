"""A disk that numbers every operation, knows what a crash or a power cut would leave at each, and can fail at one."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any, BinaryIO

from arterial.storage.disk import Content, Disk

KILLED, LOST, TORN, MIXED = "killed", "lost", "torn", "mixed"
"""What is left: all that was done; only what was synced; all names but torn content; some of each."""
POWER_CUTS = (LOST, TORN, MIXED)


@dataclass
class File:
    """A file: what is in it, and what of that is certain after a power cut (None: not even that it is empty)."""

    data: bytes = b""
    certain: bytes | None = None

    def left(self, mode: str, chance: random.Random) -> bytes:
        """What is in it after a crash."""
        if mode == KILLED or self.certain == self.data:
            return self.data
        safe = self.certain or b""
        if mode == LOST:
            return safe
        begin = len(safe) if self.data.startswith(safe) else 0
        rest = self.data[begin:]
        torn = (rest[: len(rest) // 2], bytes(len(rest)), *((rest, b"") if mode == MIXED else ()))
        return self.data[:begin] + chance.choice(torn)


@dataclass
class Folder:
    """A folder: the names in it, those that are certain, and the changes that lie between the two."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    certain: dict[str, File | Folder] = field(default_factory=dict)
    changes: list[dict[str, File | Folder | None]] = field(default_factory=list)

    def change(self, change: dict[str, File | Folder | None]) -> None:
        """Change names, all at once."""
        self.changes.append(change)
        _apply(self.names, change)

    def left(self, mode: str, chance: random.Random) -> dict[str, File | Folder]:
        """The names in it after a crash."""
        if mode in (KILLED, TORN):
            return self.names
        left = dict(self.certain)
        if mode == MIXED:
            for change in self.changes[: chance.randint(0, len(self.changes))]:
                _apply(left, change)
        return left

    def remains(self, mode: str, chance: random.Random, above: str = "") -> dict[str, bytes | None]:
        """All that is in it after a crash, by path; None for a folder."""
        found: dict[str, bytes | None] = {}
        for name, member in sorted(self.left(mode, chance).items()):
            if isinstance(member, Folder):
                found[f"{above}{name}"] = None
                found |= member.remains(mode, chance, f"{above}{name}/")
            else:
                found[f"{above}{name}"] = member.left(mode, chance)
        return found

    def copy(self, known: dict[int, Any] | None = None) -> Folder:
        """A copy that later changes leave alone."""
        known = {} if known is None else known

        def other(member: File | Folder | None) -> Any:
            if member is None:
                return None
            if id(member) not in known:
                known[id(member)] = (
                    member.copy(known) if isinstance(member, Folder) else File(member.data, member.certain)
                )
            return known[id(member)]

        if id(self) not in known:
            known[id(self)] = made = Folder()
            made.names = {name: other(member) for name, member in self.names.items()}
            made.certain = {name: other(member) for name, member in self.certain.items()}
            made.changes = [{name: other(member) for name, member in change.items()} for change in self.changes]
        return known[id(self)]


@dataclass(frozen=True)
class Point:
    """A crash point: the number of an operation, what it is, and the disk after it, or in the middle of it."""

    number: int
    what: str
    disk: Folder

    def remains(self, mode: str = KILLED, seed: int = 0) -> dict[str, bytes | None]:
        """What a crash leaves here."""
        return self.disk.remains(mode, random.Random(f"{seed} {self.number} {self.what}"))


def lay_out(remains: dict[str, bytes | None], path: Path) -> None:
    """Make the disk that a crash leaves."""
    path.mkdir()
    for name, data in remains.items():
        if data is None:
            (path / name).mkdir()
        else:
            (path / name).write_bytes(data)


class Halted(BaseException):
    """A late attempt that is never let go on."""


class Recording(Disk):
    """Records what happens below a folder."""

    def __init__(self, root: Path, *, keep: bool = True, fail_at: int = 0, fault: int = errno.ENOSPC) -> None:
        self.root, self.keep = root, keep
        self.fail_at, self.fault = fail_at, fault
        self.number = 0
        self.points: list[Point] = []
        self.top = _read(root)
        self.late: list[Late] = []

    def create(self, path: Path, content: Content, mode: int) -> None:
        """Two crash points: half of the content, and all."""
        self._begin("create", path, lambda: super(Recording, self).create(path, b"\0", mode))
        super().create(path, content, mode)
        file = File(path.read_bytes())
        self._folder(path.parent).change({path.name: file})
        self._written(path, file, b"", file.data)

    def append(self, path: Path, content: BinaryIO) -> None:
        """Two crash points."""
        self._begin("append", path)
        super().append(path, content)
        folder = self._folder(path.parent)
        if path.name not in folder.names:
            folder.change({path.name: File()})
        file = folder.names[path.name]
        assert isinstance(file, File)
        self._written(path, file, file.data, path.read_bytes())

    def cut(self, path: Path, size: int) -> None:
        """One."""
        self._begin("cut", path)
        super().cut(path, size)
        file = self._folder(path.parent).names[path.name]
        assert isinstance(file, File)
        file.data = path.read_bytes()
        self._done(f"cut {path.name}")

    def rename(self, path: Path, target: Path) -> None:
        """One."""
        self._begin("rename", target)
        super().rename(path, target)
        folder, to = self._folder(path.parent), self._folder(target.parent)
        member = folder.names[path.name]
        if folder is to:
            folder.change({path.name: None, target.name: member})
        else:
            to.change({target.name: member})
            folder.change({path.name: None})
        self._done(f"rename {target.name}")

    def link(self, path: Path, target: Path) -> None:
        """One."""
        self._begin("link", target)
        super().link(path, target)
        self._folder(target.parent).change({target.name: self._folder(path.parent).names[path.name]})
        self._done(f"link {target.name}")

    def unlink(self, path: Path) -> None:
        """One, if there is such a file."""
        if path.exists():
            self._begin("unlink", path)
            super().unlink(path)
            self._folder(path.parent).change({path.name: None})
            self._done(f"unlink {path.name}")

    def make_folder(self, path: Path, mode: int) -> None:
        """One."""
        self._begin("folder", path)
        super().make_folder(path, mode)
        if path.name not in (above := self._folder(path.parent)).names:
            above.change({path.name: Folder()})
        self._done(f"folder {path.name}")

    def remove_folder(self, path: Path) -> None:
        """Two: half of its names are gone, then all."""
        if not path.is_dir():
            return
        self._begin("remove", path)
        super().remove_folder(path)
        folder = self._folder(path)
        for name in sorted(folder.names)[: len(folder.names) // 2]:
            folder.change({name: None})
        self._keep(f"half removed {path.name}")
        self._folder(path.parent).change({path.name: None})
        self._done(f"removed {path.name}")

    def sync(self, path: Path) -> None:
        """One."""
        self._begin("sync", path)
        if path.is_dir():
            folder = self._folder(path)
            folder.certain, folder.changes = dict(folder.names), []
        else:
            file = self._folder(path.parent).names[path.name]
            assert isinstance(file, File)
            file.certain = file.data
        self._done(f"sync {path.name}")

    def _begin(self, what: str, path: Path, half: Callable[[], None] | None = None) -> None:
        thread = current_thread()
        if isinstance(thread, Late):
            thread.reach()
            return
        for late in [one for one in self.late if one.goes_on_at == self.number]:
            late.go_on()
        self.number += 1
        if self.number == self.fail_at and what not in ("unlink", "remove", "cut", "sync"):
            if half is not None:  # what a full disk leaves of a file
                half()
                self._folder(path.parent).change({path.name: File(b"\0")})
            raise OSError(self.fault, os.strerror(self.fault), str(path))

    def _written(self, path: Path, file: File, before: bytes, after: bytes) -> None:
        file.data = before + after[len(before) : (len(before) + len(after)) // 2]
        self._keep(f"half {path.name}")
        file.data = after
        self._done(f"write {path.name}")

    def _done(self, what: str) -> None:
        self._keep(what)

    def _keep(self, what: str) -> None:
        if self.keep and not isinstance(current_thread(), Late):
            self.points.append(Point(self.number, what, self.top.copy()))

    def _folder(self, path: Path) -> Folder:
        folder = self.top
        for name in path.relative_to(self.root).parts:
            found = folder.names.get(name)
            if found is None:  # made by something that does not use the disk, such as a database
                found = Folder()
                folder.change({name: found})
            assert isinstance(found, Folder), path
            folder = found
        return folder


class Late(Thread):
    """An attempt at a task that stands still after some operations, and goes on when the run has gone on without it."""

    def __init__(self, work: Callable[[], object], allowed: int, disk: Recording, goes_on_after: int) -> None:
        super().__init__(daemon=True)
        self._work, self._left, self._disk = work, allowed, disk
        self.goes_on_at = disk.number + goes_on_after
        self._stands, self._may_go, self._never = Event(), Event(), False
        self.error: BaseException | None = None

    def run(self) -> None:
        """The attempt."""
        try:
            self._work()
        except BaseException as error:  # nobody hears of it
            self.error = error
        finally:
            self._stands.set()

    def begin(self) -> None:
        """Let it work as far as it may."""
        self._disk.late.append(self)
        self.start()
        assert self._stands.wait(20)

    def reach(self) -> None:
        """An operation of its own: stand still before it, if that is due."""
        self._left -= 1
        if self._left < 0 and not self._may_go.is_set():
            self._stands.set()
            self._may_go.wait()
            if self._never:
                raise Halted

    def go_on(self, *, never: bool = False) -> None:
        """Let it come to its end, or end it."""
        self._never = never
        self._may_go.set()
        self.join(20)
        assert not self.is_alive()
        self._disk.late.remove(self)


def _apply(names: dict[str, File | Folder], change: dict[str, File | Folder | None]) -> None:
    for name, member in change.items():
        if member is None:
            names.pop(name, None)
        else:
            names[name] = member


def _read(path: Path) -> Folder:
    """What is there already is certain."""
    names: dict[str, File | Folder] = {}
    for entry in path.iterdir():
        if entry.is_dir():
            names[entry.name] = _read(entry)
        else:
            data = entry.read_bytes()
            names[entry.name] = File(data, data)
    return Folder(names, dict(names))
