"""GPAC-IN and GPAC-kNN as boxes of a network: objects in, the changes of one query's answer out (§5).

What leaves is a signed stream of whole tuples, so that boxes above see the attributes of the objects that join and
leave the answer. What comes in is a stream of reports, of which the latest of each object stands, or a signed stream,
so that a GPAC box can stand at the bottom, in the middle or on top of a plan.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from arterial.boxes.parts.order import Held, require_order
from arterial.drawing import StreamHandle
from arterial.errors import NetworkError
from arterial.moving.boxes.gpac_train import Telling
from arterial.moving.queries.events import MovingNearest, MovingRange, Nearest, Query, Range
from arterial.moving.queries.ids import Id, parsed_id
from arterial.moving.queries.query_columns import check_positions
from arterial.network.box import IN, OUT, SIGN, Box, Stream
from arterial.network.duration import Duration, units
from arterial.network.expression.tree import known_column
from arterial.network.schema import Field, Schema, Type
from arterial.network.signed import lifted, row_columns
from arterial.network.state import State
from arterial.network.train import Train

FOCALS, UNCERTAINTY = "focals", "uncertainty"


def gpac_in(
    stream: StreamHandle,
    name: str,
    *,
    region: Sequence[float] | None = None,
    focal: Id | None = None,
    length: float | None = None,
    width: float | None = None,
    object: str = "object",
    x: str = "x",
    y: str = "y",
    timeout: Duration | None = None,
    cache: float = 100.0,
    longest_step: float | None = None,
    lonlat: bool = False,
    focals: StreamHandle | None = None,
    moves: bool = False,
    fixed: Sequence[str] = (),
) -> StreamHandle:
    """The objects in a rectangle: `region=(x1, y1, x2, y2)`, or of `length` and `width` around a `focal` object.

    `focals` is the stream in which the focal object reports, if not this one. `moves` also reports where the members
    of the answer move. `fixed` names attributes that an object never changes, which the optimizer may rely on.
    """
    box = GpacInBox(
        name,
        object=object,
        x=x,
        y=y,
        timeout=timeout,
        cache=cache,
        longest_step=longest_step,
        lonlat=lonlat,
        focals=focals is not None,
        moves=moves,
        fixed=tuple(fixed),
        region=None if region is None else tuple(region),
        focal=focal,
        length=length,
        width=width,
    )
    return stream.box(box, **({} if focals is None else {FOCALS: focals}))


def gpac_knn(
    stream: StreamHandle,
    name: str,
    *,
    k: int,
    at: Sequence[float] | None = None,
    focal: Id | None = None,
    object: str = "object",
    x: str = "x",
    y: str = "y",
    timeout: Duration | None = None,
    cache: float = 100.0,
    longest_step: float | None = None,
    lonlat: bool = False,
    focals: StreamHandle | None = None,
    moves: bool = False,
    fixed: Sequence[str] = (),
) -> StreamHandle:
    """The `k` objects nearest to a place (`at=(x, y)`) or to a `focal` object; the rest is as in `gpac_in`."""
    box = GpacKnnBox(
        name,
        object=object,
        x=x,
        y=y,
        timeout=timeout,
        cache=cache,
        longest_step=longest_step,
        lonlat=lonlat,
        focals=focals is not None,
        moves=moves,
        fixed=tuple(fixed),
        k=k,
        at=None if at is None else tuple(at),
        focal=focal,
    )
    return stream.box(box, **({} if focals is None else {FOCALS: focals}))


@dataclass(frozen=True)
class GpacBox(Box):
    """What both boxes share: one query over the objects of a stream.

    Of a stream of reports the latest of each object stands, until it is silent for `timeout`. Of a signed stream a plus
    is a report of its object with that row, and a minus withdraws the row; an object is where its last plus says, as
    long as some row of it stands. At the end of each instant `out` reports which rows join the answer (1) and leave it
    (-1); a row is the tuple with all its attributes, and `x` and `y` as they were when it was reported. If an attribute
    of a member changes, its old row leaves and the new one joins.

    Parameters:
        object: the column of the object's id, an integer or a text.
        x: the column of its first coordinate.
        y: the column of its second coordinate.
        timeout: an object that is silent for so long is gone; None: it stays. Only for streams without signs.
        cache: how much of the area around the answer is remembered, in per cent; below 100 the answer may be less
            exact, and `uncertainty` says by how much.
        longest_step: the farthest that an object moves between two reports; makes the remembered area smaller.
        lonlat: coordinates are longitude and latitude in degrees, not on a plane.
        focals: whether the focal object reports on an input of its own, `focals`.
        moves: whether the moves of the members of the answer are reported too.
        fixed: attributes that an object never changes, which the optimizer may rely on.
    """

    object: str = "object"
    x: str = "x"
    y: str = "y"
    timeout: Duration | None = None
    cache: float = 100.0
    longest_step: float | None = None
    lonlat: bool = False
    focals: bool = False
    moves: bool = False
    fixed: tuple[str, ...] = ()

    meaning: ClassVar[str] = "arterial.moving.boxes.gpac_meaning:gpac"
    because: ClassVar[str] = "arterial.moving.boxes.causes:gpac_because"
    scope: ClassVar[str] = "arterial.moving.boxes.causes:all_so_far"
    takes_signed: ClassVar[bool] = True
    thinnable: ClassVar[frozenset[str]] = frozenset({IN})

    @property
    @abstractmethod
    def query(self) -> Query:
        """The query that it keeps answering."""

    @property
    def focal_id(self) -> Id | None:
        """The object that the query moves with."""
        query = self.query
        return query.focal if isinstance(query, MovingRange | MovingNearest) else None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The objects, and where the focal object reports if not there."""
        return (IN, FOCALS) if self.focals else (IN,)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The changes of the answer, and how exact it is."""
        return (OUT, UNCERTAINTY)

    def attributes(self, stream: Stream) -> tuple[str, ...]:
        """The columns whose change is reported: all but the time, the sign, and (without `moves`) the position."""
        return tuple(name for name in row_columns(stream) if self.moves or name not in (self.x, self.y))

    def silence(self) -> int | None:
        """The timeout in units of the time column."""
        stream = self.fed_by[IN]
        return None if self.timeout is None else units(self.timeout, stream.schema[stream.time], "timeout")

    def streams(self, inputs: Mapping[str, Stream]) -> Mapping[str, Stream]:
        """The input with a sign; the uncertainty at each instant."""
        stream = inputs[IN]
        for port, one in inputs.items():
            self._check_input(port, one)
        if self.focals:
            self._check_focals(stream, inputs[FOCALS])
        for name in self.fixed:
            known_column(name, stream.schema.names)
        if not (isinstance(self.cache, int | float) and 0.0 <= self.cache <= 100.0):
            raise NetworkError(f"the cache must be 0 to 100 per cent, got {self.cache!r}")
        if self.timeout is not None:
            units(self.timeout, stream.schema[stream.time], "timeout")
            if stream.signed:
                raise NetworkError(
                    "the input is signed, so it says itself when an object leaves; give the timeout to the box that "
                    "makes the signs"
                )
        self._check_query(stream)
        measures = tuple(Field(name, Type.INT64) for name in ("members", "missing", "extra"))
        time = Field(stream.time, stream.schema[stream.time])
        return {OUT: lifted(stream), UNCERTAINTY: Stream(Schema((time, *measures)), stream.time)}

    def process(self, trains: Mapping[str, Train], state: State) -> Mapping[str, Train]:
        """The changes of the answer at every instant that is complete on all inputs."""
        through = min(train.through for train in trains.values())
        ready = {
            port: Held(state, f"{port}.ahead", self.fed_by[port].time).next(trains[port], through)
            for port in self.inputs
        }
        telling = Telling(self, state, through)
        told, uncertain = telling.run(ready[IN], ready.get(FOCALS))
        return {OUT: Train(told, through), UNCERTAINTY: Train(uncertain, through)}

    def _check_input(self, port: str, stream: Stream) -> None:
        require_order(stream, f"input {port!r}")
        if stream.keyed_by:
            raise NetworkError(
                f"input {port!r} must not be grouped, as all objects may meet; put group_by() without columns before it"
            )
        for name in (self.object, self.x, self.y):
            known_column(name, stream.schema.names)
        check_positions(stream.schema, self.object, self.x, self.y)
        if len({self.object, self.x, self.y, stream.time, SIGN}) < 5:
            raise NetworkError(f"object, x, y, time and {SIGN} must be columns of their own")

    def _check_focals(self, stream: Stream, focals: Stream) -> None:
        if self.focal_id is None:
            raise NetworkError("a query that stands still has no focal object; leave focals out")
        kinds = [one.schema[self.object] for one in (stream, focals)]
        if (kinds[0] is Type.STRING) != (kinds[1] is Type.STRING):
            raise NetworkError(f"ids must be alike on both inputs, got {kinds[0]} and {kinds[1]} on {FOCALS!r}")
        times = [one.schema[one.time] for one in (stream, focals)]
        if (times[0] is Type.TIMESTAMP) != (times[1] is Type.TIMESTAMP):
            raise NetworkError(f"both inputs must count time alike, got {times[0]} and {times[1]} on {FOCALS!r}")

    def _check_query(self, stream: Stream) -> None:
        query = self.query
        numbers = [value for value in vars(query).values() if isinstance(value, float)]
        if not all(math.isfinite(number) for number in numbers):
            raise NetworkError(f"expected finite numbers, got {query}")
        if isinstance(query, Nearest | MovingNearest) and query.k < 1:
            raise NetworkError(f"k must be a whole number from 1, got {query.k}")
        if isinstance(query, MovingRange) and min(query.xdist, query.ydist) < 0:
            raise NetworkError(f"length and width must not be negative, got {query.xdist} and {query.ydist}")
        if self.lonlat and isinstance(query, Range | Nearest):
            corners = numbers[:4]
            if not all(-180 <= x <= 360 for x in corners[::2]) or not all(-90 <= y <= 90 for y in corners[1::2]):
                raise NetworkError(f"longitude must be in -180 … 360 and latitude in -90 … 90, got {query}")
        focal = getattr(self, "focal", None)
        if focal is not None and isinstance(focal, str) != (stream.schema[self.object] is Type.STRING):
            raise NetworkError(f"the focal object must be of the type {stream.schema[self.object]}, got {focal!r}")


@dataclass(frozen=True)
class GpacInBox(GpacBox):
    """Watches a rectangle that stands still or moves with a focal object: who enters it, who leaves it (GPAC §4.1).

    Of a stream of reports the latest of each object stands; of a signed stream the rows that came and did not go. At
    the end of each instant `out` reports which rows join the answer (1) and leave it (-1). Sides are part of the
    rectangle. [Moving queries](../moving/index.md#as-boxes-of-a-network) has the details.

    Parameters:
        region: the rectangle (x1, y1, x2, y2); or
        focal: the object that it moves with,
        length: its extent along `x`, and
        width: its extent along `y`.

    >>> from arterial.moving import gpac_in
    >>> from arterial.testing import show
    >>> near = lambda s: gpac_in(s, "near", region=(0, 0, 5, 5))
    >>> show(near, time=[1, 2, 3], object=[7, 7, 7], x=[9, 4, 8], y=[1, 1, 1])
    time  object  x  y  sign
       2       7  4  1     1
       3       7  4  1    -1
    """

    region: tuple[float, ...] | None = None
    focal: Id | None = None
    length: float | None = None
    width: float | None = None

    kind: ClassVar[str] = "gpac_in"
    movable: ClassVar[bool] = True

    def reads(self, stream: Stream) -> frozenset[str]:
        """The object and its position."""
        return frozenset({self.object, self.x, self.y})

    def commutes_with(self, read: frozenset[str], stream: Stream) -> bool:
        """It does with a filter that decides on the row alone.

        Of reports the last stands, and one that a filter leaves out does not replace the one before it: there only
        attributes that an object never changes are safe. The k nearest of some are not some of the k nearest, so
        `GpacKnnBox` does not commute.
        """
        if self.cache < 100.0 or read & {stream.time, SIGN} or read & self.stale():
            return False
        return stream.signed or read <= {self.object, *self.fixed}

    def lowers(self, stream: Stream) -> bool:
        """Of reports: an object that it has not seen is known when it reports next. Of a signed stream a row would go
        that never came."""
        return not stream.signed

    def stale(self) -> frozenset[str]:
        """The position, unless all moves are reported."""
        return frozenset() if self.moves else frozenset({self.x, self.y})

    def apart(self) -> tuple[Box, str] | None:
        """A focal object that reports on the first input is followed also where a filter leaves it out."""
        if self.focal_id is None or self.focals:
            return None
        return replace(self, focals=True), FOCALS

    @property
    def query(self) -> Query:
        """The rectangle."""
        moving = (self.focal, self.length, self.width)
        if self.region is not None and moving == (None, None, None) and _are_numbers(self.region, 4):
            return Range(*(float(number) for number in self.region))
        if self.region is None and self.focal is not None and _are_numbers((self.length, self.width), 2):
            assert self.length is not None
            assert self.width is not None
            return MovingRange(_id(self.focal), float(self.length), float(self.width))
        raise NetworkError(
            "expected region=(x1, y1, x2, y2), or focal=…, length=…, width=…, got "
            f"region={self.region!r}, focal={self.focal!r}, length={self.length!r}, width={self.width!r}"
        )


@dataclass(frozen=True)
class GpacKnnBox(GpacBox):
    """Keeps the k objects nearest to a place or to a focal object: who joins them, who leaves them (GPAC §4.2).

    Of objects at equal distances the one with the smaller id is nearer. The rest is as in `GpacIn`;
    [moving queries](../moving/index.md#as-boxes-of-a-network) has the details.

    Parameters:
        k: the number of objects.
        at: the place (x, y); or
        focal: the object whose neighbours they are.

    >>> from arterial.moving import gpac_knn
    >>> from arterial.testing import show
    >>> nearest = lambda s: gpac_knn(s, "nearest", k=1, at=(0, 0))
    >>> show(nearest, time=[1, 2], object=[7, 8], x=[9, 4], y=[0, 0])
    time  object  x  y  sign
       1       7  9  0     1
       2       7  9  0    -1
       2       8  4  0     1
    """

    k: int = 1
    at: tuple[float, ...] | None = None
    focal: Id | None = None

    kind: ClassVar[str] = "gpac_knn"

    @property
    def query(self) -> Query:
        """The k nearest."""
        if not isinstance(self.k, int) or isinstance(self.k, bool):
            raise NetworkError(f"k must be a whole number from 1, got {self.k!r}")
        if self.at is not None and self.focal is None and _are_numbers(self.at, 2):
            return Nearest(self.k, *(float(number) for number in self.at))
        if self.at is None and self.focal is not None:
            return MovingNearest(self.k, _id(self.focal))
        raise NetworkError(f"expected at=(x, y) or focal=…, got at={self.at!r}, focal={self.focal!r}")


def _id(identity: Id) -> Id:
    return parsed_id(identity) if isinstance(identity, str) else identity


def _are_numbers(values: Sequence[object], count: int) -> bool:
    return len(values) == count and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
