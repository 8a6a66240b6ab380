"""Paths of S3 and HDFS: one type for all who read and write the files of a run (decision 50).

`path_of` makes a path of what a user or a file says: a plain one, or one that knows its store and reads there. Paths
are written to by `place` and `appended` alone, as those of a disk are.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path, PosixPath, PurePath, PurePosixPath
from typing import IO, Any

from arterial.errors import RunError
from arterial.storage.stores.store import Info, Store

SCHEMES = ("s3", "s3a", "hdfs")


def path_of(text: str | os.PathLike[str]) -> Path:
    """The path that a text names: of this machine, or with one of `SCHEMES` of a store.

    >>> path_of("data/reports.csv"), path_of("s3a://city/reports") / "part-1.csv"
    (PosixPath('data/reports.csv'), RemotePath('s3a://city/reports/part-1.csv'))
    """
    if isinstance(text, RemotePath):
        return text
    if str(text).startswith("/"):  # as most do, and no scheme does
        return text if isinstance(text, Path) else Path(text)
    # `Path` makes one slash of the two behind a scheme; a folder of that name is not meant.
    parts = PurePosixPath(text).parts
    if not parts or parts[0].lower().removesuffix(":") not in SCHEMES or not parts[0].endswith(":"):
        return Path(text)
    scheme = parts[0].lower()
    if len(parts) < 2 or str(text)[len(scheme) :].startswith("///"):
        what = "hdfs://HOST:PORT/PATH" if scheme == "hdfs:" else f"{scheme}//BUCKET/PATH"
        raise RunError(f"{text}: expected {what}")
    return RemotePath(scheme, *parts[1:])


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path is one of a store."""
    return isinstance(path_of(path), RemotePath)


def stamp(path: Path) -> tuple[int, int, int]:
    """By what it is seen that a small file was replaced; raises `FileNotFoundError` if there is none.

    Times of files are those of the last tick of a clock: two that follow each other may have the same.
    """
    if isinstance(path, RemotePath):
        content = path.read_bytes()
        return len(content), zlib.crc32(content), zlib.adler32(content)
    found = path.stat()
    return found.st_mtime_ns, found.st_ino, found.st_size


def spark_name(path: Path) -> str:
    """How Spark names a path: its client knows S3 as `s3a`."""
    return f"s3a{str(path).removeprefix('s3')}" if is_remote(path) and path.parts[0] == "s3:" else str(path)


def renames_folders(path: Path) -> bool:
    """Whether a folder can be given another name in one moment where a path is."""
    return not is_remote(path) or path.parts[0] == "hdfs:"


def entries(folder: Path) -> list[tuple[Path, bool]]:
    """What is in a folder, by name, and which of it are folders; nothing if there is no such folder."""
    if isinstance(folder, RemotePath):
        return [(folder / info.name, info.is_folder) for info in folder._children()]
    try:
        with os.scandir(folder) as found:
            return sorted((folder / entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
    except (FileNotFoundError, NotADirectoryError):
        return []


def readable(path: Path) -> Path | IO[bytes]:
    """What Polars and Arrow can read: the path of a local file, the open file of a store."""
    return path.open("rb") if isinstance(path, RemotePath) else path


class RemotePath(PosixPath):
    """A path whose first part is the scheme and whose second is the bucket, or the host. Made by `path_of`."""

    def __str__(self) -> str:
        return f"{self.parts[0]}//{'/'.join(self.parts[1:])}"

    def __fspath__(self) -> str:
        return str(self)

    def as_posix(self) -> str:
        """As text."""
        return str(self)

    def as_uri(self) -> str:
        """As text."""
        return str(self)

    @property
    def store(self) -> Store:
        """Where it lies; the connection is made once in a process."""
        return _store(self.parts[0], self.parts[1], os.getpid())

    @property
    def key(self) -> str:
        """Its name in the store."""
        return "/" + "/".join(self.parts[2:]) if self.parts[0] == "hdfs:" else "/".join(self.parts[1:])

    def absolute(self) -> RemotePath:
        """Itself."""
        return self

    def resolve(self, strict: bool = False) -> RemotePath:
        """Itself."""
        return self

    def expanduser(self) -> RemotePath:
        """Itself."""
        return self

    def is_absolute(self) -> bool:
        """Always."""
        return True

    def relative_to(self, *other: Any, **options: Any) -> Path:  # type: ignore[override]
        """The rest of the path after that of a folder."""
        folder = PurePosixPath(*PurePath(*other).parts)
        return Path(PurePosixPath(*self.parts).relative_to(folder))

    def info(self) -> Info | None:
        """What the store says of it; None if nothing is there."""
        return self.store.info(self.key)

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is there."""
        return self.info() is not None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file."""
        return (info := self.info()) is not None and not info.is_folder

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return (info := self.info()) is not None and info.is_folder

    def is_symlink(self) -> bool:
        """Never."""
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Its size, when it was changed, and who may write to it."""
        if (info := self.info()) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        mode = (stat.S_IFDIR if info.is_folder else stat.S_IFREG) | info.mode
        seconds = info.changed // 1_000_000_000
        known = (mode, 0, 0, 1, os.geteuid(), 0, info.size, seconds, seconds, seconds)
        return os.stat_result(known, {"st_mtime": info.changed / 1e9, "st_mtime_ns": info.changed})

    def lstat(self) -> os.stat_result:
        """As `stat`."""
        return self.stat()

    def open(self, mode: str = "r", buffering: int = -1, *texts: Any, **text: Any) -> IO[Any]:  # type: ignore[override]
        """The file, to read it."""
        if mode not in ("r", "rt", "rb"):
            raise ValueError(f"{self}: a file in a store is put there whole, by storage.place")
        try:
            file = self.store.open(self.key)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self)) from None
        return file if mode == "rb" else io.TextIOWrapper(file, *texts, **{"encoding": "utf-8", **text})

    def read_bytes(self) -> bytes:
        """All that is in the file."""
        with self.open("rb") as file:
            content: bytes = file.read()
        return content

    def iterdir(self) -> Iterator[RemotePath]:  # type: ignore[override]
        """What is in the folder."""
        try:
            found = self.store.list(self.key)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self)) from None
        return iter([self / info.name for info in found if info.name])

    def glob(self, pattern: str, **options: Any) -> Iterator[RemotePath]:  # type: ignore[override]
        """What is in the folder and fits a pattern."""
        return iter(list(self._matching(PurePosixPath(pattern).parts)))

    def rglob(self, pattern: str, **options: Any) -> Iterator[RemotePath]:  # type: ignore[override]
        """What is in the folder, or in those within it, and fits a pattern."""
        return self.glob(f"**/{pattern}")

    def _matching(self, patterns: tuple[str, ...]) -> Iterator[RemotePath]:
        first, *rest = patterns
        if first == "**":
            yield from self._matching((*rest,))
            yield from (found for folder in self._folders() for found in folder._matching(patterns))
        elif not glob.has_magic(first):
            one = self / first
            yield from one._matching((*rest,)) if rest else ([one] if one.exists() else [])
        else:
            for found in self._children():
                path = self / found.name
                if fnmatch.fnmatchcase(found.name, first):
                    if not rest:
                        yield path
                    elif found.is_folder:
                        yield from path._matching((*rest,))

    def _children(self) -> list[Info]:
        try:
            return sorted((info for info in self.store.list(self.key) if info.name), key=lambda info: info.name)
        except FileNotFoundError:
            return []

    def _folders(self) -> list[RemotePath]:
        return [self / info.name for info in self._children() if info.is_folder]


def _open_s3(bucket: str) -> Store:
    from arterial.storage.stores.s3 import S3Store

    return S3Store(bucket)


def _open_hdfs(authority: str) -> Store:
    from arterial.storage.stores.hdfs import HdfsStore

    return HdfsStore(authority)


_OPEN: dict[str, Callable[[str], Store]] = {"s3:": _open_s3, "s3a:": _open_s3, "hdfs:": _open_hdfs}


@cache
def _store(scheme: str, authority: str, process: int) -> Store:
    """A connection must not be used by a process that was forked since."""
    return _OPEN[scheme](authority)
