"""The work of the box Fences on one train: objects and their stays from its state, the kernels, what they leave.

State is a row for each object, with its stays as lists. Fences that stand still concern only the objects that report,
and those whose time comes; the others are not looked at, so what a train costs does not depend on how many they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.order import instants
from arterial.boxes.parts.table import KeyedTable
from arterial.errors import NetworkError
from arterial.moving.boxes import fences_kernels as kernels
from arterial.moving.boxes.fences_index import Index
from arterial.network.box import IN, OUT
from arterial.network.train import BEGIN

if TYPE_CHECKING:
    from arterial.moving.boxes.fences import Fences
    from arterial.moving.queries.fences import Shape
    from arterial.network.state import State

_ALIVE, _X, _Y, _LAST, _ROW, _DUE = "@alive", "@x", "@y", "@last", "@row", "@due"
_STAYS = {"@fences": pl.List(pl.String()), "@since": pl.List(pl.Int64()), "@dwelt": pl.List(pl.Int8())}
_FENCES, _SINCE, _DWELT = _STAYS
CHANGES, REJECTS = "changes", "rejects"
_EVENTS = pl.Series(["exit", "enter", "dwell"])
_INDEX = "fences.index"
_MANY = 256
"""Where so many fences change in a train, all objects are looked at."""
_NEVER, _NO_END = -(2**63), 2**63 - 1


class _Reports(NamedTuple):
    """Reports of a train, column by column; `rows` says which they are of all that the train and the state have."""

    slots: Array
    xs: Array
    ys: Array
    rows: Array
    times: Array

    def take(self, wanted: slice | Array) -> _Reports:
        """Some of them."""
        return _Reports(*(column[wanted] for column in self))


@dataclass
class _World:
    """What is known of objects, by slot, and their stays: slot, fence's name, since, dwelt."""

    x: Array
    y: Array
    last: Array
    row: Array
    """The report that holds: a row of all that the train and the state have."""
    stays: pl.DataFrame


class Telling:
    """The work on one train."""

    def __init__(self, box: Fences, state: State, reports: pl.DataFrame, changes: pl.DataFrame, through: int) -> None:
        self.box, self.state, self.through = box, state, through
        self.stream = box.fed_by[IN]
        self.timeout, self.dwell = box.silence(self.stream) or 0, box.stay(self.stream) or 0
        self.index = self._index()
        self.everybody = box.changing or len(self.index.moving) > 0
        self.remembers = self.everybody or bool(self.timeout or box.keep)
        self.rejects: list[tuple[int, str, Any, str]] = []
        self.fence_changes = self._read_changes(changes) if box.changing else {}
        self.reports, self.times = self._good(reports)
        self.events: list[pl.DataFrame] = []

    def run(self) -> dict[str, pl.DataFrame]:
        """The events and the rejects."""
        objects = self._objects()
        known = self._concerned(objects)
        if not known.height and not self.reports.height and not self.fence_changes:
            return self._made(known[self.box.object], known)
        self.ids, slots = self._slots(known[self.box.object])
        self.came = known.height
        kept = list(self.box.keep)
        self.values = pl.concat([known.select(kept), self.reports.select(kept)]) if kept else pl.DataFrame()
        world = self._world(known)
        self._segments(world, slots)
        self._write_objects(objects, world)
        return self._made(self.ids, self.values)

    def _objects(self) -> KeyedTable:
        box, kinds = self.box, self.stream.schema
        schema: dict[str, pl.DataType] = {box.object: kinds[box.object].polars}
        if self.remembers:
            schema |= {_X: pl.Float64(), _Y: pl.Float64(), _LAST: pl.Int64()}
            schema |= {name: kinds[name].polars for name in box.keep}
        if self.timeout or self.dwell:
            schema |= {_DUE: pl.Int64()}
        return KeyedTable(self.state, "objects", {**schema, **_STAYS, _ALIVE: pl.Int8()}, (box.object,), _ALIVE)

    def _concerned(self, objects: KeyedTable) -> pl.DataFrame:
        """What is known of the objects that report, that are near to fences which change, or whose time comes.

        Of all, where fences move or many change.
        """
        identity, changed = self.box.object, {name for some in self.fence_changes.values() for name in some}
        indexes = [self.index, *(Index.of(some, self.box.space) for some in self.fence_changes.values())]
        if len(changed) > _MANY or any(len(index.moving) for index in indexes):
            return objects.with_changes(None).sort(identity)

        def those(rows: pl.DataFrame) -> Array:
            found = np.zeros(rows.height, np.bool_)
            if self.timeout or self.dwell:
                found |= rows[_DUE].to_numpy() <= self.through
            for index in indexes if changed else ():
                found |= index.near(changed, rows[_X].to_numpy(), rows[_Y].to_numpy())
            return found

        known = objects.known(self.reports.select(identity))
        if changed or self.timeout or self.dwell:
            more = objects.index.those(those).join(known, on=identity, how="anti").sort(identity)
            known = pl.concat([known, more])
        return known

    def _good(self, reports: pl.DataFrame) -> tuple[pl.DataFrame, Array]:
        """The last report of each object at each instant, of those that have a place."""
        box = self.box
        times = instants(reports, self.stream.time)
        x, y = (reports[axis].cast(pl.Float64).fill_null(np.nan).to_numpy() for axis in (box.x, box.y))
        good = np.isfinite(x) & np.isfinite(y) & reports[box.object].is_not_null().to_numpy()
        if box.lonlat:
            good &= (x >= -180.0) & (x <= 360.0) & (y >= -90.0) & (y <= 90.0)
        if not good.all():
            wrong = zip(times[~good].tolist(), reports[box.object].filter(pl.Series(~good)).to_list(), strict=True)
            self.rejects = [(t, IN, one, "no position") for t, one in wrong] + self.rejects
            reports, times = reports.filter(pl.Series(good)), times[good]
        return reports, times

    def _read_changes(self, changes: pl.DataFrame) -> dict[int, dict[str, Shape | None]]:
        """By instant, the fences that change then."""
        found: dict[int, dict[str, Shape | None]] = {}
        self.texts: dict[str, str | None] = {}
        times = instants(changes, self.box.fed_by[CHANGES].time).tolist()
        for t, fence, shape in zip(times, changes["fence"], changes["shape"], strict=True):
            try:
                name, value = self.box.change_of(fence, shape, self.stream)
            except NetworkError as mistake:
                self.rejects.append((t, CHANGES, None, str(mistake)))
                continue
            found.setdefault(t, {})[name] = value
            self.texts[name] = shape
        return found

    def _slots(self, known: pl.Series) -> tuple[pl.Series, Array]:
        """The ids by slot, those that are known first, and the slot of each report."""
        both = pl.concat([known, self.reports[self.box.object]])
        slots, count = slots_of(codes([both], len(both)), len(known))
        example = np.zeros(count, np.int64)
        example[slots[::-1]] = np.arange(len(slots))[::-1]
        return both[example], slots[len(known) :]

    def _world(self, known: pl.DataFrame) -> _World:
        count, came = len(self.ids), self.came
        x, y, last = np.full(count, np.nan), np.full(count, np.nan), np.full(count, _NEVER, np.int64)
        if self.remembers:
            for array, name in ((x, _X), (y, _Y), (last, _LAST)):
                array[:came] = known[name].to_numpy()
        row = np.full(count, -1, np.int64)
        row[:came] = np.arange(came)
        stays = known.select(pl.int_range(came).alias("slot"), *_STAYS).filter(pl.col(_FENCES).is_not_null())
        stays = stays.explode(*_STAYS).rename({_FENCES: "fence", _SINCE: "since", _DWELT: "dwelt"})
        return _World(x, y, last, row, stays)

    def _segments(self, world: _World, slots: Array) -> None:
        """The train, cut where fences change."""
        xs, ys = (self.reports[axis].cast(pl.Float64).to_numpy() for axis in (self.box.x, self.box.y))
        reports = _Reports(slots, xs, ys, np.arange(len(slots)) + self.came, self.times)
        if not self.fence_changes:
            self._segment(world, self.index, reports, None, self.through)
            return
        index, cuts, begin = self.index, sorted(self.fence_changes), 0
        for at, through in zip([None, *cuts], [*(cut - 1 for cut in cuts), self.through], strict=True):
            if at is not None:
                index = index.changed(self.fence_changes[at])
            end = int(np.searchsorted(self.times, through, side="right"))
            self._segment(world, index, reports.take(slice(begin, end)), at, through)
            begin = end
        self.state.memo[_INDEX] = index
        self._write_fences()

    def _segment(self, world: _World, index: Index, came: _Reports, all_at: int | None, through: int) -> None:
        """Let the reports of a part of the train come; at `all_at`, all that are concerned are looked at."""
        count = len(self.ids)
        came = came.take(np.lexsort((came.rows, came.times, came.slots)) if count > 1 else np.arange(len(came.slots)))
        slots, times = came.slots, came.times
        last_of_instant = np.append((slots[1:] != slots[:-1]) | (times[1:] != times[:-1]), True)[: len(slots)]
        if not last_of_instant.all():
            came = came.take(last_of_instant)
        real = np.ones(len(came.slots), np.bool_)
        if all_at is not None:
            came, real = self._seen_again(world, all_at, came)
        begins = np.searchsorted(came.slots, np.arange(count + 1))
        held = world.stays
        numbers = index.names.search_sorted(held["fence"]).to_numpy().astype(np.int64)
        old = np.column_stack([held["slot"].to_numpy(), numbers, held["since"].to_numpy(), held["dwelt"].to_numpy()])
        moves = np.isin(old[:, 1], index.moving)
        found, stays = self._standing(world, index, begins, came, real, old[~moves], through)
        if len(index.moving):
            more, others = self._moving(world, index, begins, came, real, old[moves], all_at, through)
            found, stays = np.concatenate([found, more]), np.concatenate([stays, others])
            stays = stays[np.lexsort((stays[:, 1], stays[:, 0]))]
        self._told(found, index, world, came.rows)
        self._settle(world, stays, index, came.take(real), through)

    def _seen_again(self, world: _World, at: int, came: _Reports) -> tuple[_Reports, Array]:
        """The reports, and for all others that are there one more where they are, which is not real; which are."""
        here = ~np.isnan(world.x)
        if self.timeout:
            here &= world.last + self.timeout > at
        here[came.slots[came.times == at]] = False
        more = np.flatnonzero(here)
        real = np.append(np.ones(len(came.slots), np.bool_), np.zeros(len(more), np.bool_))
        others = (more, world.x[more], world.y[more], world.row[more], np.full(len(more), at))
        both = _Reports(*map(np.concatenate, zip(came, others, strict=True)))
        order = np.lexsort((both.times, both.slots))
        return both.take(order), real[order]

    def _standing(
        self, world: _World, index: Index, begins: Array, came: _Reports, real: Array, stays: Array, through: int
    ) -> tuple[Array, Array]:
        """Events and stays of the fences that stand still, with the numbers of all fences."""
        stays = stays.copy()
        stays[:, 1] = np.searchsorted(index.standing, stays[:, 1])
        stay_begins = np.searchsorted(stays[:, 0], np.arange(len(begins)))
        found, left = kernels.sweep(
            begins, came.times, came.xs, came.ys, real, world.last, stay_begins, stays, through, self.timeout,
            self.dwell, self.box.lonlat, *index.fixed,
        )  # fmt: skip
        if len(index.standing):
            found[:, 2], left[:, 1] = index.standing[found[:, 2]], index.standing[left[:, 1]]
        return found, left

    def _moving(
        self,
        world: _World,
        index: Index,
        begins: Array,
        came: _Reports,
        real: Array,
        stays: Array,
        all_at: int | None,
        through: int,
    ) -> tuple[Array, Array]:
        """Events and stays of the fences that move."""
        gone = self._gone(world, came.times[real], came.slots[real], through)
        nowhere = np.full(len(gone[0]), np.nan)
        when, who = np.append(came.times, gone[0]), np.append(came.slots, gone[1])
        order = np.argsort(when, kind="stable")
        x, y = np.append(came.xs, nowhere)[order], np.append(came.ys, nowhere)[order]
        moments = np.unique(when if all_at is None else np.append(when, all_at))
        inside = np.zeros((len(index.moving), len(self.ids)), np.bool_)
        inside[np.searchsorted(index.moving, stays[:, 1]), stays[:, 0]] = True
        slot_of = dict(zip(self.ids.to_list(), range(len(self.ids)), strict=True)) if index.focals else {}
        focals = np.array([slot_of.get(focal, -1) for focal in index.focals], np.int64)
        changes = kernels.follow(
            moments, BEGIN if all_at is None else all_at, when[order], who[order], x, y, world.x.copy(),
            world.y.copy(), self.box.lonlat, focals, index.circles, index.sizes, inside,
        )  # fmt: skip
        changes[:, 2] = index.moving[changes[:, 2]]
        changes = changes[np.lexsort((changes[:, 0], changes[:, 2], changes[:, 1]))]
        found, left = kernels.settle(stays, changes, begins, came.times, through, self.dwell)
        return found, left

    def _gone(self, world: _World, times: Array, slots: Array, through: int) -> tuple[Array, Array]:
        """When objects fall silent, and which: reports are in the order of slots and times."""
        if not self.timeout:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        known = np.flatnonzero(world.last != _NEVER)
        who, when = np.append(known, slots), np.append(world.last[known], times)
        order = np.lexsort((when, who))
        who, when = who[order], when[order]
        followed = np.append(who[1:] == who[:-1], False)[: len(who)]
        over = when + self.timeout
        silent = np.where(followed, over < np.append(when[1:], 0)[: len(when)], over <= through)
        return over[silent], who[silent]

    def _told(self, found: Array, index: Index, world: _World, rows: Array) -> None:
        if not len(found):
            return
        time, slot, fence, event, since, row = found.T
        at = np.where(row >= 0, rows[np.maximum(row, 0)] if len(rows) else 0, world.row[slot])
        self.events.append(
            pl.DataFrame(
                {"time": time, "slot": slot, "fence": index.names[fence], "event": event, "since": since, _ROW: at}
            )
        )

    def _settle(self, world: _World, stays: Array, index: Index, came: _Reports, through: int) -> None:
        """What is known after a part of the train."""
        slots = came.slots
        final = came.take(np.append(slots[1:] != slots[:-1], True)[: len(slots)])
        who = final.slots
        world.x[who], world.y[who], world.last[who], world.row[who] = final.xs, final.ys, final.times, final.rows
        if self.timeout:
            gone = (world.last != _NEVER) & (world.last + self.timeout <= through)
            world.x[gone], world.y[gone], world.last[gone] = np.nan, np.nan, _NEVER
        slot, fence, since, dwelt = stays.T
        world.stays = pl.DataFrame(
            {"slot": slot, "fence": index.names[fence], "since": since, "dwelt": pl.Series(dwelt).cast(pl.Int8)}
        )

    def _index(self) -> Index:
        """The fences as all changes before this train have left them."""
        if not self.box.changing:
            return self.box.index(self.stream)
        index = self.state.memo.get(_INDEX)
        if not isinstance(index, Index):
            changes = {
                name: None if shape is None else self.box.change_of(name, shape, self.stream)[1]
                for name, shape in self._fence_table().with_changes(None).select("fence", "shape").iter_rows()
            }
            index = self.state.memo[_INDEX] = self.box.index(self.stream).changed(changes)
        return index

    def _fence_table(self) -> KeyedTable:
        schema = {"fence": pl.String(), "shape": pl.String(), _ALIVE: pl.Int8()}
        return KeyedTable(self.state, "fences", schema, ("fence",), _ALIVE)

    def _write_fences(self) -> None:
        """The shapes that changed; a fence of the beginning that was removed is remembered as one without a shape."""
        table, first = self._fence_table(), dict(self.box.fences)
        changed = pl.DataFrame(
            {
                "fence": list(self.texts),
                "shape": list(self.texts.values()),
                _ALIVE: [int(shape is not None or name in first) for name, shape in self.texts.items()],
            },
            schema=dict(table.schema),
        )
        table.change(changed.sort("fence"))

    def _write_objects(self, table: KeyedTable, world: _World) -> None:
        """What is known now; of fences that stand still, of those that are inside of one."""
        count = len(self.ids)
        stays = world.stays.group_by("slot", maintain_order=True).agg(
            pl.col("fence").alias(_FENCES), pl.col("since").alias(_SINCE), pl.col("dwelt").alias(_DWELT)
        )
        inside = np.zeros(count, np.bool_)
        inside[stays["slot"].to_numpy()] = True
        alive = ~np.isnan(world.x) if self.everybody else inside
        changed = (np.arange(count) < self.came) & ~alive
        for found in self.events:
            changed[found["slot"].to_numpy()] = True
        if self.remembers:
            changed |= world.row >= self.came
        changed &= (np.arange(count) < self.came) | alive
        slots = np.flatnonzero(changed)
        columns = [pl.Series("slot", slots), self.ids[slots].alias(self.box.object)]
        if self.remembers:
            columns += [
                pl.Series(_X, world.x[slots]),
                pl.Series(_Y, world.y[slots]),
                pl.Series(_LAST, world.last[slots]),
            ]
        if self.box.keep:
            columns += self.values[np.maximum(world.row[slots], 0)].get_columns()
        if self.timeout or self.dwell:
            columns.append(pl.Series(_DUE, self._due(world)[slots]))
        columns.append(pl.Series(_ALIVE, alive[slots], dtype=pl.Int8))
        rows = pl.DataFrame(columns).join(stays, on="slot", how="left").select(list(table.schema))
        table.change(rows.sort(self.box.object))

    def _due(self, world: _World) -> Array:
        """By slot, when something happens to an object that says nothing."""
        due = np.full(len(self.ids), _NO_END)
        if self.timeout:
            there = world.last != _NEVER
            due[there] = world.last[there] + self.timeout
        if self.dwell:
            waits = world.stays.filter(pl.col("dwelt") == 0)
            np.minimum.at(due, waits["slot"].to_numpy(), waits["since"].to_numpy() + self.dwell)
        return due

    def _made(self, ids: pl.Series, values: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """What leaves, in order."""
        out = self.box.told(self.stream)
        schema = out[OUT].schema.polars()
        time, identity = self.stream.time, self.box.object
        made = pl.DataFrame(schema=schema)
        if self.events:
            found = pl.concat(self.events)
            found = found.with_columns(ids[found["slot"].to_numpy()].alias("object"))
            found = found.sort("time", "object", "event", "fence")
            columns = [
                found["time"].cast(schema[time]).alias(time),
                found["object"].alias(identity),
                found["fence"],
                _EVENTS[found["event"].to_numpy()].alias("event"),
                found["since"].cast(schema[time]),
            ]
            if self.box.keep:
                columns += values[found[_ROW].to_numpy()].get_columns()
            made = pl.DataFrame(columns).select(list(schema))
        told = sorted(self.rejects, key=lambda reject: reject[0])
        kinds = out[REJECTS].schema.polars()
        aside = pl.DataFrame(
            [[reject[at] for reject in told] for at in range(len(kinds))],
            schema={name: pl.Int64() if name == time else kind for name, kind in kinds.items()},
            orient="col",
        ).with_columns(pl.col(time).cast(kinds[time]))
        return {OUT: made, REJECTS: aside}
