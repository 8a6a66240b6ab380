"""Puts the lines that several shards wrote into the order in which one shard writes them, without looking at a line.

The lines of one query at one instant are a run: they come from one shard, and are in order there. So a shard says how
many bytes each of its runs has, and runs are copied whole, by instant and then by query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numba import njit

from arterial.arrays import Array
from arterial.moving.shared.state import NUMBER
from arterial.storage.damage import read_json
from arterial.storage.place import put_in_place

NOTE, RUNS = ".json", ".npy"


@dataclass(frozen=True)
class Runs:
    """The runs of a part, in order: for each the place of its query among `names`, and how many bytes it has."""

    names: list[str]
    query: Array
    size: Array
    per_instant: Array
    """How many there are at each instant."""

    def note(self) -> dict[str, Any]:
        """What of them the note beside a part says."""
        return {"names": self.names, "runs": self.per_instant.tolist()}

    def write(self, part: Path) -> None:
        """Write the rest into a file beside a part."""
        put_in_place(part.with_suffix(RUNS), lambda file: np.save(file, np.stack([self.query, self.size])))


def runs_of(begins: Array, times: pl.Series, queries: pl.Series, objects: pl.Series) -> Runs:
    """The runs of updates in lines of `write_updates`; an instant `begins` at a row, and `times` has its text."""
    first = queries.ne(queries.shift(1)).fill_null(True).to_numpy().copy()
    first[begins] = True
    starts = np.flatnonzero(first)
    rows = np.diff(begins, append=len(queries))
    length = np.repeat(_sizes(times), rows) + _sizes(queries) + _sizes(objects) + len(",,+,\n")
    named = queries.gather(starts).cast(pl.String)
    names = named.unique(maintain_order=True)
    return Runs(
        names.to_list(),
        named.cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy(),
        np.add.reduceat(length, starts),
        np.diff(np.searchsorted(starts, begins), append=len(starts)),
    )


def merged(parts: Sequence[Path]) -> BinaryIO:
    """The lines of the parts of a step, one from each shard, as one shard would have written them."""
    notes = [read_json(part.with_suffix(NOTE)) for part in parts]
    instants = np.unique(np.concatenate([note["instants"] for note in notes]))
    ranks = _ranks(pl.concat([pl.Series(note["names"], dtype=pl.String) for note in notes]))
    keys, sizes, begin = [], [], 0
    for part, note in zip(parts, notes, strict=True):
        with part.with_suffix(RUNS).open("rb") as file:
            query, size = np.load(file)
        instant = np.repeat(np.searchsorted(instants, note["instants"]), note["runs"])
        keys.append(instant * len(ranks) + ranks[begin + query])
        sizes.append(size)
        begin += len(note["names"])
    order = np.argsort(np.concatenate(keys), kind="stable")  # quick, as each shard's are in order
    size = np.concatenate(sizes)
    place = np.empty(len(size), np.int64)
    place[order] = np.cumsum(size[order]) - size[order]
    lines, begin = np.empty(int(size.sum()), np.uint8), 0
    for part, some in zip(parts, sizes, strict=True):
        put_runs(np.frombuffer(part.read_bytes(), np.uint8), some, place[begin : begin + len(some)], lines)
        begin += len(some)
    return BytesIO(lines.tobytes())


@njit(cache=True)
def put_runs(lines: Array, sizes: Array, places: Array, into: Array) -> None:
    """Copy runs that follow each other, each to its place."""
    begin = 0
    for run in range(len(sizes)):
        end, place = begin + sizes[run], places[run]
        into[place : place + sizes[run]] = lines[begin:end]
        begin = end


@njit(cache=True)
def text_sizes(numbers: Array) -> Array:
    """How many characters each whole number has."""
    sizes = np.empty(len(numbers), np.int64)
    for i in range(len(numbers)):
        number, size = numbers[i], 1
        rest = number // 10
        if number < 0:  # the least of all has no opposite, but what is left without its last digit has
            rest, size = -(rest + (number % 10 != 0)), 2
        while rest:
            rest //= 10
            size += 1
        sizes[i] = size
    return sizes


def _sizes(ids: pl.Series) -> Array:
    """How many bytes each id has as a text."""
    if ids.dtype.is_integer():
        return text_sizes(ids.cast(pl.Int64).to_numpy())
    return ids.str.len_bytes().cast(pl.Int64).to_numpy()


def _ranks(names: pl.Series) -> Array:
    """The place of each name in the order of ids: those that are numbers first, then the others as texts."""
    name = pl.col("name")
    number = pl.when(name.str.contains(NUMBER)).then(name).cast(pl.Int64)
    text = pl.when(number.is_null()).then(name)
    in_order = names.alias("name").to_frame().with_row_index("place").sort(number, text, nulls_last=True)
    ranks = np.empty(len(names), np.int64)
    ranks[in_order["place"].to_numpy()] = np.arange(len(names))
    return ranks
