"""Merges the small parts of a `FileSink` into larger files, so that a long run does not leave a file for every step.

A merged file is named by the steps that it holds and put in place whole. From then on it hides the files within
its steps, and they are removed: who reads by `visible_files` has the old files or the new one, never both. A part
that a repeated step writes again is hidden too, and removed by the next merge.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from arterial.network.schema import Schema
from arterial.storage.place import put_in_place, remove
from arterial.storage.remote import readable

MERGED_AT_ONCE = 32
"""So many files of a tier become one of the next: each tuple is written again once a tier."""

LARGE_BYTES = 64 << 20
"""A file of this size is not merged further."""

_NAME = re.compile(r"part-(\d{9})-(\d{3})\.(?:parquet|csv|jsonl)|merged-(\d{9})-(\d{9})-(\d{2})\.(?:parquet|csv|jsonl)")


@dataclass(frozen=True, order=True)
class StepsFile:
    """A file with the tuples of some steps: a part of one step and slot (tier 0), or merged ones."""

    first: int
    slot: int
    last: int
    tier: int
    path: Path

    def hides(self, other: StepsFile) -> bool:
        """Whether it holds all that the other holds."""
        return self.tier > other.tier and self.first <= other.first and other.last <= self.last


def all_files(folder: Path) -> list[StepsFile]:
    """The files that a sink has put into a folder, hidden ones too, in the order of steps and slots."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        if match := _NAME.fullmatch(path.name):
            step, slot, first, last, tier = (int(text) if text else 0 for text in match.groups())
            found.append(StepsFile(first, 0, last, tier, path) if match[3] else StepsFile(step, slot, step, 0, path))
    return sorted(found)


def visible_files(folder: Path) -> list[StepsFile]:
    """The files that together hold each tuple once, in the order of steps and slots."""
    visible: list[StepsFile] = []
    for file in sorted(all_files(folder), key=lambda file: (file.first, -file.tier)):
        # Merged files lie within each other or apart: what hides a file is the last one that is not hidden.
        if not (visible and visible[-1].hides(file)):
            visible.append(file)
    return visible


def compact(folder: Path, suffix: str, schema: Schema, before: int) -> None:
    """Merge what is worth it among the files of the steps before a step: at most one group."""
    visible = visible_files(folder)
    kept = {file.path for file in visible}
    for file in all_files(folder):  # what a merge that was killed, or a step that was repeated, has left
        if file.path not in kept and file.last < before:
            remove(file.path)
    for group in _groups([file for file in visible if file.last < before]):
        if len(group) >= MERGED_AT_ONCE:
            merge(folder, suffix, schema, group)
            return


def merge(folder: Path, suffix: str, schema: Schema, group: Sequence[StepsFile]) -> None:
    """Make one file of some that follow each other and are complete steps."""
    tier = max(file.tier for file in group) + 1
    name = f"merged-{group[0].first:09d}-{group[-1].last:09d}-{tier:02d}.{suffix}"
    put_in_place(folder / name, lambda file: join([member.path for member in group], suffix, schema, file))
    for member in group:
        remove(member.path)


def join(paths: Sequence[Path], suffix: str, schema: Schema, file: BinaryIO) -> None:
    """Write to an open file what some files hold, one after the other, without having all in memory."""
    if suffix == "parquet":
        sources: Any = [readable(path) for path in paths]
        frames = pl.scan_parquet(sources) if paths else schema.empty().lazy()
        frames.sink_parquet(file, compression="lz4", statistics=True)
        return
    header = schema.empty().write_csv().encode() if suffix == "csv" else b""
    file.write(header)
    for path in paths:
        with path.open("rb") as part:
            part.seek(len(header))
            shutil.copyfileobj(part, file, 1 << 20)


def _groups(files: Sequence[StepsFile]) -> list[list[StepsFile]]:
    """Small files of one tier that follow each other, all slots of a step together, in pieces of about a large file.

    Nothing lies between the files of a group: a merged file hides all that is within its steps.
    """
    groups: list[list[StepsFile]] = [[]]
    size = 0
    for _, slots in groupby(files, lambda file: (file.first, file.last)):
        unit = list(slots)
        added = sum(file.path.stat().st_size for file in unit)
        if size + added > LARGE_BYTES or (groups[-1] and groups[-1][-1].tier != unit[0].tier):
            groups.append([])
            size = 0
        if added < LARGE_BYTES:
            groups[-1] += unit
            size += added
    return groups
