"""Loops over fences in compiled code: who is inside of what, a sweep over the reports of each object, and fences that
move with an object.

An event is a row of integers: time, slot of the object, number of the fence, what happened, since when, and the report
that holds then (-1: the one from before the train). A stay is slot, fence, since, and whether it dwelt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from arterial.moving.queries.space import inside_metres, unit_vector, wrap_longitude

EXIT, ENTER, DWELL = 0, 1, 2
"""What happens, in the order in which it is reported of one object at one instant."""

CIRCLE, RECTANGLE, POLYGON, NOTHING = 0, 1, 2, 3
"""The kinds of shapes; nothing is inside of a fence that was removed."""

_FIELDS = 6


@njit(cache=True)
def _grown(rows: Any, least: int) -> Any:
    """The rows, with room for at least so many."""
    if least <= len(rows):
        return rows
    larger = np.empty((max(least, 2 * len(rows)), rows.shape[1]), rows.dtype)
    larger[: len(rows)] = rows
    return larger


@njit(cache=True)
def _in_polygon(x: float, y: float, edges: Any, begin: int, end: int) -> bool:
    inside = False
    for e in range(begin, end):
        ax, ay, bx, by = edges[e, 0], edges[e, 1], edges[e, 2], edges[e, 3]
        turn = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
        if turn == 0.0 and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
            return True
        if (ay > y) != (by > y) and (turn > 0.0) == (by > ay):
            inside = not inside
    return inside


@njit(cache=True)
def find(
    x: float, y: float, lonlat: bool, grid: Any, starts: Any, cells: Any, kinds: Any, numbers: Any, ends: Any,
    edges: Any, found: Any,
) -> int:  # fmt: skip
    """The fences that a place is in, by number, in order; gives how many.

    `grid` is its lowest x and y, cells a unit in x and y, and cells in x and in y. The `numbers` of a circle are its
    centre (a unit vector on the sphere) and the squared reach; of the others west, south, east, north.
    """
    if lonlat:
        x = wrap_longitude(x)
    column, row = (x - grid[0]) * grid[2], (y - grid[1]) * grid[3]
    if not (0.0 <= column < grid[4] + 1.0 and 0.0 <= row < grid[5] + 1.0):
        return 0
    across = int(grid[4])
    cell = min(int(row), int(grid[5]) - 1) * across + min(int(column), across - 1)
    ux, uy, uz = 0.0, 0.0, 0.0
    placed, count = False, 0
    for i in range(starts[cell], starts[cell + 1]):
        fence = cells[i]
        a, b, c, d = numbers[fence, 0], numbers[fence, 1], numbers[fence, 2], numbers[fence, 3]
        inside = False
        if kinds[fence] == CIRCLE:
            if lonlat:
                if not placed:
                    ux, uy, uz = unit_vector(x, y)
                    placed = True
                inside = (ux - a) * (ux - a) + (uy - b) * (uy - b) + (uz - c) * (uz - c) <= d
            else:
                inside = (x - a) * (x - a) + (y - b) * (y - b) <= d
        elif kinds[fence] == RECTANGLE:
            if b <= y <= d:
                inside = (a <= x <= c) if a <= c else (x >= a or x <= c)
        elif kinds[fence] == POLYGON:
            px = x
            if lonlat:
                while px < a:
                    px += 360.0
                while px - 360.0 >= a:
                    px -= 360.0
            if a <= px <= c and b <= y <= d:
                inside = _in_polygon(px, y, edges, ends[fence], ends[fence + 1])
        if inside:
            found[count] = fence
            count += 1
    return count


@njit(cache=True)
def sweep(
    begins: Any, times: Any, xs: Any, ys: Any, real: Any, last: Any, stay_begins: Any, stays: Any, through: int,
    timeout: int, dwell: int, lonlat: bool, grid: Any, starts: Any, cells: Any, kinds: Any, numbers: Any, ends: Any,
    edges: Any,
) -> Any:  # fmt: skip
    """The events of fences that stand still, object by object, and the stays that last.

    The reports of slot s are those from `begins[s]` on, in the order of time; what is not `real` is an object that is
    looked at again where it is. `last` is when each object reported before. Timeout and dwell are 0 where there are
    none.
    """
    most = len(kinds)
    found, new = np.empty(most, np.int64), np.empty((most, 3), np.int64)
    now = np.empty((most, 3), np.int64)  # fence, since, dwelt; in the order of fences
    out, count = np.empty((1024, _FIELDS), np.int64), 0
    kept, held = np.empty((1024, 4), np.int64), 0
    for slot in range(len(begins) - 1):
        size = stay_begins[slot + 1] - stay_begins[slot]
        for i in range(size):
            now[i, :] = stays[stay_begins[slot] + i, 1:]
        reported, row = last[slot], -1
        for r in range(begins[slot], begins[slot + 1] + 1):
            at_end = r == begins[slot + 1]
            t = through if at_end else times[r]
            out = _grown(out, count + 2 * size)
            over = reported + timeout
            if timeout > 0 and size > 0 and (over < t or (at_end and over == t)):
                for i in range(size):
                    due = now[i, 1] + dwell
                    if dwell > 0 and now[i, 2] == 0 and due < over:
                        out[count, :] = (due, slot, now[i, 0], DWELL, now[i, 1], row)
                        count += 1
                    out[count, :] = (over, slot, now[i, 0], EXIT, now[i, 1], row)
                    count += 1
                size = 0
            if at_end:
                break
            inside = find(xs[r], ys[r], lonlat, grid, starts, cells, kinds, numbers, ends, edges, found)
            out = _grown(out, count + 2 * size + inside)
            i, j, k = 0, 0, 0
            while i < size or j < inside:
                if i < size and (j == inside or now[i, 0] < found[j]):
                    due = now[i, 1] + dwell
                    if dwell > 0 and now[i, 2] == 0 and due < t:
                        out[count, :] = (due, slot, now[i, 0], DWELL, now[i, 1], row)
                        count += 1
                    out[count, :] = (t, slot, now[i, 0], EXIT, now[i, 1], r)
                    count += 1
                    i += 1
                elif i == size or found[j] < now[i, 0]:
                    out[count, :] = (t, slot, found[j], ENTER, t, r)
                    count += 1
                    new[k, :] = (found[j], t, 0)
                    j, k = j + 1, k + 1
                else:
                    new[k, :] = now[i, :]
                    due = now[i, 1] + dwell
                    if dwell > 0 and now[i, 2] == 0 and due <= t:
                        out[count, :] = (due, slot, now[i, 0], DWELL, now[i, 1], r if due == t else row)
                        count += 1
                        new[k, 2] = 1
                    i, j, k = i + 1, j + 1, k + 1
            now, new, size = new, now, k
            row = r
            if real[r]:
                reported = t
        kept, out = _grown(kept, held + size), _grown(out, count + size)
        for i in range(size):
            due = now[i, 1] + dwell
            if dwell > 0 and now[i, 2] == 0 and due <= through:
                out[count, :] = (due, slot, now[i, 0], DWELL, now[i, 1], row)
                count += 1
                now[i, 2] = 1
            kept[held, 0], kept[held, 1], kept[held, 2], kept[held, 3] = slot, now[i, 0], now[i, 1], now[i, 2]
            held += 1
    return out[:count], kept[:held]


@njit(cache=True)
def follow(
    instants: Any, all_at: int, times: Any, slots: Any, xs: Any, ys: Any, px: Any, py: Any, lonlat: bool, focals: Any,
    circles: Any, sizes: Any, inside: Any,
) -> Any:  # fmt: skip
    """The changes of fences that move: time, slot, fence, and 1 or 0 for inside or not.

    The reports are in the order of time; one that is not a number takes its object away. `px`, `py` are where objects
    were before, `inside` who was in which fence; at the instant `all_at` everybody is looked at. The `sizes` of a
    circle are its squared reach, of a rectangle its length and width.
    """
    objects, fences = len(px), len(focals)
    vectors = np.zeros((objects if lonlat else 0, 3))
    for s in range(len(vectors)):
        if not np.isnan(px[s]):
            vectors[s, :] = unit_vector(wrap_longitude(px[s]), py[s])
    moved = np.zeros(objects, np.bool_)
    out, count, r = np.empty((1024, 4), np.int64), 0, 0
    for t in instants:
        begin = r
        while r < len(times) and times[r] == t:
            s = slots[r]
            px[s], py[s], moved[s] = xs[r], ys[r], True
            if lonlat and not np.isnan(xs[r]):
                vectors[s, :] = unit_vector(wrap_longitude(xs[r]), ys[r])
            r += 1
        for fence in range(fences):
            focal = focals[fence]
            everybody = t == all_at or (focal >= 0 and moved[focal])
            for i in range(objects if everybody else r - begin):
                s = i if everybody else slots[begin + i]
                within = False
                if focal >= 0 and s != focal and not np.isnan(px[focal]) and not np.isnan(px[s]):
                    if circles[fence]:
                        if lonlat:
                            a = vectors[s, 0] - vectors[focal, 0]
                            b = vectors[s, 1] - vectors[focal, 1]
                            c = vectors[s, 2] - vectors[focal, 2]
                            within = a * a + b * b + c * c <= sizes[fence, 0]
                        else:
                            a, b = px[s] - px[focal], py[s] - py[focal]
                            within = a * a + b * b <= sizes[fence, 0]
                    elif lonlat:
                        within = inside_metres(
                            px[focal], py[focal], vectors[s, 0], vectors[s, 1], vectors[s, 2], sizes[fence, 0],
                            sizes[fence, 1],
                        )  # fmt: skip
                    else:
                        a, b = sizes[fence, 0] / 2.0, sizes[fence, 1] / 2.0
                        within = px[focal] - a <= px[s] <= px[focal] + a and py[focal] - b <= py[s] <= py[focal] + b
                if within != inside[fence, s]:
                    inside[fence, s] = within
                    out = _grown(out, count + 1)
                    out[count, :] = (t, s, fence, 1 if within else 0)
                    count += 1
        for i in range(begin, r):
            moved[slots[i]] = False
    return out[:count]


@njit(cache=True)
def settle(stays: Any, changes: Any, begins: Any, times: Any, through: int, dwell: int) -> Any:
    """The events of changes, which are in the order of slot, fence and time, and the stays that last.

    `stays` are those from before, in the order of slot and fence.
    """
    out, count = np.empty((2 * len(changes) + len(stays) + 1, _FIELDS), np.int64), 0
    kept, held = np.empty((len(changes) + len(stays), 4), np.int64), 0
    i = j = 0
    while i < len(stays) or j < len(changes):
        if i == len(stays) or (
            j < len(changes)
            and (changes[j, 1] < stays[i, 0] or (changes[j, 1] == stays[i, 0] and changes[j, 2] < stays[i, 1]))
        ):
            slot, fence, since, dwelt, is_in = changes[j, 1], changes[j, 2], 0, 0, False
        else:
            slot, fence, since, dwelt, is_in = stays[i, 0], stays[i, 1], stays[i, 2], stays[i, 3], True
            i += 1
        while True:
            more = j < len(changes) and changes[j, 1] == slot and changes[j, 2] == fence
            t = changes[j, 0] if more else through
            due = since + dwell
            if is_in and dwell > 0 and dwelt == 0 and (due < t or (not more and due == t)):
                out[count, :] = (due, slot, fence, DWELL, since, _held(begins, times, slot, due))
                count, dwelt = count + 1, 1
            if not more:
                break
            if changes[j, 3] == 1:
                since, dwelt, is_in = t, 0, True
                out[count, :] = (t, slot, fence, ENTER, since, _held(begins, times, slot, t))
            else:
                is_in = False
                out[count, :] = (t, slot, fence, EXIT, since, _held(begins, times, slot, t))
            count, j = count + 1, j + 1
        if is_in:
            kept[held, 0], kept[held, 1], kept[held, 2], kept[held, 3] = slot, fence, since, dwelt
            held += 1
    return out[:count], kept[:held]


@njit(cache=True)
def _held(begins: Any, times: Any, slot: int, t: int) -> int:
    """The last report of an object at that time; -1 if there is none in this train."""
    row = begins[slot] + np.searchsorted(times[begins[slot] : begins[slot + 1]], t, side="right") - 1
    return row if row >= begins[slot] else -1
