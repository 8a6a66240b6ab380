"""Keeps a connection point's table: takes in the parts of each step, merges small files, drops what is too old.

A table is kept in the driver of the run, by one keeper at a time; one of another version of the network goes on from
what the contents say. Merging goes on in a thread of its own; what it made counts from the next step on. Killed at any
moment, the next keeper goes on from the contents, and with its first step removes what they do not name.
"""

from __future__ import annotations

import re
import time as clock
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, takewhile
from pathlib import Path
from threading import Thread

import polars as pl

from arterial.connectors.points.contents import Contents, Point, TableFile, read_contents, stamp_of, write_contents
from arterial.connectors.points.files import describe_file, merged_name, write_table_file
from arterial.errors import RunError
from arterial.network.train import BEGIN, END
from arterial.storage.damage import read_parquet
from arterial.storage.place import remove, remove_drafts

MERGED_AT_ONCE = 32
"""The files of so many steps of a tier become one of the next: each tuple is written again once a tier."""

LARGE_BYTES = 32 << 20
"""A file of this size is not merged further."""

GRACE_SECONDS = 60.0
"""How long a file that no longer counts stays, for readers that are about to open it."""

_STEPS = re.compile(r"part-(\d{9})-(\d{3})\.parquet|merged-(\d{9})-(\d{9})-(\d{2})\.parquet")


class Keeper:
    """The one writer of a table's contents."""

    def __init__(self, folder: Path, point: Point) -> None:
        self.folder, self.point = folder, point
        self.contents = Contents()
        self._stamp: tuple[int, ...] | None = None
        self._tidied = False
        self._thread: Thread | None = None
        self._merged: tuple[list[TableFile], TableFile] | None = None
        self._fault: Exception | None = None
        self._received: dict[int, set[str]] = {}

    def receive(self, step: int, name: str) -> None:
        """Know of a part that a task of this step has written, maybe on another host."""
        self._received.setdefault(step, set()).add(name)

    def commit(self, step: int) -> None:
        """Let the parts of a step count. A second time changes nothing."""
        self._look()
        if not self._tidied:  # here no task is at work
            self._tidy()
            self._tidied = True
        if step <= self.contents.step:
            return
        paths = [self.folder / name for name in self._received.pop(step, ())] or [
            path for path in self.folder.glob(f"part-{step:09d}-*.parquet") if _STEPS.fullmatch(path.name)
        ]
        parts = [describe_file(path, step, step, 0) for path in sorted(paths)]
        if not parts:
            return
        through = max(self.contents.through, min(BEGIN if t is None else t for _, t in parts))
        files = [*self._with_merged(), *(file for file, _ in parts if file.rows)]
        empty = [(file.name, 0.0) for file, _ in parts if not file.rows]
        new = replace(self.contents, step=step, through=through, files=tuple(files))
        new = replace(new, leaving=(*new.leaving, *self._left(), *empty))
        new = self._without_old(new)
        now = clock.time()
        over = [name for name, at in new.leaving if at < now - GRACE_SECONDS]
        new = replace(new, leaving=tuple(one for one in new.leaving if one[0] not in over))
        self._let_count(new)
        for name in over:
            remove(self.folder / name)
        self._merge_aside(step)

    def finish(self) -> None:
        """Wait for a merge that goes on; nothing is left behind that does not count."""
        if self._thread is not None:
            self._thread.join()
        self._look()
        self._let_count(replace(self.contents, files=tuple(self._with_merged()), leaving=()))
        self._tidy()

    def _look(self) -> None:
        """Take over what counts, if it was not this keeper that wrote it."""
        stamp = stamp_of(self.folder)
        if stamp != self._stamp:
            self.contents, self._stamp = read_contents(self.folder), stamp

    def _let_count(self, contents: Contents) -> None:
        write_contents(self.folder, contents)
        self.contents, self._stamp = contents, stamp_of(self.folder)

    def _tidy(self) -> None:
        """Remove what a keeper that was killed left: files of finished steps that do not count."""
        remove_drafts(self.folder)
        counts = {file.name for file in self.contents.files} | {name for name, _ in self.contents.leaving}
        for path in self.folder.iterdir():
            found = _STEPS.fullmatch(path.name)
            if found and path.name not in counts and int(found[1] or found[4]) <= self.contents.step:
                remove(path)

    def _without_old(self, contents: Contents) -> Contents:
        """Without the oldest files, as far as the retention says. Of the last step of them another slot's may stay."""
        if contents.through in (BEGIN, END):
            return contents
        oldest = contents.through - self.point.retention
        gone = list(takewhile(lambda file: file.latest < oldest, contents.files))
        if not gone:
            return contents
        now = clock.time()
        return replace(
            contents,
            files=contents.files[len(gone) :],
            lost=max(contents.lost, *(file.latest for file in gone)),
            lost_rows=contents.lost_rows + sum(file.rows for file in gone),
            leaving=(*contents.leaving, *((file.name, now) for file in gone)),
        )

    def _with_merged(self) -> list[TableFile]:
        """The files that count, with a merge that was finished since in the place of what it merged."""
        self._replaced: list[TableFile] = []
        if self._fault is not None:
            raise RunError(f"connection point {self.point.name!r}: merging its files failed: {self._fault}")
        files = list(self.contents.files)
        if self._merged is None:
            return files
        members, merged = self._merged
        self._merged = None
        names = {file.name for file in members}
        if not names <= {file.name for file in files}:  # the retention dropped some in the meantime
            self._replaced = [merged]
            return files
        self._replaced = members
        at = next(number for number, file in enumerate(files) if file.name in names)
        return [*files[:at], merged, *(file for file in files[at:] if file.name not in names)]

    def _left(self) -> list[tuple[str, float]]:
        now = clock.time()
        return [(file.name, now) for file in self._replaced]

    def _merge_aside(self, step: int) -> None:
        """Begin a merge, if one is worth it and none goes on. The step at hand may be run again: it is left out."""
        if self._merged is not None or (self._thread is not None and self._thread.is_alive()):
            return
        group = worth_merging([file for file in self.contents.files if file.last < step])
        if group:
            self._thread = Thread(target=self._merge, args=(group,), name="arterial-merging", daemon=True)
            self._thread.start()

    def _merge(self, group: list[TableFile]) -> None:
        try:
            first, last, tier = group[0].first, group[-1].last, max(file.tier for file in group) + 1
            path = self.folder / merged_name(first, last, tier)
            tuples = pl.concat([read_parquet(self.folder / file.name) for file in group])
            write_table_file(path, tuples, self.point.time, self.point.storage_key)
            self._merged = group, describe_file(path, first, last, tier)[0]
        except Exception as fault:  # reported with the next step
            self._fault = fault


def worth_merging(files: Sequence[TableFile]) -> list[TableFile]:
    """Small files of one tier that follow each other, whole steps, if they are enough; the oldest of such groups."""
    group: list[TableFile] = []
    steps, size = 0, 0
    for (_, _, tier), several in groupby(files, lambda file: (file.first, file.last, file.tier)):
        unit = list(several)
        added = sum(file.bytes for file in unit)
        if added >= LARGE_BYTES or (group and (group[-1].tier != tier or size + added > LARGE_BYTES)):
            if steps > 1 and size + added > LARGE_BYTES and group[-1].tier == tier:
                return group
            group, steps, size = [], 0, 0
            if added >= LARGE_BYTES:
                continue
        group, steps, size = group + unit, steps + 1, size + added
        if steps >= MERGED_AT_ONCE:
            return group
    return []
