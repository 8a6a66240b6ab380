"""S3, or a server that speaks its protocol, by Arrow's file system.

A put is atomic there and replaces what is there, so nothing is drafted and renamed. Credentials, region and profile are
found as all of Amazon's tools find them; `AWS_ENDPOINT_URL` (or `AWS_ENDPOINT_URL_S3`) names another server.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

from arterial.storage.stores.store import Info

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 60
_READ_AT_ONCE = 1 << 20
_ANY_REGION = "us-east-1"
"""Servers other than Amazon's have one region, and take any name for it."""


class S3Store:
    """The buckets that this process may use. A key is the bucket, a slash, and the name in it."""

    def __init__(self, bucket: str) -> None:
        from pyarrow import fs

        self._fs = fs.S3FileSystem(
            connect_timeout=_CONNECT_SECONDS, request_timeout=_ANSWER_SECONDS, **_endpoint(), **_region(bucket)
        )

    def info(self, key: str) -> Info | None:
        """What is there; None if nothing is."""
        return _info(self._fs.get_file_info(key))

    def list(self, key: str) -> list[Info]:
        """What is in a folder."""
        from pyarrow import fs

        found = self._fs.get_file_info(fs.FileSelector(key))
        return [info for one in found if (info := _info(one)) is not None]

    def open(self, key: str) -> BinaryIO:
        """A file, to read it."""
        return io.BufferedReader(self._fs.open_input_file(key), _READ_AT_ONCE)

    def put(self, key: str, content: bytes) -> None:
        """Write a file in the place of what is there."""
        # Closed only if all was written: what is not closed is never to be seen.
        stream = self._fs.open_output_stream(key, compression=None)
        stream.write(content)
        stream.close()

    create = put

    def put_if_absent(self, key: str, content: bytes) -> None:
        """Write a file unless one is there; of two processes that try in the same moment, the later one wins."""
        if self.info(key) is None:
            self.put(key, content)

    def rename(self, key: str, target: str) -> None:
        """Copy a file and remove it; a folder, of many files, cannot be renamed in one moment."""
        info = self.info(key)
        if info is not None and info.is_folder:
            raise OSError(errno.ENOTSUP, "folders of S3 cannot be renamed", key)
        self._fs.move(key, target)

    def copy(self, key: str, target: str) -> None:
        """Copy a file, which the server does by itself."""
        try:
            self._fs.copy_file(key, target)
        except OSError:
            if self.info(key) is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), key) from None
            raise

    def unlink(self, key: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.delete_file(key)

    def make_folder(self, key: str) -> None:
        """Make a folder: an empty object that says that it is there."""
        self._fs.create_dir(key, recursive=True)

    def remove_folder(self, key: str) -> None:
        """Remove a folder with all that is in it, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.delete_dir(key)


def endpoint() -> str:
    """The address of a server other than Amazon's; empty if there is none."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


def hadoop_settings() -> dict[str, str]:
    """The same for Spark's own client, so that one setting is enough."""
    if not endpoint():
        return {}
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or _ANY_REGION
    return {
        "spark.hadoop.fs.s3a.endpoint": endpoint(),
        "spark.hadoop.fs.s3a.endpoint.region": region,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": str(endpoint().startswith("https")).lower(),
    }


def _endpoint() -> dict[str, Any]:
    if not endpoint():
        return {}
    split = urlsplit(endpoint())
    return {"endpoint_override": split.netloc, "scheme": split.scheme or "https"}


def _region(bucket: str) -> dict[str, str]:
    given = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if given:
        return {"region": given}
    if endpoint():
        return {"region": _ANY_REGION}
    from pyarrow import fs

    return {"region": fs.resolve_s3_region(bucket)}


def _info(found: FileInfo) -> Info | None:
    from pyarrow import fs

    if found.type == fs.FileType.NotFound:
        return None
    is_folder = found.type == fs.FileType.Directory
    return Info(found.base_name, is_folder, 0 if is_folder else found.size or 0, found.mtime_ns or 0)
