"""Shared execution: thousands of moving queries over one stream of objects, a time unit at a time (§3.4).

All live objects stand once in a shared grid, which is the union of the conservative caches of all queries, so answers
are exact. A time unit moves the objects that reported; then only the queries are answered again whose focal object
moved or in whose cells an object moved; then the difference to their last answers is what comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from arterial.arrays import Array
from arterial.moving.queries.events import MovingNearest, MovingRange, Nearest, Query, Range, Sign, Update
from arterial.moving.queries.ids import Id, SlotTable
from arterial.moving.queries.space import Space, wrap_longitude
from arterial.moving.shared.grid import (
    DENSE,
    NONE,
    Grid,
    Objects,
    arrange,
    disconnect_silent,
    empty_objects,
    fitted_grid,
    place_all,
    place_some,
    point_to,
    with_room,
)
from arterial.moving.shared.query_index import (
    FREE,
    KNN,
    MOVING_KNN,
    MOVING_RANGE,
    RANGE,
    Index,
    Queries,
    empty_index,
    empty_queries,
    enter_regions,
    find_affected,
)
from arterial.moving.shared.search import ANSWERED_ALL, NEED_POOL, answer_queries

_NO_REPORTS: tuple[Array, Array, Array] = (np.empty(0, np.int32), np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Changes:
    """The changes of answers in a time unit, as columns: rows of queries, signs (1 or -1), slots of objects.

    In the order of the queries' names; of a query, what leaves before what comes; then in the order of the objects'
    ids.
    """

    t: float
    query: Array
    sign: Array
    slot: Array

    def __len__(self) -> int:
        return len(self.query)


class SharedExecution:
    """The engine. Give it all that happens in a time unit, then `step`; every `t` must be later than the one before.

    >>> engine = SharedExecution()
    >>> engine.register("near", Nearest(k=1, x=0.0, y=0.0))
    >>> changes = engine.step(1.0, engine.objects_of([7, 8]), np.array([3.0, 4.0]), np.array([0.0, 0.0]))
    >>> [(update.query, update.sign.value, update.object) for update in engine.updates(changes)]
    [('near', '+', 7)]
    """

    def __init__(self, *, space: Space = Space.PLANE, timeout: float | None = None) -> None:
        self.space, self.timeout = space, timeout
        self.object_table, self.query_table = SlotTable(), SlotTable()
        self.live_count = 0
        self.objects: Objects = empty_objects(16)
        self.queries: Queries = empty_queries(16)
        self.grid: Grid = fitted_grid(self.objects, False)
        self._index: Index = empty_index(self.grid, 16)
        self._index_stale = False
        self._fitted_to = 0
        self._outside = 0.0
        self._oldest = -np.inf
        self._stamp, self._mark = 1, 2
        self.pool: Array = np.zeros(1024, np.int32)
        self._pool_used = 0
        self._updates = _update_room(4096)
        self.registered: dict[Id, Query] = {}
        """The queries that run, by name."""
        self.disconnected: list[int] = []
        """The slots of the objects that the last step disconnected."""
        self._changed: list[int] = []
        self._in_order: Array | None = None
        self._silent: list[int] = []
        self._ended: set[int] = set()

    @property
    def query_count(self) -> int:
        """How many queries are running."""
        return len(self.registered)

    def objects_of(self, ids: Array | Sequence[Id]) -> Array:
        """The slots of objects, to give to `step`; new ids get new slots."""
        if isinstance(ids, np.ndarray):
            return self.object_table.slots_of_numbers(ids)
        return np.array([self.object_table.slot(identity) for identity in ids], np.int32)

    def expect(self, names: Iterable[Id]) -> None:
        """Give the queries of these names, which will be registered, their rows: texts are ordered once for all."""
        self.query_table.slots_of_texts([name for name in names if isinstance(name, str)])
        self._make_room_for_queries()

    def register(self, name: Id, query: Query) -> None:
        """Begin a query, or put another in the place of the one of this name; it is answered by the next step."""
        row = self.query_table.slot(name)
        self.registered[name] = query
        self._make_room_for_queries()
        queries = self.queries
        self._detach(row)
        match query:
            case Range():
                queries.kind[row], queries.shape[row] = RANGE, self._corners(query)
            case MovingRange():
                queries.kind[row], queries.shape[row, :2] = MOVING_RANGE, (query.xdist, query.ydist)
                self._attach(row, query.focal)
            case Nearest():
                queries.kind[row], queries.k[row], queries.shape[row, :2] = KNN, query.k, (query.x, query.y)
            case MovingNearest():
                queries.kind[row], queries.k[row] = MOVING_KNN, query.k
                self._attach(row, query.focal)
        self._choose(row)

    def drop(self, name: Id) -> bool:
        """End a query: the next step withdraws its answer. False if there is none of this name."""
        row = self.query_table.find(name)
        if row is None or self.queries.kind[row] == FREE:
            return False
        del self.registered[name]
        self._detach(row)
        self.queries.kind[row] = FREE
        self._choose(row)
        return True

    def step(
        self,
        t: float,
        slots: Array = _NO_REPORTS[0],
        x: Array = _NO_REPORTS[1],
        y: Array = _NO_REPORTS[2],
        gone: Array = _NO_REPORTS[0],
    ) -> Changes:
        """Take in the reports of the time unit `t`, and end it: the changes of all answers.

        The objects in the slots `gone` leave; none of them reports in this time unit.
        """
        self.make_room()
        self.disconnected = []
        used = self.object_table.used
        most = len(slots) + len(gone) + (self.live_count if self.timeout is not None else 0)
        dirty = np.empty(min(2 * most + 1, len(self.grid.held)), np.int64)
        focals = np.empty(most + 1, np.int64)
        dirty_count = focal_count = 0
        lonlat = self.space is Space.LONLAT
        dense = DENSE * len(slots) >= self.live_count
        if dense:
            new, outside = place_all(self.objects, self.grid, used, lonlat, t, slots, x, y)
        else:
            dirty_count, focal_count, new, outside = place_some(
                self.objects, self.grid, used, lonlat, t, slots, x, y, self._stamp, dirty, focals
            )
        self.live_count += new
        self._outside = max(0.0, self._outside + outside - 0.05 * len(slots))
        silent_since = -np.inf if self.timeout is None else t - self.timeout
        if len(gone):
            self.objects.last[gone] = -np.inf
        if len(gone) or (self.timeout is not None and self._oldest <= silent_since):
            dirty_count, focal_count = self._disconnect(silent_since, dirty, dirty_count, focals, focal_count)
        if self._grid_misfits():
            self._fit_grid()
            dense = True
        chosen = self._all_queries() if dense else self._affected(focals[:focal_count], dirty[:dirty_count])
        changes = self._answer(chosen)
        if dense:
            self._index_stale = True
        else:
            enter_regions(self.queries, self._index, chosen)
        self._end_step()
        query, sign, slot = (column[:changes].copy() for column in self._updates)
        return Changes(t, query, sign, slot)

    def place(self, placed: Iterable[tuple[Array, Array, Array, Array, Array]], *, whole: bool) -> None:
        """Have objects where they are known to be: slots of those that are gone, then slots, x, y and last report.

        What comes later counts. If that is the `whole`, objects that are not in it are gone. Then `settle`.
        """
        self.make_room()
        objects = self.objects
        before = np.flatnonzero(objects.live)
        if whole:
            objects.live[:] = 0
        for gone, slots, x, y, last in placed:
            objects.live[gone] = 0
            objects.x[slots], objects.y[slots], objects.last[slots], objects.live[slots] = x, y, last, 1
            if self.space is Space.LONLAT:
                point_to(objects, slots)
        self._silent += before[objects.live[before] == 0].tolist()
        self.live_count, self._oldest = int(objects.live.sum()), -np.inf

    def settle(self) -> None:
        """Answer all queries as things are, and report no changes: after a state was loaded."""
        self._fit_grid()
        self.queries.held[:] = 0  # where the last answers are by now bounds no search
        self._answer(self._all_queries(), silently=True)
        self._end_step()

    def forget(self) -> None:
        """Release the ids of objects that are disconnected and of queries that were dropped.

        To be called between steps; slots and changes got before are void after it.
        """
        objects, queries = self.objects, self.queries
        silent = {slot for slot in self._silent if not objects.live[slot]}
        gone = {slot for slot in silent if objects.first_query[slot] == NONE}
        self._silent = list(silent - gone)
        self.object_table.free(gone)
        self.query_table.free(row for row in self._ended if queries.kind[row] == FREE)
        self._ended.clear()

    def updates(self, changes: Changes) -> Iterator[Update]:
        """The changes as values."""
        signs = {1: Sign.POSITIVE, -1: Sign.NEGATIVE}
        names = self.names_of(changes.query)
        for name, sign, identity in zip(
            names, changes.sign.tolist(), self.object_table.ids_of(changes.slot), strict=True
        ):
            yield Update(changes.t, name, signs[sign], identity)

    def names_of(self, rows: Array) -> list[Id]:
        """The names of queries by their rows."""
        return self.query_table.ids_of(rows)

    def answers(self) -> dict[Id, set[Id]]:
        """The answer of every query, as of the last step."""
        queries = self.queries
        rows = [row for row in range(self.query_table.used) if queries.kind[row] != FREE]
        return {
            self.query_table.id_of(row): set(
                self.object_table.ids_of(self.pool[queries.start[row] : queries.start[row] + queries.held[row]])
            )
            for row in rows
        }

    def _all_queries(self) -> Array:
        rows = self.query_table.used
        if self._in_order is None:
            known = np.flatnonzero((self.queries.kind[:rows] != FREE) | (self.queries.stamp[:rows] == self._stamp))
            self._in_order = known[np.argsort(self.query_table.rank[known])]
        return self._in_order

    def _affected(self, focals: Array, dirty: Array) -> Array:
        if self._index_stale:
            enter_regions(self.queries, self._index, np.arange(self.query_table.used))
            self._index_stale = False
        chosen = np.empty(self.query_table.used, np.int64)
        chosen[: len(self._changed)] = self._changed
        count = find_affected(
            self.objects,
            self.grid,
            self.queries,
            self._index,
            self._stamp,
            focals,
            dirty,
            chosen,
            len(self._changed),
        )
        return chosen[:count][np.argsort(self.query_table.rank[chosen[:count]])]

    def _answer(self, chosen: Array, *, silently: bool = False) -> int:
        found, distance = np.empty(self.live_count + 1, np.int32), np.empty(self.live_count + 1)
        done, used = 0, 0
        while True:
            why, done, self._mark, self._pool_used, used = answer_queries(
                self.objects,
                self.grid,
                self.queries,
                self.space is Space.LONLAT,
                self.live_count,
                chosen,
                done,
                self._mark,
                self.pool,
                self._pool_used,
                found,
                distance,
                *self._updates,
                used,
                silently,
            )
            if why == ANSWERED_ALL:
                return used
            if why == NEED_POOL:
                self._enlarge_pool()
            else:
                larger = _update_room(2 * len(self._updates[0]) + 2 * self.live_count)
                for new, old in zip(larger, self._updates, strict=True):
                    new[:used] = old[:used]
                self._updates = larger

    def _end_step(self) -> None:
        queries = self.queries
        for row in self._changed:
            if queries.kind[row] == FREE:
                queries.room[row] = 0
                self._ended.add(row)
                self._in_order = None
        self._changed.clear()
        self._stamp += 1

    def _choose(self, row: int) -> None:
        self._in_order = None
        if self.queries.stamp[row] != self._stamp:
            self.queries.stamp[row] = self._stamp
            self._changed.append(row)

    def _attach(self, row: int, focal: Id) -> None:
        slot = self.object_table.slot(focal)
        self.make_room()
        self.queries.focal[row] = slot
        self.queries.sibling[row] = self.objects.first_query[slot]
        self.objects.first_query[slot] = row

    def _detach(self, row: int) -> None:
        queries, slot = self.queries, int(self.queries.focal[row])
        if slot == NONE:
            return
        queries.focal[row] = NONE
        at = int(self.objects.first_query[slot])
        if at == row:
            self.objects.first_query[slot] = queries.sibling[row]
        else:
            while queries.sibling[at] != row:
                at = int(queries.sibling[at])
            queries.sibling[at] = queries.sibling[row]
        queries.sibling[row] = NONE
        if not self.objects.live[slot]:
            self._silent.append(slot)

    def _corners(self, query: Range) -> tuple[float, float, float, float]:
        low, high = sorted((query.y1, query.y2))
        if self.space is Space.PLANE:
            return min(query.x1, query.x2), low, max(query.x1, query.x2), high
        if query.x2 - query.x1 >= 360.0:
            return -180.0, low, 180.0, high
        return wrap_longitude(query.x1), low, wrap_longitude(query.x2), high

    def _disconnect(
        self, since: float, dirty: Array, dirty_count: int, focals: Array, focal_count: int
    ) -> tuple[int, int]:
        used = self.object_table.used
        gone = np.empty(self.live_count, np.int64)
        dirty_count, focal_count, gone_count = disconnect_silent(
            self.objects, self.grid, used, since, self._stamp, dirty, dirty_count, focals, focal_count, gone
        )
        self.live_count -= gone_count
        self.disconnected = gone[:gone_count].tolist()
        self._silent += self.disconnected
        last = self.objects.last[:used][self.objects.live[:used] == 1]
        self._oldest = float(last.min()) if len(last) else -np.inf
        return dirty_count, focal_count

    def _grid_misfits(self) -> bool:
        return (
            self.live_count > 2 * max(self._fitted_to, 16)
            or (self.live_count < self._fitted_to // 4 and self._fitted_to > 64)
            or self._outside > 64 + self.live_count / 10
        )

    def _fit_grid(self) -> None:
        self.grid = fitted_grid(self.objects, self.space is Space.LONLAT)
        arrange(self.objects, self.grid, self.object_table.used, True, 0)
        self._index = empty_index(self.grid, len(self.queries.kind))
        self._index_stale = True
        self._fitted_to, self._outside = self.live_count, 0.0

    def make_room(self) -> None:
        """Have columns as long as the table of ids; `step` does this by itself."""
        room = len(self.objects.x)
        if room < len(self.object_table.rank):
            larger = empty_objects(len(self.object_table.rank))
            for new, old in zip(larger, self.objects, strict=True):
                new[:room] = old
            self.objects = larger
            self.grid = with_room(self.grid, len(larger.x))
        if self.objects.rank is not self.object_table.rank:
            self.objects = self.objects._replace(rank=self.object_table.rank)

    def _make_room_for_queries(self) -> None:
        room = len(self.queries.kind)
        if room >= len(self.query_table.rank):
            return
        larger = empty_queries(len(self.query_table.rank))
        for new, old in zip(larger, self.queries, strict=True):
            new[:room] = old
        self.queries = larger
        self._index = empty_index(self.grid, len(larger.kind))
        self._index_stale = True

    def _enlarge_pool(self) -> None:
        queries, old = self.queries, self.pool
        rows = np.flatnonzero(queries.held > 0)
        needed = int(queries.held[rows].sum())
        self.pool = np.zeros(3 * needed + 2 * self.live_count + 1024, np.int32)
        queries.room[:] = 0
        at = 0
        for row in rows.tolist():
            start, count = int(queries.start[row]), int(queries.held[row])
            self.pool[at : at + count] = old[start : start + count]
            queries.start[row], queries.room[row] = at, count
            at += count
        self._pool_used = at


def _update_room(room: int) -> tuple[Array, Array, Array]:
    return np.empty(room, np.int32), np.empty(room, np.int8), np.empty(room, np.int32)
