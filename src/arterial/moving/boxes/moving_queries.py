"""The box of moving queries: a stream of positions and a stream of queries in, the changes of all answers out (§5).

It is shared execution: one box carries thousands of queries over one stream of objects. Its state is a log of the
objects that reported and one of the queries that changed, so that a train writes what it touched. The engine with its
grid is made from them when a shard begins, and kept in the memo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.boxes.parts.order import Held, instants, require_order
from arterial.errors import NetworkError
from arterial.moving.queries.events import Drop, Register
from arterial.moving.queries.ids import Id
from arterial.moving.queries.query_columns import QUERY_SCHEMA, check_positions, event_of
from arterial.moving.queries.space import Space
from arterial.moving.shared.remembering import RememberingExecution, make_engine
from arterial.moving.shared.shared import Changes, SharedExecution
from arterial.moving.shared.state import (
    bring_up_to_date,
    ids_column,
    load_known,
    log_objects,
    log_of,
    log_queries,
    save_known,
    slots_of,
)
from arterial.moving.shared.warm import warm_kernels
from arterial.network.box import OUT, Box, Stream
from arterial.network.schema import Field, Schema, Type
from arterial.network.state import State
from arterial.network.train import Train

OBJECTS, QUERIES, REJECTS, UNCERTAINTY = "objects", "queries", "rejects", "uncertainty"
_ENGINE, _LOG = "engine", "log"
"""In the memo: the engine, and the chunks that it has taken in."""


@dataclass(frozen=True)
class MovingQueries(Box):
    """Answers thousands of range and nearest-neighbour queries over moving objects together (GPAC §5).

    Queries come on a stream of their own, `queries`, with the columns of `QUERY_SCHEMA`, and stand still or move with a
    focal object. An answer is defined at the end of each instant at which either stream has a tuple; `out` reports what
    joins it (1) and leaves it (-1). A tuple that is no position or no query is reported on `rejects`.

    Queries that are grouped by `query` are spread over the shards, and every shard gets all positions: so more cores
    answer more queries. Then `rejects` has the queries only, and there is neither a timeout nor a smaller cache.
    [Moving queries](../moving/index.md) has the details.

    Parameters:
        object: the column of the object's id, an integer or a text; `focal` of a query is of the same type.
        x: the column of its first coordinate.
        y: the column of its second coordinate.
        lonlat: coordinates are longitude and latitude in degrees, not on a plane.
        timeout: an object that is silent for so many units of time is gone; None: it stays.
        cache: how much of the area around an answer is remembered, in per cent; below 100 answers may be less exact,
            and `uncertainty` says by how much after each instant.
        longest_step: the farthest that an object moves between two reports; makes the remembered areas smaller.
        ticks: how many units of the time column are one unit of time.

    >>> from arterial.testing import show
    >>> corners = {"x1": "0.0", "y1": "0.0", "x2": "5.0", "y2": "5.0"}
    >>> ask = {"query": "'near'", "kind": "'range'", "focal": "object", "k": "1"} | corners
    >>> asked = lambda s: s.filter("once", "time = 1").map("ask", ask, keep=["time"])
    >>> show(lambda s: s.box(MovingQueries("all"), queries=asked(s)), time=[1, 2], object=[7, 7], x=[4, 9], y=[1, 1])
    time  query  sign  object
       1   near     1       7
       2   near    -1       7
    """

    object: str = "object"
    x: str = "x"
    y: str = "y"
    lonlat: bool = False
    timeout: float | None = None
    cache: float = 100.0
    longest_step: float | None = None
    ticks: int = 1

    kind: ClassVar[str] = "moving_queries"
    meaning: ClassVar[str] = "arterial.moving.boxes.moving_queries_meaning:moving_queries"
    because: ClassVar[str] = "arterial.moving.boxes.causes:moving_queries_because"
    scope: ClassVar[str] = "arterial.moving.boxes.causes:all_so_far"
    everywhere: ClassVar[frozenset[str]] = frozenset({OBJECTS})
    thinnable: ClassVar[frozenset[str]] = frozenset({OBJECTS})
    instead: ClassVar[str] = "use gpac_in or gpac_knn, which take signed streams of objects"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Positions and queries."""
        return (OBJECTS, QUERIES)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Changes of answers, tuples that were no positions or queries, and how exact answers are."""
        return (OUT, REJECTS, UNCERTAINTY)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """Check the columns; the changes have the time, the query, the sign and the object."""
        objects, queries = inputs[OBJECTS], inputs[QUERIES]
        for port, stream in inputs.items():
            require_order(stream, f"input {port!r}")
        if objects.keyed_by:
            raise NetworkError("input 'objects' must not be grouped, as all objects may meet; remove the GroupBy")
        if queries.keyed_by not in ((), ("query",)):
            given = ", ".join(queries.keyed_by)
            raise NetworkError(f"input 'queries' may be grouped by 'query' or not at all, got it grouped by ({given})")
        if queries.keyed_by and self.timeout is not None:
            raise NetworkError(
                "a timeout is looked at whenever any tuple comes, and a shard sees its own queries only; leave the "
                "queries ungrouped, or the timeout out"
            )
        if queries.keyed_by and self.cache < 100.0:
            raise NetworkError(
                "a cache below 100 is judged over all queries, and a shard has some of them; leave the queries "
                "ungrouped, or the cache out"
            )
        kind = check_positions(objects.schema, self.object, self.x, self.y)
        time = objects.schema[objects.time]
        if (time is Type.TIMESTAMP) != (queries.schema[queries.time] is Type.TIMESTAMP):
            raise NetworkError(f"both inputs must count time alike, got {time} and {queries.schema[queries.time]}")
        for field, expected in QUERY_SCHEMA.items():
            got = queries.schema[field]
            right = got is kind if field == "focal" else got is expected or (expected.is_number and got.is_number)
            if field == "query":
                right = got.is_integer or got is Type.STRING
            if not right:
                wanted = kind if field == "focal" else expected
                raise NetworkError(f"the queries' column {field!r} must be {wanted}, got {got}")
        if not (0.0 <= self.cache <= 100.0):
            raise NetworkError(f"the cache must be 0 to 100 per cent, got {self.cache}")
        if self.timeout is not None and not self.timeout > 0:
            raise NetworkError(f"the timeout must be more than 0, got {self.timeout}")
        if self.ticks < 1:
            raise NetworkError(f"the ticks must be at least 1, got {self.ticks}")
        stamp = Field(objects.time, time)
        keys: dict[str, tuple[str, ...]] = {OUT: queries.keyed_by, REJECTS: (), UNCERTAINTY: ()}
        columns = {
            OUT: (Field("query", queries.schema["query"]), Field("sign", Type.INT8), Field(self.object, kind)),
            REJECTS: (Field("input", Type.STRING), Field("reason", Type.STRING)),
            UNCERTAINTY: (Field("members", Type.INT64), Field("missing", Type.INT64), Field("extra", Type.INT64)),
        }
        return {
            port: Stream(Schema((stamp, *fields)), objects.time, keyed_by=keys[port], signed=port == OUT)
            for port, fields in columns.items()
        }

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The changes at every instant that is complete on both inputs."""
        through = min(train.through for train in trains.values())
        ready = {
            port: Held(state, f"{port}.ahead", self.fed_by[port].time).next(trains[port], through)
            for port in (OBJECTS, QUERIES)
        }
        work = _Work(self, state, ready[OBJECTS], ready[QUERIES])
        if ready[OBJECTS].height or ready[QUERIES].height:
            work.run()
        else:
            work.engine()
        state.memo[_LOG] = log_of(state)
        return {port: Train(work.frame(port), through) for port in self.outputs}


class _Work:
    """The work on one train."""

    def __init__(self, box: MovingQueries, state: State, objects: pl.DataFrame, queries: pl.DataFrame) -> None:
        self.box, self.state, self.queries = box, state, queries
        time = box.fed_by[OBJECTS].time
        ids = objects[box.object]
        x, y = (objects[axis].cast(pl.Float64).to_numpy() for axis in (box.x, box.y))
        valid = np.isfinite(x) & np.isfinite(y)
        if ids.null_count():
            valid &= ids.is_not_null().to_numpy()
        if box.lonlat:
            valid &= (x >= -180.0) & (x <= 360.0) & (y >= -90.0) & (y <= 90.0)
        self.times = instants(objects, time)
        self.units = _distinct(self.times)
        self.rejects: list[tuple[int, str, str]] = []
        if not valid.all():
            if not box.fed_by[QUERIES].keyed_by:  # else each shard would report them
                self.rejects = [(t, OBJECTS, "no position") for t in self.times[~valid].tolist()]
            self.times, ids, x, y = self.times[valid], ids.filter(valid), x[valid], y[valid]
        self.ids, self.x, self.y = ids, x, y
        self.changes: list[tuple[int, Changes]] = []
        self.uncertain: list[tuple[int, int, int, int]] = []

    def run(self) -> None:
        engine = self.engine()
        slots = slots_of(engine.object_table, self.ids)
        events = self._events()
        engine.expect(event.name for _, event in events if isinstance(event, Register))
        units = np.unique(np.concatenate([self.units, np.array([t for t, _ in events], np.int64)]))
        begins, ends = np.searchsorted(self.times, units, "left"), np.searchsorted(self.times, units, "right")
        at, gone = 0, []
        spoken_of: set[Id] = set()
        for t, begin, end in zip(units.tolist(), begins.tolist(), ends.tolist(), strict=True):
            while at < len(events) and events[at][0] == t:
                self._take(engine, *events[at], spoken_of)
                at += 1
            time = t / self.box.ticks
            changed = engine.step(time, slots[begin:end], self.x[begin:end], self.y[begin:end])
            gone += engine.disconnected
            if len(changed):
                self.changes.append((t, changed))
            self._measure(engine, t)
        self._output = self._out(engine)
        log_objects(self.state, engine, [slots, np.array(gone, np.int32)])
        log_queries(self.state, engine, spoken_of)
        self._save_known(engine)
        engine.forget()

    def frame(self, port: str) -> pl.DataFrame:
        """What leaves by a port."""
        stream = self.box.streams(self.box.fed_by)[port]
        schema = stream.schema.polars()
        if port == OUT:
            return self._output if self.changes else pl.DataFrame(schema=schema)
        rows = sorted(self.rejects, key=lambda row: row[0]) if port == REJECTS else self.uncertain
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in schema]
        time, *others = schema
        made = {time: pl.Series(columns[0], dtype=pl.Int64).cast(schema[time])}
        for name, column in zip(others, columns[1:], strict=True):
            made[name] = pl.Series(column, dtype=schema[name])
        return pl.DataFrame(made)

    def engine(self) -> SharedExecution:
        """The engine with all that the state holds; when a worker begins, an earlier one of its own or a new one."""
        memo = self.state.memo
        if _ENGINE not in memo:
            earlier = self.state.earlier_memo
            engine, known = earlier.pop(_ENGINE, None), earlier.pop(_LOG, None)
            if engine is None or isinstance(engine, RememberingExecution):  # what that knows is no log
                engine, known = self._new_engine(), None
            bring_up_to_date(engine, log_of(self.state), known)
            if isinstance(engine, RememberingExecution):
                self._load_known(engine)
            memo[_ENGINE] = engine
        return cast(SharedExecution, memo[_ENGINE])

    def _new_engine(self) -> SharedExecution:
        box = self.box
        space = Space.LONLAT if box.lonlat else Space.PLANE
        warm_kernels(space)
        return make_engine(space=space, timeout=box.timeout, cache=box.cache, longest_step=box.longest_step)

    def _load_known(self, engine: RememberingExecution) -> None:
        known, gauge = self.state.get("known"), self.state.get("gauge")
        if isinstance(known, pl.DataFrame):
            load_known(engine, known)
            assert not isinstance(gauge, pl.DataFrame | None)
            engine.longest_step = float(gauge["longest_step"][0])

    def _events(self) -> list[tuple[int, Register | Drop | str]]:
        """What the queries' tuples say, with their instants; a text is the reason why one says nothing."""
        times = instants(self.queries, self.box.fed_by[QUERIES].time).tolist()
        rows = self.queries.iter_rows(named=True)
        return [(t, event_of(float(t), row, lonlat=self.box.lonlat)) for t, row in zip(times, rows, strict=True)]

    def _take(self, engine: SharedExecution, t: int, event: Register | Drop | str, spoken_of: set[Id]) -> None:
        """Do what a query's tuple says."""
        if isinstance(event, Register):
            engine.register(event.name, event.query)
            spoken_of.add(event.name)
            return
        if isinstance(event, Drop):
            if engine.drop(event.name):
                spoken_of.add(event.name)
                return
            event = f"no query {event.name} is running"
        self.rejects.append((t, QUERIES, event))

    def _measure(self, engine: SharedExecution, t: int) -> None:
        if isinstance(engine, RememberingExecution):
            now = engine.uncertainty_of_step
            self.uncertain.append((t, now.members, now.missing, now.extra))

    def _out(self, engine: SharedExecution) -> pl.DataFrame:
        schema = self.box.streams(self.box.fed_by)[OUT].schema.polars()
        if not self.changes:
            return pl.DataFrame(schema=schema)
        time, query, _, identity = schema
        times = np.repeat([t for t, _ in self.changes], [len(changed) for _, changed in self.changes])
        rows = np.concatenate([changed.query for _, changed in self.changes])
        slots = np.concatenate([changed.slot for _, changed in self.changes])
        return pl.DataFrame(
            {
                time: pl.Series(times, dtype=pl.Int64).cast(schema[time]),
                query: ids_column(engine.query_table, rows).cast(schema[query]),
                "sign": np.concatenate([changed.sign for _, changed in self.changes]),
                identity: ids_column(engine.object_table, slots).cast(schema[identity]),
            }
        )

    def _save_known(self, engine: SharedExecution) -> None:
        if isinstance(engine, RememberingExecution):
            self.state.put("known", "", save_known(engine))
            self.state.put("gauge", "", {"longest_step": np.array([engine.longest_step])})


def _distinct(times: Array) -> Array:
    """The distinct values of what is in order."""
    return np.concatenate([times[:1], times[1:][times[1:] != times[:-1]]])
