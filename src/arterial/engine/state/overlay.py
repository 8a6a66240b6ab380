"""State that a box writes to while it works: nothing reaches the real state before the box has succeeded."""

from __future__ import annotations

from typing import Any

from arterial.network.state import Chunk, State


class Overlay:
    """A box's writes of one train, over the state from before it."""

    def __init__(self, below: State) -> None:
        self._below = below
        self._written: dict[tuple[str, str], Chunk | None] = {}

    def get(self, table: str, key: str = "") -> Chunk | None:
        """The chunk, or None if there is none."""
        if (table, key) in self._written:
            return self._written[table, key]
        return self._below.get(table, key)

    def put(self, table: str, key: str, chunk: Chunk) -> None:
        """Replace the chunk."""
        self._written[table, key] = chunk

    def drop(self, table: str, key: str = "") -> None:
        """Forget the chunk."""
        self._written[table, key] = None

    def keys(self, table: str) -> list[str]:
        """The keys of the table's chunks, in order."""
        keys = set(self._below.keys(table))
        for (name, key), chunk in self._written.items():
            if name == table:
                (keys.discard if chunk is None else keys.add)(key)
        return sorted(keys)

    @property
    def memo(self) -> dict[str, Any]:
        """A place for what can be computed again from the chunks."""
        return self._below.memo

    @property
    def earlier_memo(self) -> dict[str, Any]:
        """What an earlier train left in the memo."""
        return self._below.earlier_memo

    def commit(self) -> None:
        """Write to the state below."""
        for (table, key), chunk in self._written.items():
            if chunk is None:
                self._below.drop(table, key)
            else:
                self._below.put(table, key, chunk)
