"""The state of a box: named tables of columns, cut into chunks; the engine writes only the chunks that changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import polars as pl

from arterial.arrays import Array

Chunk = pl.DataFrame | Mapping[str, Array]
"""A piece of state: a frame, or named arrays where columns differ in length. Never changed in place once it was put."""


class State(Protocol):
    """What one box remembers in one shard.

    The chunks that a train leaves must follow from the chunks before it and the train alone, to the last bit, whatever
    the memos hold: `arterial.testing` checks that.

    A chunk is found by its table and key. Reading or writing one costs about a millisecond on Spark, whatever its
    size up to some 100 KB: cut a table so that a train touches few chunks, and only those that it needs.
    """

    def get(self, table: str, key: str = "") -> Chunk | None:
        """The chunk, or None if there is none."""

    def put(self, table: str, key: str, chunk: Chunk) -> None:
        """Replace the chunk."""

    def drop(self, table: str, key: str = "") -> None:
        """Forget the chunk."""

    def keys(self, table: str) -> list[str]:
        """The keys of the table's chunks, in order."""

    @property
    def memo(self) -> dict[str, Any]:
        """A place for what can be computed again from the chunks, such as an index over them.

        It holds what the last train of this shard left there, or is empty: the engine empties it whenever it cannot be
        sure of that.
        """

    @property
    def earlier_memo(self) -> dict[str, Any]:
        """Where the memo is empty: what some earlier train of this shard left in it, or nothing.

        It is for what is cheaper to bring up to date than to compute again; take it out to do so. On Spark a shard's
        trains are processed by several workers in turns, and each remembers the last that it processed.
        """


class MemoryState:
    """State in memory: the engine's in-process host and the tests use it, and Spark's host fills it."""

    def __init__(self, earlier_memo: dict[str, Any] | None = None) -> None:
        self.chunks: dict[tuple[str, str], Chunk] = {}
        self.touched: set[tuple[str, str]] = set()
        self.memo: dict[str, Any] = {}
        self.earlier_memo: dict[str, Any] = {} if earlier_memo is None else earlier_memo

    def get(self, table: str, key: str = "") -> Chunk | None:
        """The chunk, or None if there is none."""
        return self.chunks.get((table, key))

    def put(self, table: str, key: str, chunk: Chunk) -> None:
        """Replace the chunk."""
        self.chunks[table, key] = chunk
        self.touched.add((table, key))

    def drop(self, table: str, key: str = "") -> None:
        """Forget the chunk."""
        if self.chunks.pop((table, key), None) is not None:
            self.touched.add((table, key))

    def keys(self, table: str) -> list[str]:
        """The keys of the table's chunks, in order."""
        return sorted(key for name, key in self.chunks if name == table)
