"""What a store must be able to do, so that the files of a run can lie there; keys are names within the store."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO, Protocol

DRAFT = ".draft"


@dataclass(frozen=True)
class Info:
    """What a store says of a file or folder."""

    name: str
    is_folder: bool
    size: int = 0
    changed: int = 0
    """When it was changed, in nanoseconds."""
    mode: int = 0o600
    """Who may write to it; a store that does not say lets nobody else."""


class Store(Protocol):
    """A store. A file is there whole or not at all; no call depends on what a listing says."""

    def info(self, key: str) -> Info | None:
        """What is there; None if nothing is."""

    def list(self, key: str) -> list[Info]:
        """What is in a folder."""

    def open(self, key: str) -> BinaryIO:
        """A file, to read it."""

    def create(self, key: str, content: bytes) -> None:
        """Write a file under a name that nobody else knows or uses."""

    def put(self, key: str, content: bytes) -> None:
        """Write a file in the place of what is there: a reader sees the old content or the new one."""

    def put_if_absent(self, key: str, content: bytes) -> None:
        """Write a file unless one is there."""

    def rename(self, key: str, target: str) -> None:
        """Give a file another name, in the place of a file of that name, or a folder one that is free.

        A store that cannot rename a folder in one moment raises `OSError`.
        """

    def copy(self, key: str, target: str) -> None:
        """Copy a file, in the place of what is there; `FileNotFoundError` if it is gone."""

    def unlink(self, key: str) -> None:
        """Remove a file, if it is there."""

    def make_folder(self, key: str) -> None:
        """Make a folder, and those that it lies in, if they are not there yet."""

    def remove_folder(self, key: str) -> None:
        """Remove a folder with all that is in it, if it is there."""


def draft_key(key: str) -> str:
    """A name beside a file that no other process and no other host uses."""
    folder, _, name = key.rpartition("/")
    return f"{folder}/.{name}.{os.urandom(8).hex()}{DRAFT}"
