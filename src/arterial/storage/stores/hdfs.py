"""HDFS, by a client that speaks its protocol without Java: `pip install arterial[hdfs]`.

A file is drafted beside its target and renamed by the one call that replaces a file there; the name node does that in
one moment. The settings of the cluster (name services, Kerberos) are read from `HADOOP_CONF_DIR`.
"""

from __future__ import annotations

import errno
import io
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from arterial.errors import MachineError
from arterial.storage.stores.store import Info, draft_key

if TYPE_CHECKING:
    from hdfs_native import FileStatus

_READ_AT_ONCE = 1 << 20
_CONNECT_SECONDS = 10.0
_NUMBERS = {FileNotFoundError: errno.ENOENT, FileExistsError: errno.EEXIST, PermissionError: errno.EACCES}
_FOLDER_MODE, _FILE_MODE = 0o755, 0o644


class HdfsStore:
    """The files of one name node, or name service. A key is a path from its root."""

    def __init__(self, authority: str) -> None:
        try:
            from hdfs_native import Client, WriteOptions
        except ModuleNotFoundError:
            raise MachineError(
                f"hdfs://{authority}: the client for HDFS is not installed here; pip install 'arterial[hdfs]', on all "
                "machines"
            ) from None
        _check_reachable(authority)
        self._new = WriteOptions(permission=_FILE_MODE, overwrite=False, create_parent=False)
        with _plain_errors(f"hdfs://{authority}"):
            self._client = Client(f"hdfs://{authority}")

    def info(self, key: str) -> Info | None:
        """What is there; None if nothing is."""
        try:
            with _plain_errors(key):
                return _info(self._client.get_file_info(key))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def list(self, key: str) -> list[Info]:
        """What is in a folder."""
        with _plain_errors(key):
            return [_info(status) for status in self._client.list_status(key)]

    def open(self, key: str) -> BinaryIO:
        """A file, to read it."""
        with _plain_errors(key):
            return io.BufferedReader(_Reader(self._client.read(key)), _READ_AT_ONCE)

    def create(self, key: str, content: bytes) -> None:
        """Write a file under a name that nobody else knows or uses."""
        with _plain_errors(key):
            writer = self._client.create(key, self._new)
            if len(content):
                writer.write(content)
            writer.close()

    def put(self, key: str, content: bytes) -> None:
        """Write a file in the place of what is there."""
        draft = draft_key(key)
        try:
            self.create(draft, content)
            self.rename(draft, key)
        except BaseException:
            self.unlink(draft)
            raise

    def put_if_absent(self, key: str, content: bytes) -> None:
        """Write a file unless one is there; of several processes that try at the same time, one succeeds."""
        draft = draft_key(key)
        self.create(draft, content)
        try:
            with _plain_errors(key):
                self._client.rename(draft, key, overwrite=False)
        except FileExistsError:
            pass
        finally:
            self.unlink(draft)

    def rename(self, key: str, target: str) -> None:
        """Give a file another name, in the place of a file of that name."""
        with _plain_errors(key):
            self._client.rename(key, target, overwrite=True)

    def copy(self, key: str, target: str) -> None:
        """Copy a file, which goes through this process."""
        with self.open(key) as file:
            self.put(target, file.read())

    def unlink(self, key: str) -> None:
        """Remove a file, if it is there."""
        self._delete(key, recursive=False)

    def make_folder(self, key: str) -> None:
        """Make a folder, and those that it lies in."""
        with _plain_errors(key):
            self._client.mkdirs(key, _FOLDER_MODE, True)

    def remove_folder(self, key: str) -> None:
        """Remove a folder with all that is in it, if it is there."""
        self._delete(key, recursive=True)

    def _delete(self, key: str, *, recursive: bool) -> None:
        try:
            with _plain_errors(key):
                self._client.delete(key, recursive)
        except FileNotFoundError:
            pass


class _Reader(io.RawIOBase):
    """A file of the client, as Python's buffered readers want it."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._file.seek(offset, whence)
        return self.tell()

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


def _info(status: FileStatus) -> Info:
    name = status.path.rstrip("/").rpartition("/")[2]
    return Info(name, status.isdir, status.length, status.modification_time * 1_000_000, status.permission & 0o777)


@contextmanager
def _plain_errors(key: str) -> Iterator[None]:
    """The client's errors as those of a local file, without the lines of Java that follow what is said."""
    try:
        yield
    except Exception as fault:
        said = (str(fault).strip().splitlines() or [type(fault).__name__])[0]
        kind = type(fault) if isinstance(fault, OSError) else OSError
        raise kind(_NUMBERS.get(kind, errno.EIO), said, key) from None


def _check_reachable(authority: str) -> None:
    """Raise if nothing answers at an address: the client would try for minutes. A name service has no port."""
    host, sign, port = authority.rpartition(":")
    if not sign:
        return
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except (OSError, ValueError) as fault:
        raise MachineError(
            f"hdfs://{authority}: nothing answers there ({fault}); expected the name node's address, as fs.defaultFS "
            "has it (often port 8020 or 9000, not that of its web page)"
        ) from None
