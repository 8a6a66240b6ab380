"""What GPAC-IN and GPAC-kNN mean as boxes: rows that stand, the answer from scratch at every instant, the difference.

Plain Python, a tuple at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from arterial.moving.boxes.gpac import FOCALS, UNCERTAINTY, GpacBox
from arterial.moving.queries.brute import BruteForce
from arterial.moving.queries.events import Register
from arterial.moving.queries.ids import Id, id_order, parsed_id
from arterial.moving.queries.space import Space
from arterial.network.box import IN, OUT, SIGN, Stream
from arterial.reference.parts.scalar import instant_to_value
from arterial.reference.parts.stream import Tuples, group_of, instant, value_order

Key = tuple[Any, ...]
Row = dict[str, Any]


@dataclass
class _Object:
    """What is known of an object: its rows by their attributes, how often each stands, where it is, when it spoke."""

    rows: dict[Key, Row] = field(default_factory=dict)
    count: dict[Key, int] = field(default_factory=dict)
    at: tuple[Any, Any] = (None, None)
    last: int = 0

    def take(self, key: Key, row: Row, at: tuple[Any, Any], t: int, sign: int | None) -> None:
        """A report (no sign), or a row that comes or goes."""
        if sign is None:
            self.count = {}
        self.count[key] = self.count.get(key, 0) + (1 if sign is None else sign)
        self.rows.setdefault(key, row)
        if sign is None or sign > 0:
            self.at, self.last = at, t

    @property
    def stands(self) -> bool:
        """Whether any row of it stands."""
        return any(count > 0 for count in self.count.values())


def gpac(box: GpacBox, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The meaning of either box with the conservative cache."""
    stream, silence = box.fed_by[IN], box.silence()
    arrivals = {port: [(instant(one, box.fed_by[port].time), one) for one in inputs[port]] for port in box.inputs}
    times = {t for some in arrivals.values() for t, _ in some}
    if silence is not None:
        times |= {t + silence for t in times}
    objects: dict[Id, _Object] = {}
    focals: dict[Id, _Object] = {}
    told: dict[Key, list[Row]] = {}
    out: Tuples = []
    for t in sorted(times):
        for port, known in ((IN, objects), (FOCALS, focals)):
            for _, one in (arrival for arrival in arrivals.get(port, []) if arrival[0] == t):
                _take(box, box.fed_by[port], known, t, one)
            if silence is not None and port in arrivals and not box.fed_by[port].signed:
                for silent in [identity for identity, one in known.items() if one.last + silence <= t]:
                    del known[silent]
        members = _answer(box, objects, focals)
        wanted: dict[Key, tuple[Row, int]] = {}
        for identity in members:
            member = objects[identity]
            for key, count in member.count.items():
                if count > 0:
                    here = {} if box.moves else {box.x: member.at[0], box.y: member.at[1]}
                    wanted[key] = (member.rows[key] | here, count)
        out += _difference(box, stream, t, told, wanted)
    return {OUT: out, UNCERTAINTY: []}


def _take(box: GpacBox, stream: Stream, known: dict[Id, _Object], t: int, one: Row) -> None:
    identity = one[box.object]
    if identity is None:
        return
    key = group_of(one, box.attributes(stream))
    row = {name: value for name, value in one.items() if name not in (stream.time, SIGN)}
    sign = (one[SIGN] or 0) if stream.signed else None
    known.setdefault(_id(identity), _Object()).take(key, row, (one[box.x], one[box.y]), t, sign)


def _answer(box: GpacBox, objects: dict[Id, _Object], focals: dict[Id, _Object]) -> set[Id]:
    definition = BruteForce(space=Space.LONLAT if box.lonlat else Space.PLANE)
    definition.take(0.0, [Register(0.0, "query", box.query)])
    seen = dict(objects)
    if box.focals and box.focal_id is not None:
        seen.pop(box.focal_id, None)
        seen |= {box.focal_id: focals[box.focal_id]} if box.focal_id in focals else {}
    definition.position = {
        identity: (float(one.at[0]), float(one.at[1]))
        for identity, one in seen.items()
        if one.stands and _is_place(one.at, lonlat=box.lonlat)
    }
    return definition.answers()["query"]


def _difference(
    box: GpacBox, stream: Stream, t: int, told: dict[Key, list[Row]], wanted: dict[Key, tuple[Row, int]]
) -> Tuples:
    """What joins and leaves; a row that was reported already stays as it was."""
    changes: list[tuple[int, Row]] = []
    for key in {**told, **wanted}:
        have = told.setdefault(key, [])
        row, count = wanted.get(key, ({}, 0))
        while len(have) > count:
            changes.append((-1, have.pop()))
        while len(have) < count:
            have.append(have[0] if have else row)
            changes.append((1, have[-1]))
        if not have:
            del told[key]
    names = box.attributes(stream)
    changes.sort(key=lambda c: (c[0], id_order(_id(c[1][box.object])), [value_order(c[1][name]) for name in names]))
    time = instant_to_value(t, stream.schema[stream.time])
    return [row | {stream.time: time, SIGN: sign} for sign, row in changes]


def _is_place(at: tuple[Any, Any], *, lonlat: bool) -> bool:
    if any(number is None or not math.isfinite(number) for number in at):
        return False
    return not lonlat or (-180 <= at[0] <= 360 and -90 <= at[1] <= 90)


def _id(identity: Id) -> Id:
    return identity if isinstance(identity, int) else parsed_id(identity)
