"""Compiled loops over tuples and groups. Each walks the tuples in order, so that sums do not depend on cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from arterial.arrays import Array
from arterial.network.keys.hash_kernels import fold

_AHEAD = 64
"""So many rows are looked up at once, so that the processor waits for memory once and not for each of them."""


@njit(cache=True)
def _look(codes: Array, begin: int, end: int, table: Array, keys: Array, at: Array, first: Array) -> None:
    """The cell where the search for each row begins, and the slot there, or -1 if its key is another."""
    columns = codes.shape[1]
    cells = np.uint64(len(table) - 1)
    for i in range(begin, end):
        h = np.uint64(0)
        for k in range(columns):
            h = fold(h, np.uint64(codes[i, k]))
        at[i - begin] = h & cells
    for i in range(end - begin):
        first[i] = table[at[i]]
    for i in range(begin, end):
        slot = first[i - begin]
        if slot >= 0 and not _same(keys, slot, codes, i):
            first[i - begin] = -1


@njit(cache=True)
def _same(keys: Array, slot: Any, codes: Array, i: int) -> Any:
    columns, k = codes.shape[1], 0
    while k < columns and keys[slot, k] == codes[i, k]:
        k += 1
    return k == columns


@njit(cache=True)
def find_or_add(codes: Array, start: int, table: Array, keys: Array, count: int, slots: Array) -> tuple[int, int]:
    """Give every row from `start` on the slot of its key, adding keys that are new, until the table is half full.

    `table` is an open hash table of slots (-1: free), its length a power of two; `keys` holds the key of each slot.
    Returns the row where it stopped and the number of slots.
    """
    rows, columns = codes.shape
    cells = np.uint64(len(table) - 1)
    at, first = np.empty(_AHEAD, np.uint64), np.empty(_AHEAD, np.int64)
    for begin in range(start, rows, _AHEAD):
        end = min(begin + _AHEAD, rows)
        _look(codes, begin, end, table, keys, at, first)
        for i in range(begin, end):
            slot, cell = first[i - begin], at[i - begin]
            while slot < 0:
                # A row of this block may have added the key since.
                slot = np.int64(table[cell])
                if slot < 0:
                    if 2 * (count + 1) > len(table) or count == len(keys):
                        return i, count
                    for k in range(columns):
                        keys[count, k] = codes[i, k]
                    table[cell] = slot = count
                    count += 1
                elif not _same(keys, slot, codes, i):
                    slot, cell = np.int64(-1), (cell + np.uint64(1)) & cells
            slots[i] = slot
    return rows, count


@njit(cache=True)
def add_counts(slots: Array, valid: Array, counts: Array) -> None:
    """counts[slot] += 1 for every valid row; `valid` may be empty: all are."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            counts[slots[i]] += 1


@njit(cache=True)
def add_sums(slots: Array, values: Array, valid: Array, sums: Array, counts: Array) -> None:
    """sums[slot] += value, in the order of the rows."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            sums[slots[i]] += values[i]
            counts[slots[i]] += 1


@njit(cache=True)
def pick_last(slots: Array, valid: Array, rows: Array, offset: int) -> None:
    """rows[slot] = offset + the last valid row of the slot."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            rows[slots[i]] = offset + i


@njit(cache=True)
def pick_first(slots: Array, valid: Array, rows: Array, offset: int) -> None:
    """rows[slot] = offset + the first valid row of the slot, where it has none yet (-1)."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if (everyone or valid[i]) and rows[slots[i]] < 0:
            rows[slots[i]] = offset + i


@njit(cache=True)
def take_extremes(slots: Array, values: Array, valid: Array, best: Array, counts: Array, greatest: bool) -> None:
    """best[slot] = the least or the greatest value; NaN is the greatest of all."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            s = slots[i]
            value = values[i]
            old = best[s]
            if counts[s] == 0:
                best[s] = value
            elif greatest:
                if value > old or value != value:
                    best[s] = value
            elif value < old or old != old:
                best[s] = value
            counts[s] += 1


@njit(cache=True)
def add_spread(slots: Array, values: Array, valid: Array, counts: Array, means: Array, squares: Array) -> None:
    """Welford's running mean and sum of squared differences."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        if everyone or valid[i]:
            s = slots[i]
            counts[s] += 1
            delta = values[i] - means[s]
            means[s] += delta / counts[s]
            squares[s] += delta * (values[i] - means[s])


@njit(cache=True)
def count_up(slots: Array, counts: Array, before: Array) -> None:
    """before[i] = how many tuples its slot had before this one; counts go on."""
    for i in range(len(slots)):
        before[i] = counts[slots[i]]
        counts[slots[i]] += 1


@njit(cache=True)
def run_counts(slots: Array, valid: Array, resets: Array, counts: Array, out: Array) -> None:
    """out[i] = the count of its slot after tuple i; a tuple with a reset empties its slot and is not counted."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        s = slots[i]
        if resets[i]:
            counts[s] = 0
        elif everyone or valid[i]:
            counts[s] += 1
        out[i] = counts[s]


@njit(cache=True)
def run_sums(
    slots: Array, values: Array, valid: Array, resets: Array, sums: Array, counts: Array, out: Array, out_counts: Array
) -> None:
    """The sum and count of its slot after each tuple."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        s = slots[i]
        if resets[i]:
            sums[s] = 0
            counts[s] = 0
        elif everyone or valid[i]:
            sums[s] += values[i]
            counts[s] += 1
        out[i] = sums[s]
        out_counts[i] = counts[s]


@njit(cache=True)
def run_spread(
    slots: Array, values: Array, valid: Array, resets: Array, counts: Array, means: Array, squares: Array, out: Array
) -> None:
    """Count, mean and sum of squared differences of its slot after each tuple, as the columns of `out`."""
    everyone = len(valid) == 0
    for i in range(len(slots)):
        s = slots[i]
        if resets[i]:
            counts[s] = 0
            means[s] = 0.0
            squares[s] = 0.0
        elif everyone or valid[i]:
            counts[s] += 1
            delta = values[i] - means[s]
            means[s] += delta / counts[s]
            squares[s] += delta * (values[i] - means[s])
        out[i, 0] = counts[s]
        out[i, 1] = means[s]
        out[i, 2] = squares[s]


@njit(cache=True)
def run_picks(
    slots: Array, values: Array, valid: Array, resets: Array, rows: Array, offset: int, how: int, out: Array
) -> None:
    """out[i] = the row that its slot keeps after tuple i: the first (0), last (1), least (2) or greatest (3) so far.

    `values` holds those of the rows kept before (up to `offset`), then those of the tuples. -1 is no row.
    """
    everyone = len(valid) == 0
    for i in range(len(slots)):
        s = slots[i]
        if resets[i]:
            rows[s] = -1
        elif everyone or valid[i]:
            row = offset + i
            kept = rows[s]
            if kept < 0 or how == 1:
                rows[s] = row
            elif how >= 2:
                new = values[row]
                old = values[kept]
                if how == 3:
                    if new > old or (new != new and old == old):
                        rows[s] = row
                elif new < old or (old != old and new == new):
                    rows[s] = row
        out[i] = rows[s]


@njit(cache=True)
def next_rows(slots: Array, count: int) -> Array:
    """For each row the next row of the same slot, or -1."""
    following = np.empty(len(slots), np.int64)
    seen = np.full(count, -1, np.int64)
    for i in range(len(slots) - 1, -1, -1):
        following[i] = seen[slots[i]]
        seen[slots[i]] = i
    return following


@njit(cache=True)
def bounds(slots: Array, count: int) -> Array:
    """For rows sorted by slot: slot s has the rows bounds[s] to bounds[s + 1]."""
    ends = np.zeros(count + 1, np.int64)
    for i in range(len(slots)):
        ends[slots[i] + 1] += 1
    return np.cumsum(ends)


@njit(cache=True)
def sort_by_slot(slots: Array, ends: Array) -> Array:
    """The rows in the order of their slots, those of one slot as they came; `ends` are the bounds of the slots."""
    place = ends[:-1].copy()
    order = np.empty(len(slots), np.int64)
    for i in range(len(slots)):
        order[place[slots[i]]] = i
        place[slots[i]] += 1
    return order


@njit(cache=True)
def first_at_or_after(times: Array, begin: int, end: int, time: int) -> int:
    """The first of the rows begin..end, sorted by time, that is not before that time; `end` if none."""
    while begin < end:
        middle = (begin + end) // 2
        if times[middle] < time:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True)
def ranges(slots: Array, lows: Array, highs: Array, ends: Array, times: Array) -> tuple[Array, Array]:
    """For each row the range of other rows of its slot whose time is from lows[i] to highs[i].

    The others are sorted by slot and time; `ends` are their bounds.
    """
    begin = np.empty(len(slots), np.int64)
    end = np.empty(len(slots), np.int64)
    for i in range(len(slots)):
        b, e = ends[slots[i]], ends[slots[i] + 1]
        begin[i] = first_at_or_after(times, b, e, lows[i])
        end[i] = first_at_or_after(times, begin[i], e, highs[i] + 1)
    return begin, end


@njit(cache=True)
def rows_before(slots: Array, count: int, known: int) -> tuple[Array, Array]:
    """For each row from `known` on the row of its slot before it, or -1; and the last row of every slot."""
    before = np.empty(len(slots) - known, np.int64)
    last = np.full(count, -1, np.int64)
    for i in range(len(slots)):
        if i >= known:
            before[i - known] = last[slots[i]]
        last[slots[i]] = i
    return before, last


@njit(cache=True)
def find(codes: Array, table: Array, keys: Array, slots: Array) -> None:
    """Give every row the slot of its key in a table made by `find_or_add`, or -1."""
    rows = codes.shape[0]
    cells = np.uint64(len(table) - 1)
    at, first = np.empty(_AHEAD, np.uint64), np.empty(_AHEAD, np.int64)
    for begin in range(0, rows, _AHEAD):
        end = min(begin + _AHEAD, rows)
        _look(codes, begin, end, table, keys, at, first)
        for i in range(begin, end):
            slot, cell = first[i - begin], at[i - begin]
            while slot < 0:
                slot = np.int64(table[cell])
                if slot < 0:
                    break
                if not _same(keys, slot, codes, i):
                    slot, cell = np.int64(-1), (cell + np.uint64(1)) & cells
            slots[i] = slot


@njit(cache=True)
def number_groups(slots: Array, row_of: Array, numbers: Array) -> tuple[Array, Array, Array]:
    """Numbers of the slots that appear: first of those that have a row, then of the others, each as they appear.

    Gives the number of each entry, the rows of the first ones, and the slot of each number. `numbers` is all -1.
    """
    of, rows, used = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    count = 0
    for i in range(len(slots)):
        s = slots[i]
        if row_of[s] >= 0 and numbers[s] < 0:
            rows[count], used[count], numbers[s] = row_of[s], s, count
            count += 1
    known = count
    for i in range(len(slots)):
        s = slots[i]
        if numbers[s] < 0:
            used[count], numbers[s] = s, count
            count += 1
        of[i] = numbers[s]
    for i in range(count):
        numbers[used[i]] = -1
    return of, rows[:known], used[:count]


@njit(cache=True)
def last_of_each(slots: Array, numbers: Array) -> Array:
    """The last entry of each slot, in the order in which the slots appear first. `numbers` is all -1."""
    last = np.empty(len(slots), np.int64)
    count = 0
    for i in range(len(slots)):
        s = slots[i]
        if numbers[s] < 0:
            numbers[s] = count
            count += 1
        last[numbers[s]] = i
    for i in range(len(slots)):
        numbers[slots[i]] = -1
    return last[:count]


@njit(cache=True)
def place_rows(slots: Array, alive: Array, offset: int, row_of: Array) -> None:
    """row_of[slot] = offset + the last row of the slot, or -1 if that is not alive."""
    for i in range(len(slots)):
        row_of[slots[i]] = offset + i if alive[i] else -1
