"""Puts files and folders in place: a reader sees the old content or the new one, never half of it.

What is new is written to a draft beside its target, under a name that no other process and no other host uses, and then
renamed. All files that must survive a crash are written and removed here and in `appended`.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

PRIVATE = 0o600
"""The mode of files that only this user may read: pickles and state may hold secrets."""

_USUAL = 0o666

Content = str | bytes | memoryview | Sequence[Any] | Callable[[BinaryIO], object]
"""Text, bytes, buffers one after the other, or a function that writes to the open file."""


def put_in_place(path: Path, content: Content, *, mode: int = _USUAL) -> None:
    """Write a file, replacing what is there. If that fails, what is there stays."""
    draft = _draft_of(path)
    try:
        _write(draft, content, mode)
        draft.replace(path)
    except BaseException as fault:
        remove(draft)
        _name_the_target(fault, draft, path)
        raise


def put_if_absent(path: Path, content: Content) -> None:
    """Write a file unless one is there; of several processes that try at the same time, one succeeds."""
    draft = _draft_of(path)
    try:
        _write(draft, content, _USUAL)
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        remove(draft)


def write_parts(path: Path, parts: Sequence[Any], mode: int = PRIVATE) -> None:
    """Write a new file from several buffers; if that fails there is none."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        for part in parts:
            view = memoryview(part).cast("B") if len(part) else memoryview(b"")
            while view:
                view = view[os.write(file, view) :]
    except OSError:
        remove(path)
        raise
    finally:
        os.close(file)


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    path.unlink(missing_ok=True)


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside `path`, on the same disk. It is removed in the end, unless it was renamed."""
    draft = _draft_of(path)
    try:
        draft.mkdir(parents=True)
        yield draft
    except OSError as fault:
        _name_the_target(fault, draft, path)
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def rename(draft: Path, path: Path) -> None:
    """Give a finished file or folder its name; an old folder of that name is removed when the new one is there."""
    if path.is_dir():
        with draft_folder(path) as old:
            path.replace(old)
            draft.replace(path)
    else:
        draft.replace(path)


def remove_drafts(folder: Path, name: str = "") -> None:
    """Remove the drafts, all or those of one name, that killed processes left in a folder.

    Only for who is alone in writing there, or to that name: the draft of a process that is at work would go too.
    """
    for draft in folder.glob(f".{glob.escape(name)}.*{_SUFFIX}" if name else f".*{_SUFFIX}"):
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            remove(draft)


_SUFFIX = ".draft"


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.urandom(8).hex()}{_SUFFIX}")


def _name_the_target(fault: BaseException, draft: Path, path: Path) -> None:
    """An error message should name the file that was asked for, not its draft."""
    if isinstance(fault, OSError) and str(fault.filename) == str(draft):
        fault.filename, fault.filename2 = str(path), None


def _write(path: Path, content: Content, mode: int) -> None:
    if callable(content):
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            content(file)
    elif isinstance(content, str):
        write_parts(path, [content.encode()], mode)
    else:
        write_parts(path, [content] if isinstance(content, bytes | memoryview) else content, mode)
