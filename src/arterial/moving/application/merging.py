"""Puts the lines that several shards wrote into the order in which one shard writes them, without looking at a line.

The lines of one query at one instant are a run: they come from one shard, and are in order there. So a shard says how
many bytes each of its runs has, and runs are copied whole, by instant and then by query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import polars as pl
from numba import njit

from arterial.arrays import Array
from arterial.moving.shared.state import NUMBER
from arterial.storage.damage import read_json
from arterial.storage.place import put_in_place

NOTE, RUNS = ".json", ".npy"
BLOCK = 1 << 22
"""About so many bytes are put together at a time."""


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
    named = queries.gather(starts).cast(pl.String)
    names = named.unique(maintain_order=True)
    per_instant = np.diff(np.searchsorted(starts, begins), append=len(starts))
    line = np.repeat(_sizes(times), per_instant) + _sizes(named) + len(",,+,\n")
    if objects.dtype.is_integer():
        ids = sizes_of_numbers(objects.cast(pl.Int64).to_numpy(), starts)
    else:
        ids = np.add.reduceat(_sizes(objects), starts)
    return Runs(
        names.to_list(),
        named.cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy(),
        line * np.diff(starts, append=len(queries)) + ids,
        per_instant,
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
    return cast(BinaryIO, _Lines(_in_order(parts, keys, sizes)))


class _Lines(RawIOBase):
    """Lines to be read, a block at a time, whatever size is asked for."""

    def __init__(self, blocks: Iterator[bytes | memoryview]) -> None:
        self._blocks = blocks

    def read(self, size: int = -1, /) -> bytes | memoryview:
        """The next block; nothing at the end."""
        return next(self._blocks, b"")


def _in_order(parts: Sequence[Path], keys: list[Array], sizes: list[Array]) -> Iterator[bytes | memoryview]:
    """The runs of all parts in the order of their keys, in blocks; a block's memory is used again for the next."""
    size = np.concatenate(sizes)
    order = np.argsort(np.concatenate(keys), kind="stable")  # quick, as each shard's are in order
    ends = np.cumsum(size[order])
    place = np.empty(len(size), np.int64)
    place[order] = ends - size[order]
    places = np.split(place, np.cumsum([len(some) for some in sizes])[:-1])
    begins = [np.cumsum(some) - some for some in sizes]
    contents = [np.memmap(part, np.uint8, "r") for part in parts]
    cuts = np.unique(ends[np.minimum(np.searchsorted(ends, np.arange(BLOCK, ends[-1] + BLOCK, BLOCK)), len(ends) - 1)])
    block, begin = np.empty(int(np.diff(cuts, prepend=0).max()), np.uint8), 0
    for end in cuts.tolist():
        for content, some, to, at in zip(contents, sizes, places, begins, strict=True):
            first, last = np.searchsorted(to, (begin, end))
            if first < last:
                put_runs(content[at[first] :], some[first:last], to[first:last] - begin, block)
        yield block.data[: end - begin]
        begin = end


@njit(cache=True)
def put_runs(lines: Array, sizes: Array, places: Array, into: Array) -> None:
    """Copy runs that follow each other, each to its place."""
    begin = 0
    for run in range(len(sizes)):
        end, place = begin + sizes[run], places[run]
        into[place : place + sizes[run]] = lines[begin:end]
        begin = end


@njit(cache=True)
def sizes_of_numbers(numbers: Array, starts: Array) -> Array:
    """How many characters whole numbers have, all from one of the `starts` to the next together."""
    sizes = np.zeros(len(starts), np.int64)
    for run in range(len(starts)):
        end = starts[run + 1] if run + 1 < len(starts) else len(numbers)
        for i in range(starts[run], end):
            number = numbers[i]
            # The opposite of the least of all is right as a number without a sign.
            magnitude = np.uint64(number if number >= 0 else -number)
            size = 1 if number >= 0 else 2
            least = np.uint64(10)
            while magnitude >= least:
                least *= np.uint64(10)
                size += 1
            sizes[run] += size
    return sizes


def _sizes(texts: pl.Series) -> Array:
    """How many bytes each text has."""
    return texts.str.len_bytes().cast(pl.Int64).to_numpy()


def _ranks(names: pl.Series) -> Array:
    """The place of each name in the order of ids: those that are numbers first, then the others as texts."""
    name = pl.col("name")
    number = pl.when(name.str.contains(NUMBER)).then(name).cast(pl.Int64)
    text = pl.when(number.is_null()).then(name)
    in_order = names.alias("name").to_frame().with_row_index("place").sort(number, text, nulls_last=True)
    ranks = np.empty(len(names), np.int64)
    ranks[in_order["place"].to_numpy()] = np.arange(len(names))
    return ranks
