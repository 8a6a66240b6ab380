"""Queries by the cells that can change their answers: the other half of the join of shared execution (§3.4).

A query is entered in at most four blocks, of the finest level at which its cells span no more than two blocks either
way (a block of level L is 2^L by 2^L cells). A query that every report may change (fewer than k objects are known to
it, or its region crosses the 180th meridian) stands in one block of its own, the open block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from arterial.arrays import Array
from arterial.moving.shared.grid import NONE, Grid, Objects

RANGE, MOVING_RANGE, KNN, MOVING_KNN, FREE = 0, 1, 2, 3, -1
ENTRIES = 4
OPEN, NOWHERE = -1, -2
"""Regions, in place of a first column: any report may change the answer; none can."""


class Queries(NamedTuple):
    """A column for everything that is known of a query; a query is a row.

    `shape` is x1, y1, x2, y2 of a range, xdist, ydist of a moving range, x, y of k nearest. `start`, `held` and `room`
    say where in the pool of answers its answer lies. `cells` are the first column and row and the last of its region.
    """

    kind: Array
    k: Array
    focal: Array
    shape: Array
    rank: Array
    sibling: Array
    cells: Array
    start: Array
    held: Array
    room: Array
    stamp: Array


class Index(NamedTuple):
    """The blocks of all levels one after another, the open block last; an entry is a row of a query's four.

    `cells` is the region for which a query is entered, at `level`.
    """

    offset: Array
    columns: Array
    head: Array
    cells: Array
    level: Array
    entry_after: Array
    entry_before: Array
    entry_block: Array
    population: Array


def empty_queries(room: int) -> Queries:
    """Columns with room for so many queries."""
    return Queries(
        kind=np.full(room, FREE, np.int8),
        k=np.zeros(room, np.int64),
        focal=np.full(room, NONE, np.int32),
        shape=np.zeros((room, 4)),
        rank=np.zeros(room, np.int64),
        sibling=np.full(room, NONE, np.int32),
        cells=np.full((room, 4), NOWHERE, np.int32),
        start=np.zeros(room, np.int64),
        held=np.zeros(room, np.int64),
        room=np.zeros(room, np.int64),
        stamp=np.zeros(room, np.int64),
    )


def empty_index(grid: Grid, room: int) -> Index:
    """An index over the cells of a grid, with room for so many queries."""
    columns, rows = int(grid.size[0]), int(grid.size[1])
    levels = max(columns - 1, rows - 1).bit_length()
    sizes = [((columns - 1 >> level) + 1, (rows - 1 >> level) + 1) for level in range(max(levels, 1))]
    offset = np.cumsum([0] + [across * down for across, down in sizes])
    return Index(
        offset=offset.astype(np.int64),
        columns=np.array([across for across, _ in sizes], np.int64),
        head=np.full(int(offset[-1]) + 1, NONE, np.int32),
        cells=np.full((room, 4), NOWHERE, np.int32),
        level=np.full(room, NONE, np.int32),
        entry_after=np.full(room * ENTRIES, NONE, np.int32),
        entry_before=np.full(room * ENTRIES, NONE, np.int32),
        entry_block=np.full(room * ENTRIES, NONE, np.int32),
        population=np.zeros(len(sizes) + 1, np.int64),
    )


@njit(cache=True)
def enter_regions(queries: Queries, index: Index, rows: Array) -> None:
    """Enter the queries of these rows for the regions that they have now."""
    for i in range(len(rows)):
        query = rows[i]
        wanted, entered = queries.cells[query], index.cells[query]
        if wanted[0] == entered[0] and (
            wanted[0] < 0 or (wanted[1] == entered[1] and wanted[2] == entered[2] and wanted[3] == entered[3])
        ):
            continue
        _leave(index, query)
        entered[:] = wanted
        if wanted[0] == NOWHERE:
            continue
        level, entry = 0, query * ENTRIES
        if wanted[0] == OPEN:
            level = len(index.columns)
            _enter_block(index, entry, index.offset[level])
        else:
            left, low, right, high = wanted[0], wanted[1], wanted[2], wanted[3]
            while (right >> level) - (left >> level) > 1 or (high >> level) - (low >> level) > 1:
                level += 1
            for row in range(low >> level, (high >> level) + 1):
                for column in range(left >> level, (right >> level) + 1):
                    _enter_block(index, entry, index.offset[level] + row * index.columns[level] + column)
                    entry += 1
        index.level[query] = level
        index.population[level] += 1


@njit(cache=True)
def _leave(index: Index, query: int) -> None:
    level = index.level[query]
    if level == NONE:
        return
    index.population[level] -= 1
    index.level[query] = NONE
    for entry in range(query * ENTRIES, query * ENTRIES + ENTRIES):
        block = index.entry_block[entry]
        if block == NONE:
            break
        after, before = index.entry_after[entry], index.entry_before[entry]
        if before != NONE:
            index.entry_after[before] = after
        else:
            index.head[block] = after
        if after != NONE:
            index.entry_before[after] = before
        index.entry_block[entry] = NONE


@njit(cache=True)
def find_affected(
    objects: Objects,
    grid: Grid,
    queries: Queries,
    index: Index,
    stamp: int,
    focals: Array,
    dirty: Array,
    chosen: Array,
    chosen_count: int,
) -> int:
    """Add to `chosen` the queries of the focal objects that moved, and those whose cells are dirty; returns the count.

    A query whose `stamp` is this time unit's is chosen already.
    """
    pending = index.population.copy()
    for i in range(chosen_count):
        if index.level[chosen[i]] != NONE:
            pending[index.level[chosen[i]]] -= 1
    for i in range(len(focals)):
        query = objects.first_query[focals[i]]
        while query != NONE:
            if queries.stamp[query] != stamp:
                queries.stamp[query] = stamp
                chosen[chosen_count] = query
                chosen_count += 1
                if index.level[query] != NONE:
                    pending[index.level[query]] -= 1
            query = queries.sibling[query]
    if len(dirty) == 0:
        return chosen_count
    levels = len(index.columns)
    if pending[levels] > 0:
        chosen_count = _choose(queries, index, index.offset[levels], stamp, chosen, chosen_count)
    for level in range(levels):
        if pending[level] <= 0:
            continue
        for i in range(len(dirty)):
            column, row = dirty[i] % grid.size[0], dirty[i] // grid.size[0]
            block = index.offset[level] + (row >> level) * index.columns[level] + (column >> level)
            entry = index.head[block]
            while entry != NONE:
                query = entry // ENTRIES
                if queries.stamp[query] != stamp:
                    cells = queries.cells[query]
                    if cells[0] <= column <= cells[2] and cells[1] <= row <= cells[3]:
                        queries.stamp[query] = stamp
                        chosen[chosen_count] = query
                        chosen_count += 1
                        pending[level] -= 1
                entry = index.entry_after[entry]
            if pending[level] <= 0:
                break
    return chosen_count


@njit(cache=True)
def _choose(queries: Queries, index: Index, block: int, stamp: int, chosen: Array, chosen_count: int) -> int:
    entry = index.head[block]
    while entry != NONE:
        query = entry // ENTRIES
        if queries.stamp[query] != stamp:
            queries.stamp[query] = stamp
            chosen[chosen_count] = query
            chosen_count += 1
        entry = index.entry_after[entry]
    return chosen_count


@njit(cache=True)
def _enter_block(index: Index, entry: int, block: int) -> None:
    first = index.head[block]
    index.entry_after[entry] = first
    index.entry_before[entry] = NONE
    if first != NONE:
        index.entry_before[first] = entry
    index.head[block] = entry
    index.entry_block[entry] = block
