"""Reads a file one block ahead: while the run works on a block, the next one is read and judged in a thread."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy

from arterial.connectors.files.blocks import Block, Place, Reading, read_blocks
from arterial.connectors.files.find import DataFile

Found = tuple[Block | None, Place]
"""A block, None behind the last; and the place behind it."""


class ReadAhead:
    """The blocks of a file behind a place, each with the place behind it. The file must not grow meanwhile."""

    def __init__(self, file: DataFile, reading: Reading, place: Place) -> None:
        self._place = deepcopy(place)
        self._blocks = read_blocks(file, reading, self._place)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
        self._next: Future[Found] = self._thread.submit(self._read)

    def take(self) -> Found:
        """The next block; from now on the one behind it is read."""
        found = self._next.result()
        if found[0] is not None:
            self._next = self._thread.submit(self._read)
        return found

    def close(self) -> None:
        """Stop reading; what was read ahead is let go."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _read(self) -> Found:
        return next(self._blocks, None), deepcopy(self._place)
