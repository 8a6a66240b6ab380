"""What Fences means: at every instant, who is inside of what from scratch, and how that differs from before."""

from __future__ import annotations

import math
from typing import Any

from arterial.errors import NetworkError
from arterial.moving.boxes.fences import DWELL, ENTER, EVENT, EXIT, FENCE, SHAPE, SINCE, Fences
from arterial.moving.boxes.fences_train import CHANGES, REJECTS
from arterial.moving.queries.fences import Moving, Shape, contains
from arterial.moving.queries.space import Space
from arterial.network.box import IN, OUT
from arterial.reference.parts.scalar import instant_to_value
from arterial.reference.parts.stream import Tuples, instant, value_order

Row = dict[str, Any]
Pair = tuple[Any, str]
_ORDER = {EXIT: 0, ENTER: 1, DWELL: 2}


def fences(box: Fences, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Whole sets at every instant, then their differences."""
    stream = box.fed_by[IN]
    kind = stream.schema[stream.time]
    timeout, dwell = box.silence(stream), box.stay(stream)
    reports: list[tuple[int, Row]] = []
    rejects: list[tuple[int, str, Any, str]] = []
    for one in inputs[IN]:
        t = instant(one, stream.time)
        if _is_report(box, one):
            reports.append((t, one))
        else:
            rejects.append((t, IN, one[box.object], "no position"))
    changes: list[tuple[int, str, Shape | None]] = []
    for one in inputs.get(CHANGES, []):
        t = instant(one, box.fed_by[CHANGES].time)
        try:
            changes.append((t, *box.change_of(one[FENCE], one[SHAPE], stream)))
        except NetworkError as mistake:
            rejects.append((t, CHANGES, None, str(mistake)))
    shapes: dict[str, Shape] = box.shapes(stream)
    times = {t for t, _ in reports}
    times |= {t + timeout for t in times} if timeout is not None else set()
    last: dict[Any, tuple[int, Row]] = {}
    stays: dict[Pair, int] = {}
    over: list[tuple[Pair, int, int | None]] = []
    for now in sorted(times | {t for t, _, _ in changes}):
        last |= {one[box.object]: (t, one) for t, one in reports if t == now}
        for name, shape in [(name, shape) for t, name, shape in changes if t == now]:
            shapes.pop(name, None)
            shapes |= {} if shape is None else {name: shape}
        places = {
            identity: (float(one[box.x]), float(one[box.y]))
            for identity, (t, one) in last.items()
            if timeout is None or now - t < timeout
        }
        inside = {
            (identity, name)
            for identity in places
            for name, shape in shapes.items()
            if _is_inside(box, shape, identity, places)
        }
        for pair in set(stays) - inside:
            over.append((pair, stays.pop(pair), now))
        stays |= dict.fromkeys(inside - set(stays), now)
    over += [(pair, since, None) for pair, since in stays.items()]
    events: list[tuple[int, Any, str, str, int]] = []
    for (identity, name), since, until in over:
        events.append((since, identity, ENTER, name, since))
        if until is not None:
            events.append((until, identity, EXIT, name, since))
        if dwell is not None and (until is None or since + dwell < until):
            events.append((since + dwell, identity, DWELL, name, since))
    events.sort(key=lambda e: (e[0], value_order(e[1]), _ORDER[e[2]], e[3]))
    made: Tuples = []
    for t, identity, event, name, since in events:
        report = [one for at, one in reports if at <= t and one[box.object] == identity][-1]
        row = {stream.time: instant_to_value(t, kind), box.object: identity, FENCE: name, EVENT: event}
        made.append(row | {SINCE: instant_to_value(since, kind)} | {name: report[name] for name in box.keep})
    told = [
        {stream.time: instant_to_value(t, kind), "input": port, box.object: identity, "reason": reason}
        for t, port, identity, reason in sorted(rejects, key=lambda reject: reject[0])
    ]
    return {OUT: made, REJECTS: told}


def _is_inside(box: Fences, shape: Shape, identity: Any, places: dict[Any, tuple[float, float]]) -> bool:
    centre = None
    if isinstance(shape, Moving):
        if shape.focal == identity:
            return False
        centre = places.get(shape.focal)
    return contains(Space.LONLAT if box.lonlat else Space.PLANE, shape, places[identity], centre)


def _is_report(box: Fences, one: Row) -> bool:
    x, y = one[box.x], one[box.y]
    if one[box.object] is None or x is None or y is None or not (math.isfinite(x) and math.isfinite(y)):
        return False
    return not box.lonlat or (-180 <= x <= 360 and -90 <= y <= 90)
