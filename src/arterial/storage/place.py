"""Puts files and folders in place: a reader sees the old content or the new one, never half of it.

What is new is written to a draft beside its target, under a name that no other process and no other host uses, and then
renamed; a store (S3, HDFS) puts a file in place by itself (decision 50). All files that must survive a crash are
written and removed here and in `appended`. In a durable run the content is synced before the rename, and the folder
after it.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from arterial.errors import MachineError
from arterial.storage.disk import Content, is_durable, sync
from arterial.storage.fail_point import fail_point
from arterial.storage.remote import SCHEMES, RemotePath, entries
from arterial.storage.remote_disk import as_bytes, disk_of

PRIVATE = 0o600
"""The mode of files that only this user may read: pickles and state may hold secrets."""
OWN = 0o755
"""Of folders with pickles: nobody else may put one there."""

_USUAL = 0o666
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)


def put_in_place(path: Path, content: Content, *, mode: int = _USUAL) -> None:
    """Write a file, replacing what is there. If that fails, what is there stays."""
    if isinstance(path, RemotePath):
        path.store.put(path.key, as_bytes(content))
        return
    draft = _draft_of(path)
    try:
        disk_of(path).create(draft, content, mode)
        sync(draft)
        fail_point("file.drafted")
        disk_of(path).rename(draft, path)
        sync(path.parent)
        fail_point("file.in-place")
    except BaseException as fault:
        remove(draft)
        _name_the_target(fault, draft, path)
        raise


def put_if_absent(path: Path, content: Content) -> None:
    """Write a file unless one is there; of several processes that try at the same time, one succeeds.

    But for S3, where the last of them does.
    """
    if isinstance(path, RemotePath):
        path.store.put_if_absent(path.key, as_bytes(content))
        return
    draft = _draft_of(path)
    try:
        disk_of(path).create(draft, content, _USUAL)
        sync(draft)
        disk_of(path).link(draft, path)
        sync(path.parent)
    except FileExistsError:
        pass
    finally:
        remove(draft)


def write_parts(path: Path, parts: Sequence[Any], mode: int = PRIVATE) -> None:
    """Write a new file from several buffers; if that fails there is none. The folder is not synced."""
    try:
        disk_of(path).create(path, parts, mode)
        sync(path)
    except FileExistsError:
        raise
    except OSError:
        remove(path)
        raise


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    disk_of(path).unlink(path)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder, and those that it lies in, where they are not there yet; `mode` less what the umask takes away."""
    if isinstance(path, RemotePath):
        disk_of(path).make_folder(path, mode)
        return
    wanted, missing = path, []
    while not path.is_dir():
        if path.exists():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        if _SCHEME.fullmatch(path.name):
            raise MachineError(
                f"{wanted}: looks like a URI, and would become a local folder named {path.name!r}. Give the path of a "
                f"folder of this machine, or of one that is mounted here; or {', '.join(f'{s}://' for s in SCHEMES)}"
            )
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        disk_of(folder).make_folder(folder, mode)
        sync(folder.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder with all that is in it."""
    disk_of(path).remove_folder(path)


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside `path`, on the same disk. It is removed in the end, unless it was renamed."""
    draft = _draft_of(path)
    try:
        make_folder(draft)
        yield draft
    except OSError as fault:
        _name_the_target(fault, draft, path)
        raise
    finally:
        disk_of(draft).remove_folder(draft)


def rename(draft: Path, path: Path) -> None:
    """Give a finished file or folder its name; an old folder of that name is removed when the new one is there."""
    sync_all(draft)
    if path.is_dir():
        with draft_folder(path) as old:
            disk_of(path).rename(path, old)
            disk_of(path).rename(draft, path)
    else:
        disk_of(path).rename(draft, path)
    sync(path.parent)


def copy_file(path: Path, to: Path) -> None:
    """Copy a file, in the place of what is there."""
    if isinstance(path, RemotePath) and isinstance(to, RemotePath) and path.store is to.store:
        to.store.copy(path.key, to.key)
    else:
        put_in_place(to, path.read_bytes(), mode=stat.S_IMODE(path.stat().st_mode))


def copy_folder(folder: Path, to: Path) -> None:
    """Copy a folder with all that is in it; a reader may see a part of it."""
    make_folder(to)
    for path, is_folder in entries(folder):
        if is_folder:
            copy_folder(path, to / path.name)
        else:
            copy_file(path, to / path.name)


def refresh_listing(folder: Path) -> None:
    """Let the next listing of a folder be of now: over a network this machine may keep an old one for a minute.

    A change that this machine makes itself ends that.
    """
    probe = _draft_of(folder / "listing")
    with suppress(OSError):
        disk_of(probe).create(probe, b"", _USUAL)
        disk_of(probe).unlink(probe)


def sync_all(path: Path) -> None:
    """Let a file, or all that is in a folder, survive a power cut, if the run is durable."""
    if is_durable():
        for member in sorted(path.iterdir()) if path.is_dir() else ():
            sync_all(member)
        disk_of(path).sync(path)


def remove_drafts(folder: Path, name: str = "") -> None:
    """Remove the drafts, all or those of one name, that killed processes left in a folder.

    Only for who is alone in writing there, or to that name: the draft of a process that is at work would go too.
    """
    for draft in folder.glob(f".{glob.escape(name)}.*{_SUFFIX}" if name else f".*{_SUFFIX}"):
        if draft.is_dir():
            disk_of(draft).remove_folder(draft)
        else:
            remove(draft)


_SUFFIX = ".draft"


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}{_SUFFIX}")


def _name_the_target(fault: BaseException, draft: Path, path: Path) -> None:
    """An error message should name the file that was asked for, not its draft."""
    if isinstance(fault, OSError) and str(fault.filename) == str(draft):
        fault.filename, fault.filename2 = str(path), None
