"""Fences: who enters an area, leaves it, or stays in it; areas stand still, move with an object, or come and go.

The events depend on places alone, not on the other columns of a report. Tile38's fences are the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import polars as pl

from arterial.boxes.parts.order import Held, require_order
from arterial.drawing import StreamHandle
from arterial.errors import NetworkError
from arterial.moving.boxes.fences_index import Index
from arterial.moving.boxes.fences_train import CHANGES, REJECTS, Telling
from arterial.moving.queries.fences import Shape, parse_shape
from arterial.moving.queries.query_columns import check_positions
from arterial.moving.queries.space import Space
from arterial.network.box import IN, OUT, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.aggregate import time_field
from arterial.network.expression.tree import known_column
from arterial.network.schema import Field, Schema, Type
from arterial.network.state import State
from arterial.network.train import Train

FENCE, EVENT, SINCE, SHAPE = "fence", "event", "since", "shape"
EXIT, ENTER, DWELL = "exit", "enter", "dwell"


def fences(
    stream: StreamHandle,
    name: str,
    fences: Mapping[str, str] | None = None,
    *,
    changes: StreamHandle | None = None,
    object: str = "object",
    x: str = "x",
    y: str = "y",
    dwell: Duration | None = None,
    timeout: Duration | None = None,
    lonlat: bool = False,
    keep: Sequence[str] = (),
) -> StreamHandle:
    """The events of fences, given by name and shape: `fences(cars, "zones", {"depot": "circle(3 4, 10)"})`.

    `changes` is a stream of fences that come, change and go, with the columns `fence` and `shape`.
    """
    if not (fences is None or isinstance(fences, Mapping)):
        raise NetworkError(f"box {name!r}: expected the fences as a mapping of names to shapes, got {fences!r}")
    box = Fences(
        name, tuple((fences or {}).items()), object, x, y, dwell, timeout, lonlat, tuple(keep), changes is not None
    )
    return stream.box(box, **({} if changes is None else {CHANGES: changes}))


@dataclass(frozen=True)
class Fences(Box):
    """Reports when an object enters an area, leaves it, or has stayed in it for some time (GPAC §3.1; Tile38).

    A fence has a name and a shape, as text:

    - `circle(3 4, 10)`: at most 10 from x = 3, y = 4. `rectangle(0 0, 5 5)`: between two opposite corners.
    - `polygon((0 0, 9 0, 9 9), (2 1, 3 1, 3 2))`: a ring, closed or not, and perhaps holes, as in WKT; so is
      `multipolygon(((…)), ((…)))`.
    - `circle(object 7, 200)` and `rectangle(object 7, 200 100)`, of that length and width, move with object 7, which is
      never in them itself. While it is unknown or silent, nothing is in them.

    What leaves is the time, the object, `fence`, `event`, `since` (when the object entered), and the columns of `keep`
    as in the object's last report:

    - What counts is the end of each instant: of several reports of an object at one instant, the last. An object is
      where it last reported. Nothing but places and fences counts: a report from the same place changes nothing.
    - `enter`: the object is inside and was not. An object that is first seen inside enters. The border belongs to the
      fence.
    - `exit`: it was inside and is not: it moved, the fence moved, changed or was removed, or the object fell silent.
    - `dwell`: it has been inside for the time `dwell`, without a break; once for each stay, at exactly that time. If it
      leaves at that instant, it has not stayed.
    - At one instant, events are in the order of objects; of one object, exits before enters before dwells, each in the
      order of the fences' names.
    - A report without an object or a place, and a change that is no fence, leave by `rejects` with the reason.

    Grouped by the object, it runs in every shard. Fences that move or change need all objects in one place: leave the
    stream ungrouped. State is the objects that are inside of a fence; where fences move or change, all objects.

    Parameters:
        fences: pairs of a name and a shape. `read_fences` reads them from a GeoJSON, CSV or Parquet file.
        object: the column of the object's id, an integer or a text.
        x: the column of its first coordinate.
        y: the column of its second coordinate.
        dwell: how long an object must stay for `dwell`; None: no such events.
        timeout: an object that is silent for so long is gone, and leaves its fences then; None: it stays. At the end of
            the stream all time passes.
        lonlat: coordinates are degrees of longitude and latitude; radius, length and width are metres. The sides of a
            polygon are straight in degrees, a rectangle reaches from its first corner east to the second.
        keep: columns of the last report that events have too.
        changing: whether fences change: a stream comes by the input `changes`, with the columns `fence` and `shape`,
            both texts. A shape takes the place of the one that the fence had, from that instant on; null removes the
            fence. Changes of a relation with the key `fence`, ungrouped, are such a stream.

    >>> from arterial.testing import show
    >>> zones = {"depot": "circle(0 0, 5)", "escort": "rectangle(object 1, 4 4)"}
    >>> watch = lambda s: fences(s, "zones", zones, dwell="10 s")
    >>> show(watch, time=[1, 1, 4, 20], object=[1, 2, 2, 2], x=[9, 3, 8, 0], y=[0, 0, 1, 0])
    time  object   fence  event  since
       1       2   depot  enter      1
       4       2   depot   exit      1
       4       2  escort  enter      4
      14       2  escort  dwell      4
      20       2  escort   exit      4
      20       2   depot  enter     20
      30       2   depot  dwell     20
    """

    fences: tuple[tuple[str, str], ...] = ()
    object: str = "object"
    x: str = "x"
    y: str = "y"
    dwell: Duration | None = None
    timeout: Duration | None = None
    lonlat: bool = False
    keep: tuple[str, ...] = ()
    changing: bool = False

    kind: ClassVar[str] = "fences"
    splits_by_group: ClassVar[bool] = True
    meaning: ClassVar[str] = "arterial.moving.boxes.fences_meaning:fences"
    because: ClassVar[str] = "arterial.moving.boxes.causes:fences_because"
    scope: ClassVar[str] = "arterial.moving.boxes.causes:fences_scope"
    instead: ClassVar[str] = "put it before the box that makes the signs"
    thinnable: ClassVar[frozenset[str]] = frozenset({IN})

    @property
    def inputs(self) -> tuple[str, ...]:
        """The reports of objects, and the changes of fences."""
        return (IN, CHANGES) if getattr(self, "changing", False) else (IN,)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The events, and what was no report or no fence."""
        return (OUT, REJECTS)

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The time, the object, the fence, the event, since when, and what is kept."""
        stream = inputs[IN]
        require_order(stream)
        names = stream.schema.names
        for column in (self.object, self.x, self.y, *self.keep):
            known_column(column, names)
        check_positions(stream.schema, self.object, self.x, self.y)
        self.silence(stream)
        self.stay(stream)
        self._check_fences(stream)
        if self.changing:
            self._check_changes(stream, inputs[CHANGES])
        self._check_group(stream)
        return self.told(stream)

    def told(self, stream: Stream) -> Mapping[str, Stream]:
        """What leaves: events and rejects."""
        time, identity = time_field(stream.time, stream.schema[stream.time]), stream.schema[self.object]
        events = [Field(FENCE, Type.STRING), Field(EVENT, Type.STRING), Field(SINCE, time.type)]
        fields = [time, Field(self.object, identity), *events, *(Field(k, stream.schema[k]) for k in self.keep)]
        for at, field in enumerate(fields):
            if field.name in [other.name for other in fields[:at]]:
                raise NetworkError(f"an event has a column {field.name!r} already; rename that of the input in a Map")
        reject = (time, Field("input", Type.STRING), Field(self.object, identity), Field("reason", Type.STRING))
        return {
            OUT: Stream(Schema(tuple(fields)), stream.time, True, stream.keyed_by),
            REJECTS: Stream(Schema(reject), stream.time, True, stream.keyed_by),
        }

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The events at every instant that is complete."""
        stream, through = self.fed_by[IN], min(train.through for train in trains.values())
        reports, changes = trains[IN].tuples, pl.DataFrame()
        if self.changing:
            reports = Held(state, "in.ahead", stream.time).next(trains[IN], through)
            changes = Held(state, "changes.ahead", self.fed_by[CHANGES].time).next(trains[CHANGES], through)
        made = Telling(self, state, reports, changes, through).run()
        return {port: Train(tuples, through) for port, tuples in made.items()}

    @property
    def space(self) -> Space:
        """How coordinates are read."""
        return Space.LONLAT if self.lonlat else Space.PLANE

    def silence(self, stream: Stream) -> int | None:
        """The timeout in units of the time column."""
        return None if self.timeout is None else units(self.timeout, stream.schema[stream.time], "timeout")

    def stay(self, stream: Stream) -> int | None:
        """How long `dwell` is, in units of the time column."""
        return None if self.dwell is None else units(self.dwell, stream.schema[stream.time], "dwell")

    def shapes(self, stream: Stream) -> dict[str, Shape]:
        """The fences that it begins with."""
        return dict(_shapes(self.fences, stream.schema[self.object] is Type.STRING, self.lonlat))

    def index(self, stream: Stream) -> Index:
        """The same for the kernels."""
        return _index(self.fences, stream.schema[self.object] is Type.STRING, self.lonlat)

    def change_of(self, fence: str | None, shape: str | None, stream: Stream) -> tuple[str, Shape | None]:
        """What a tuple of changes says; raises if it is no fence."""
        if fence is None:
            raise NetworkError("a change names no fence")
        texts = stream.schema[self.object] is Type.STRING
        return fence, None if shape is None else parse_shape(shape, texts=texts, lonlat=self.lonlat)

    def moves(self, stream: Stream) -> bool:
        """Whether a fence moves or may come to."""
        return self.changing or len(self.index(stream).moving) > 0

    def _check_fences(self, stream: Stream) -> None:
        if not self.fences and not self.changing:
            raise NetworkError("expected fences, or a stream of their changes; got neither")
        for one in self.fences:
            if not (isinstance(one, tuple) and len(one) == 2 and all(isinstance(part, str) for part in one)):
                raise NetworkError(f"expected fences as pairs of a name and a shape, both texts, got {one!r}")
        if len(shapes := self.shapes(stream)) < len(self.fences):
            names = [name for name, _ in self.fences]
            twice = next(name for name in shapes if names.count(name) > 1)
            raise NetworkError(f"two fences are named {twice!r}; give one another name")

    def _check_changes(self, stream: Stream, changes: Stream) -> None:
        require_order(changes, "input 'changes'")
        if changes.keyed_by:
            raise NetworkError(
                "input 'changes' must not be grouped, as all objects may meet all fences; put group_by() before"
            )
        for name in (FENCE, SHAPE):
            kind = changes.schema[known_column(name, changes.schema.names, "the input 'changes'")]
            if kind is not Type.STRING:
                raise NetworkError(f"the column {name!r} of 'changes' must be a string, got {kind}; cast it in a Map")
        kinds = stream.schema[stream.time], changes.schema[changes.time]
        if (kinds[0] is Type.TIMESTAMP) != (kinds[1] is Type.TIMESTAMP):
            raise NetworkError(f"both inputs must count time alike, got {kinds[0]} and {kinds[1]}")

    def _check_group(self, stream: Stream) -> None:
        if stream.keyed_by not in ((), (self.object,)):
            raise NetworkError(
                f"the input is grouped by ({', '.join(stream.keyed_by)}); expected one grouped by the object "
                f"({self.object}), or by nothing"
            )
        if stream.keyed_by and self.moves(stream):
            raise NetworkError(
                "fences that move or change need all objects in one place, but the input is grouped by "
                f"{self.object!r}; put group_by() without columns before it"
            )


_Pairs = tuple[tuple[str, str], ...]


@lru_cache(maxsize=8)
def _shapes(fences: _Pairs, texts: bool, lonlat: bool) -> dict[str, Shape]:
    made = {}
    for name, shape in fences:
        try:
            made[name] = parse_shape(shape, texts=texts, lonlat=lonlat)
        except NetworkError as mistake:
            raise NetworkError(f"the fence {name!r}: {mistake}") from None
    return made


@lru_cache(maxsize=8)
def _index(fences: _Pairs, texts: bool, lonlat: bool) -> Index:
    return Index.of(_shapes(fences, texts, lonlat), Space.LONLAT if lonlat else Space.PLANE)
