"""Queries by the cells that can change their answers: the other half of the join of shared execution (§3.4).

A query is entered in at most four blocks, of the finest level at which its cells span no more than two blocks either
way (a block of level L is 2^L by 2^L cells). A query that every report may change (fewer than k objects are known to it,
or its region crosses the 180th meridian) stands in one block of its own, the open block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from arterial.moving.grid import NONE, Grid, Objects

Array = np.ndarray[Any, Any]

RANGE, MOVING_RANGE, KNN, MOVING_KNN, FREE = 0, 1, 2, 3, -1
ENTRIES = 4


class Queries(NamedTuple):
    """A column for everything that is known of a query; a query is a row.

    `shape` is x1, y1, x2, y2 of a range, xdist, ydist of a moving range, x, y of k nearest. `start`, `count` and `room` say
    where in the pool of answers its answer lies. `cells` are the first and last column and row of its region.
    """

    kind: Array
    k: Array
    focal: Array
    shape: Array
    rank: Array
    sibling: Array
    cells: Array
    level: Array
    start: Array
    count: Array
    room: Array
    stamp: Array


class Index(NamedTuple):
    """The blocks of all levels one after another, the open block last; an entry is a row of a query's four."""

    offset: Array
    columns: Array
    head: Array
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
        cells=np.zeros((room, 4), np.int32),
        level=np.full(room, NONE, np.int32),
        start=np.zeros(room, np.int64),
        count=np.zeros(room, np.int64),
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
        entry_after=np.full(room * ENTRIES, NONE, np.int32),
        entry_before=np.full(room * ENTRIES, NONE, np.int32),
        entry_block=np.full(room * ENTRIES, NONE, np.int32),
        population=np.zeros(len(sizes) + 1, np.int64),
    )


@njit(cache=True)
def enter(queries: Queries, index: Index, query: int, left: int, low: int, right: int, high: int) -> None:
    """Enter a query for the cells of these columns and rows, unless it stands there already."""
    cells = queries.cells[query]
    if queries.level[query] != NONE:
        if (
            cells[0] == left
            and cells[1] == low
            and cells[2] == right
            and cells[3] == high
            and queries.level[query] < len(index.columns)
        ):
            return
        leave(queries, index, query)
    cells[0], cells[1], cells[2], cells[3] = left, low, right, high
    level = 0
    while (right >> level) - (left >> level) > 1 or (high >> level) - (low >> level) > 1:
        level += 1
    entry = query * ENTRIES
    for row in range(low >> level, (high >> level) + 1):
        for column in range(left >> level, (right >> level) + 1):
            _enter_block(index, entry, index.offset[level] + row * index.columns[level] + column)
            entry += 1
    queries.level[query] = level
    index.population[level] += 1


@njit(cache=True)
def enter_open(queries: Queries, index: Index, query: int) -> None:
    """Enter a query that every report may change."""
    level = len(index.columns)
    if queries.level[query] == level:
        return
    leave(queries, index, query)
    _enter_block(index, query * ENTRIES, index.offset[level])
    queries.level[query] = level
    index.population[level] += 1


@njit(cache=True)
def leave(queries: Queries, index: Index, query: int) -> None:
    """Take a query out of the index, if it stands in it."""
    level = queries.level[query]
    if level == NONE:
        return
    index.population[level] -= 1
    queries.level[query] = NONE
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
        if queries.level[chosen[i]] != NONE:
            pending[queries.level[chosen[i]]] -= 1
    for i in range(len(focals)):
        query = objects.first_query[focals[i]]
        while query != NONE:
            if queries.stamp[query] != stamp:
                queries.stamp[query] = stamp
                chosen[chosen_count] = query
                chosen_count += 1
                if queries.level[query] != NONE:
                    pending[queries.level[query]] -= 1
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
