"""The work of a GPAC box on one train: who stands where at each instant, and which rows join and leave the answer (§5).

Positions go to the engine of shared execution, an instant at a time; it says which objects join and leave. Rows are
*entries*, one for each object and set of attributes, with the number of times that it stands and was reported. An
object's entries are reported while it is in the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts.groups import codes, slots_of
from arterial.boxes.parts.order import instants
from arterial.boxes.parts.signed import weights
from arterial.boxes.parts.table import KeyedTable
from arterial.moving.boxes.gpac_kernels import NONE, link, take_in, tell
from arterial.moving.queries.ids import Id
from arterial.moving.queries.space import Space
from arterial.moving.shared.remembering import RememberingExecution, make_engine
from arterial.moving.shared.shared import SharedExecution
from arterial.moving.shared.state import load_known, save_known
from arterial.moving.shared.state import slots_of as object_slots
from arterial.network.box import IN, OUT, SIGN
from arterial.network.state import State
from arterial.network.train import END

if TYPE_CHECKING:
    from arterial.moving.boxes.gpac import GpacBox


FOCALS, UNCERTAINTY = "focals", "uncertainty"
QUERY = "query"
LONG_AGO = -1e300
_X, _Y, _N, _LAST, _TOLD_X, _TOLD_Y = "@x", "@y", "@n", "@last", "@told_x", "@told_y"


@dataclass(frozen=True)
class Events:
    """What happens to objects, in the order of time: reports and changes of rows, and (weight 0) silence."""

    time: Array
    object: Array
    entry: Array
    weight: Array
    row: Array


@dataclass
class Whereabouts:
    """Where the focal object was last, if it reports on a stream of its own, and how many rows say so."""

    x: float = np.nan
    y: float = np.nan
    rows: int = 0
    last: int = 0


class Telling:
    """The work on one train."""

    def __init__(self, box: GpacBox, state: State, through: int) -> None:
        self.box, self.state, self.through = box, state, through
        self.stream = box.fed_by[IN]
        self.attributes = box.attributes(self.stream)
        kinds = self.stream.schema.polars()
        schema = {name: kinds[name] for name in self.attributes} | {
            _X: kinds[box.x],
            _Y: kinds[box.y],
            _N: pl.Int64(),
            _LAST: pl.Int64(),
            _TOLD_X: kinds[box.x],
            _TOLD_Y: kinds[box.y],
        }
        self.table = KeyedTable(state, "rows", schema, self.attributes, _N)
        self.known = self.table.read()
        self.signs: list[tuple[int, Array, Array, Array, Array]] = []
        self.uncertain: list[tuple[int, int, int, int]] = []

    def run(self, tuples: pl.DataFrame, focals: pl.DataFrame | None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The changes of the answer, and how exact it is."""
        engine = self._engine()
        silence = self.box.silence()
        self.tuples = self._objects_of(tuples)
        steps = self._focal_steps(focals) if focals is not None else {}
        expiring = self.known.height and silence is not None and not self.stream.signed
        if self.tuples.height or steps or expiring:
            self._prepare(engine)
            events = self._changes() if self.stream.signed else self._reports(silence)
            units = np.unique(np.concatenate([events.time, np.fromiter(steps, np.int64, len(steps))]))
            if len(units):
                self._go(engine, events, units.tolist(), steps)
                return self._told(engine), self._uncertainty()
        return self._schema(OUT), self._uncertainty()

    def _objects_of(self, tuples: pl.DataFrame) -> pl.DataFrame:
        """The tuples of objects; the focal object is none where it reports on a stream of its own."""
        ids = tuples[self.box.object]
        mask = ids.is_not_null()
        if self.box.focals:
            mask &= ids != _as_id(self.box.focal_id, ids)
        return tuples if mask.all() else tuples.filter(mask)

    def _prepare(self, engine: SharedExecution) -> None:
        """Number the entries, those of the state first, and lay out what is known of them and of objects."""
        known, tuples, box = self.known, self.tuples, self.box
        before, came = known.height, tuples.height
        self.all = pl.concat([known.select(self.attributes), tuples.select(self.attributes)])
        entries, count = slots_of(codes([self.all[name] for name in self.attributes], before + came), before)
        self.entry_of = entries[before:]
        self.first_row = np.empty(count, np.int64)
        self.first_row[entries[::-1]] = np.arange(before + came)[::-1]
        self.xs = pl.concat([known[_X], tuples[box.x], known[_TOLD_X]])
        self.ys = pl.concat([known[_Y], tuples[box.y], known[_TOLD_Y]])
        self.x, self.y, self.placed = _places(self.xs, self.ys, lonlat=box.lonlat)
        self.objects = object_slots(engine.object_table, tuples[box.object]).astype(np.int64)
        slots = object_slots(engine.object_table, known[box.object]).astype(np.int64)
        engine.make_room()
        room = len(engine.object_table.rank)
        self.object_of = np.empty(count, np.int64)
        self.object_of[self.entry_of] = self.objects
        self.object_of[:before] = slots
        self.n, self.told = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.n[:before] = known[_N].to_numpy()
        is_told = known[_TOLD_X].is_not_null().to_numpy()
        self.told[:before] = np.where(is_told, self.n[:before], 0)
        self.told_row = np.full(count, NONE, np.int64)
        self.told_row[:before] = np.where(is_told, before + came + np.arange(before), NONE)
        self.last = np.zeros(room, np.int64)
        self.last[slots] = known[_LAST].to_numpy()
        self.position, self.current = np.full(room, NONE, np.int64), np.full(room, NONE, np.int64)
        self.position[slots] = self.current[slots] = np.arange(before)
        self.member = np.zeros(room, np.bool_)
        self.member[slots[is_told]] = True
        self.standing = np.zeros(room, np.int64)
        self.first_entry, self.next_entry = np.full(room, NONE, np.int64), np.full(count, NONE, np.int64)
        link(self.object_of, self.n, self.first_entry, self.next_entry, self.standing)
        self.changed = np.zeros(count, np.bool_)

    def _reports(self, silence: int | None) -> Events:
        """The last report of each object in an instant, and where objects fall silent."""
        times = instants(self.tuples, self.stream.time)
        order = np.lexsort((np.arange(len(times)), times, self.objects))
        objects, moments = self.objects[order], times[order]
        lasting = np.ones(len(order), np.bool_)
        lasting[:-1] = (objects[1:] != objects[:-1]) | (moments[1:] != moments[:-1])
        order = order[lasting]
        before = self.known.height
        time, object_ = times[order], self.objects[order]
        events = [time, object_, self.entry_of[order], np.ones(len(order), np.int64), before + order]
        if silence is not None:
            object_ = np.concatenate([self.object_of[:before], object_])
            since = np.concatenate([self.known[_LAST].to_numpy(), time])
            chain = np.lexsort((since, object_))
            following = np.full(len(chain), END, np.int64)
            same = object_[chain[1:]] == object_[chain[:-1]]
            following[:-1][same] = since[chain[1:]][same]
            end = since[chain] + np.minimum(silence, END - np.maximum(since[chain], 0))
            silent = (following > end) & (end <= self.through)
            gone = object_[chain[silent]]
            nothing = np.full(len(gone), NONE, np.int64)
            more = (end[silent], gone, nothing, np.zeros(len(gone), np.int64), nothing)
            events = [np.concatenate(pair) for pair in zip(events, more, strict=True)]
        order = np.argsort(events[0], kind="stable")
        return Events(*(column[order] for column in events))

    def _changes(self) -> Events:
        """The changes of rows, as they came."""
        times = instants(self.tuples, self.stream.time)
        weight = weights(self.tuples, self.stream)
        rows = self.known.height + np.arange(len(times))
        some = weight != 0
        return Events(times[some], self.objects[some], self.entry_of[some], weight[some], rows[some])

    def _go(
        self, engine: SharedExecution, events: Events, units: list[int], focal_steps: dict[int, tuple[float, float]]
    ) -> None:
        begins, ends = (np.searchsorted(events.time, units, side).tolist() for side in ("left", "right"))
        stamps, object_stamps = np.full(len(self.n), NONE, np.int64), np.full(len(self.position), NONE, np.int64)
        entries, objects = np.empty(len(self.n), np.int64), np.empty(len(self.position), np.int64)
        focal = engine.object_table.slot(self.box.focal_id) if self.box.focal_id is not None else NONE
        signs, copies = np.empty(len(self.n), np.int8), np.empty(len(self.n), np.int64)
        rows = np.empty(len(self.n), np.int64)
        for mark, (t, begin, end) in enumerate(zip(units, begins, ends, strict=True)):
            touched, touched_objects = take_in(
                self.stream.signed, begin, end, t,
                events.object, events.entry, events.weight, events.row,
                self.n, self.current, self.standing, self.position, self.last, self.first_entry, self.next_entry,
                self.changed, mark, stamps, entries, object_stamps, objects,
            )  # fmt: skip
            here = objects[:touched_objects]
            live = (self.standing[here] > 0) & self.placed[self.position[here]]
            slots, gone = here[live], here[~live]
            x, y = self.x[self.position[slots]], self.y[self.position[slots]]
            if t in focal_steps:
                at = focal_steps[t]
                if np.isnan(at[0]):
                    gone = np.append(gone, focal)
                else:
                    slots, x, y = np.append(slots, focal), np.append(x, at[0]), np.append(y, at[1])
            changes = engine.step(float(t), slots.astype(np.int32), x, y, gone)
            count = tell(
                touched, entries, changes.slot, changes.sign, self.member, self.first_entry, self.next_entry,
                self.object_of, self.n, self.told, self.told_row, self.position, self.changed, mark, stamps,
                signs, rows, copies,
            )  # fmt: skip
            if count:
                some = np.flatnonzero(copies[:count])
                self.signs.append((t, signs[some], entries[some], rows[some], copies[some]))
            if isinstance(engine, RememberingExecution):
                now = engine.uncertainty_of_step
                self.uncertain.append((t, now.members, now.missing, now.extra))

    def _told(self, engine: SharedExecution) -> pl.DataFrame:
        """What leaves; and the state is written."""
        told = self._out(engine)
        engine.forget()
        self._save(engine)
        return told

    def _out(self, engine: SharedExecution) -> pl.DataFrame:
        if not self.signs:
            return self._schema(OUT)
        parts = list(zip(*self.signs, strict=True))
        sign, entries, rows, copies = (np.concatenate(part) for part in parts[1:])
        times = np.repeat(parts[0], [len(part) for part in parts[2]])
        stream = self.box.streams(self.box.fed_by)[OUT]
        kinds = stream.schema.polars()
        made = {name: self.all[name].gather(self.first_row[entries]) for name in self.attributes}
        if not self.box.moves:
            made |= {self.box.x: self.xs.gather(rows), self.box.y: self.ys.gather(rows)}
        made |= {
            stream.time: pl.Series(times, dtype=pl.Int64).cast(kinds[stream.time]),
            SIGN: pl.Series(sign),
            "@rank": pl.Series(engine.object_table.rank[self.object_of[entries]]),
        }
        out = pl.DataFrame(made)
        if (copies > 1).any():
            out = out[np.repeat(np.arange(out.height), copies)]
        ties = self.attributes if self.stream.signed else ()
        return out.sort(stream.time, SIGN, "@rank", *ties, maintain_order=True).select(list(kinds))

    def _save(self, engine: SharedExecution) -> None:
        stays = np.flatnonzero(self.n)
        before = self.known.height
        changed = np.flatnonzero(self.changed & ((self.n != 0) | (np.arange(len(self.n)) < before)))
        most = 2 * len(changed) >= len(stays)  # then it is less work to write all than to merge
        self.table.write(self._rows(stays), None if most else self._rows(changed))
        if isinstance(engine, RememberingExecution):
            self.state.put("known", "", save_known(engine))
            self.state.put("gauge", "", {"longest_step": np.array([engine.longest_step])})

    def _rows(self, entries: Array) -> pl.DataFrame:
        objects = self.object_of[entries]
        places = pl.DataFrame({_X: self.xs, _Y: self.ys})
        told = pl.Series(self.told_row[entries]).set(pl.Series(self.told_row[entries] < 0), None)
        told_places = places.select(pl.all().gather(told)).rename({_X: _TOLD_X, _Y: _TOLD_Y})
        made = self.all[self.first_row[entries]].hstack(places[np.maximum(self.position[objects], 0)])
        counts = [pl.Series(_N, self.n[entries]), pl.Series(_LAST, self.last[objects])]
        return made.hstack(counts).hstack(told_places)

    def _uncertainty(self) -> pl.DataFrame:
        empty = self._schema(UNCERTAINTY)
        if not self.uncertain:
            return empty
        columns = [list(column) for column in zip(*self.uncertain, strict=True)]
        made = {name: pl.Series(c, dtype=pl.Int64) for name, c in zip(empty.columns, columns, strict=True)}
        return pl.DataFrame(made).cast(empty.schema)

    def _schema(self, port: str) -> pl.DataFrame:
        return self.box.streams(self.box.fed_by)[port].schema.empty()

    def _engine(self) -> SharedExecution:
        """The engine of the last train, or one that is made from the state."""
        memo, box, known = self.state.memo, self.box, self.known
        if "engine" in memo:
            return cast(SharedExecution, memo["engine"])
        space = Space.LONLAT if box.lonlat else Space.PLANE
        engine = make_engine(space=space, cache=box.cache, longest_step=box.longest_step)
        slots = object_slots(engine.object_table, known[box.object]).astype(np.int64)
        engine.register(QUERY, box.query)
        x, y, placed = _places(known[_X], known[_Y], lonlat=box.lonlat)
        placed &= known[_N].to_numpy() > 0
        focal = self._focal()
        here, x, y = slots[placed], x[placed], y[placed]
        if focal.rows > 0 and not np.isnan(focal.x):
            here = np.append(here, engine.object_table.slot(cast(Id, box.focal_id)))
            x, y = np.append(x, focal.x), np.append(y, focal.y)
        engine.step(LONG_AGO, here.astype(np.int32), x, y)
        saved = self.state.get("known")
        if isinstance(engine, RememberingExecution) and isinstance(saved, pl.DataFrame):
            engine.memories.clear()  # what it learnt from the step above is not what it knew
            engine.register(QUERY, box.query)
            load_known(engine, saved)
            gauge = self.state.get("gauge")
            assert not isinstance(gauge, pl.DataFrame | None)
            engine.longest_step = float(gauge["longest_step"][0])
        memo["engine"] = engine
        return engine

    def _focal(self) -> Whereabouts:
        saved = self.state.get("focal")
        if saved is None:
            return Whereabouts()
        return Whereabouts(float(saved["x"][0]), float(saved["y"][0]), int(saved["rows"][0]), int(saved["last"][0]))

    def _focal_steps(self, focals: pl.DataFrame) -> dict[int, tuple[float, float]]:
        """Where the focal object is at each instant at which its own stream says so; NaN where it is nowhere."""
        box, stream = self.box, self.box.fed_by[FOCALS]
        ids = focals[box.object]
        mine = focals.filter(ids.is_not_null() & (ids == _as_id(box.focal_id, ids)))
        silence = None if stream.signed else box.silence()
        now, steps = self._focal(), {}
        x, y, placed = _places(mine[box.x], mine[box.y], lonlat=box.lonlat)
        x, y = np.where(placed, x, np.nan), np.where(placed, y, np.nan)
        for t, weight, at_x, at_y in zip(
            instants(mine, stream.time).tolist(), weights(mine, stream).tolist(), x.tolist(), y.tolist(), strict=True
        ):
            if silence is not None and now.rows and t > now.last + silence:
                steps[now.last + silence] = (np.nan, np.nan)
            now.rows = now.rows + weight if stream.signed else 1
            if weight > 0:
                now.x, now.y = at_x, at_y
            now.last = t
            steps[t] = (now.x, now.y) if now.rows > 0 else (np.nan, np.nan)
        if silence is not None and now.rows and now.last + silence <= self.through:
            steps[now.last + silence] = (np.nan, np.nan)
            now.rows = 0
        if steps:
            columns = {"x": [now.x], "y": [now.y], "rows": [now.rows], "last": [now.last]}
            self.state.put("focal", "", {name: np.array(column) for name, column in columns.items()})
        return steps


def _places(x: pl.Series, y: pl.Series, *, lonlat: bool) -> tuple[Array, Array, Array]:
    """Coordinates as numbers, and whether both are some."""
    xs, ys = (column.cast(pl.Float64).fill_null(np.nan).to_numpy() for column in (x, y))
    placed = np.isfinite(xs) & np.isfinite(ys)
    if lonlat:
        with np.errstate(invalid="ignore"):
            placed &= (xs >= -180.0) & (xs <= 360.0) & (ys >= -90.0) & (ys <= 90.0)
    return xs, ys, placed


def _as_id(identity: Id | None, ids: pl.Series) -> Id | None:
    return str(identity) if ids.dtype == pl.String else identity
