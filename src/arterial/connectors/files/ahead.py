"""Reads a file some blocks ahead: while the run works on one, the next ones are judged side by side in threads.

One thread cuts the file between lines, in order; as many as there are cores judge what was cut. What comes of a block
is the same as without them, since a line is judged by itself (decision 45) and blocks are taken in their order.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from functools import cache

from arterial.connectors.files.blocks import Block, CutBlock, Judged, Place, Reading, cut_blocks
from arterial.connectors.files.find import DataFile

AHEAD = 8
"""So many blocks are read ahead."""

Found = tuple[Block | None, Place]
"""A block, None behind the last; and the place behind it."""
Units = dict[str, str]


class ReadAhead:
    """The blocks of a file behind a place, each with the place behind it. The file must not grow meanwhile."""

    def __init__(self, file: DataFile, reading: Reading, place: Place) -> None:
        self._place, self._units = deepcopy(place), dict(place.units)
        self._cuts = cut_blocks(file, reading, self._place)
        self._cutter = ThreadPoolExecutor(1, thread_name_prefix="read-ahead")
        self._coming = deque(self._cutter.submit(self._cut) for _ in range(AHEAD))

    def take(self) -> Found:
        """The next block; from now on one more behind it is read."""
        found = self._coming.popleft().result()
        if found is None:
            return None, self._place
        self._coming.append(self._cutter.submit(self._cut))
        cut, known, judging = found
        judged, units = judging.result()
        if known != self._units:  # a block before it was the first with numbers as times
            judged, units = _judge(cut, self._units)
        self._units, self._place = units, Place(cut.bytes, cut.lines, dict(units))
        return cut.block(judged), self._place

    def close(self) -> None:
        """Stop reading; what was read ahead is let go."""
        self._cutter.shutdown(wait=False, cancel_futures=True)

    def _cut(self) -> tuple[CutBlock, Units, Future[tuple[Judged, Units]]] | None:
        cut, known = next(self._cuts, None), self._units
        return None if cut is None else (cut, known, _judges().submit(_judge, cut, known))


def _judge(cut: CutBlock, known: Units) -> tuple[Judged, Units]:
    units = dict(known)
    return cut.judge(units), units


@cache
def _judges() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)), thread_name_prefix="judge")


os.register_at_fork(after_in_child=_judges.cache_clear)  # a process that was forked has none of the threads
