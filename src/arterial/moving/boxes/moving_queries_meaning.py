"""What the box of moving queries means: every answer from scratch at every instant, and the difference to the last."""

from __future__ import annotations

import math
from typing import Any

from arterial.moving.boxes.moving_queries import OBJECTS, QUERIES, REJECTS, UNCERTAINTY, MovingQueries
from arterial.moving.queries.brute import BruteForce
from arterial.moving.queries.events import Drop, Event, Report
from arterial.moving.queries.ids import Id, id_order, parsed_id
from arterial.moving.queries.query_columns import event_of
from arterial.moving.queries.space import Space
from arterial.network.box import OUT
from arterial.network.schema import Type
from arterial.reference.parts.scalar import instant_to_value
from arterial.reference.parts.stream import Tuples, instant


def moving_queries(box: MovingQueries, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The meaning of a box with the conservative cache."""
    objects, queries = box.fed_by[OBJECTS], box.fed_by[QUERIES]
    definition = BruteForce(space=Space.LONLAT if box.lonlat else Space.PLANE, timeout=box.timeout)
    answers: dict[Id, set[Id]] = {}
    updates: Tuples = []
    rejects: Tuples = []
    times = {instant(one, objects.time) for one in inputs[OBJECTS]} | {
        instant(one, queries.time) for one in inputs[QUERIES]
    }
    for t in sorted(times):
        time = instant_to_value(t, objects.schema[objects.time])
        events: list[Event] = []
        for one in inputs[OBJECTS]:
            if instant(one, objects.time) == t:
                report = _report(box, t, one)
                events += [report] if report else []
                if not report and not queries.keyed_by:
                    rejects.append({objects.time: time, "input": OBJECTS, "reason": "no position"})
        running = set(definition.queries)
        for one in inputs[QUERIES]:
            if instant(one, queries.time) == t:
                event = event_of(float(t), one, lonlat=box.lonlat)
                if isinstance(event, Drop) and event.name not in running:
                    event = f"no query {event.name} is running"
                if isinstance(event, str):
                    rejects.append({objects.time: time, "input": QUERIES, "reason": event})
                    continue
                running = running - {event.name} if isinstance(event, Drop) else running | {event.name}
                events.append(event)
        definition.take(float(t), events)
        now = definition.answers()
        for name in sorted(answers | now, key=id_order):
            old, new = answers.get(name, set()), now.get(name, set())
            for sign, some in ((-1, old - new), (1, new - old)):
                for identity in sorted(some, key=id_order):
                    told = {"query": _typed(name, queries.schema["query"]), "sign": sign}
                    updates.append(
                        {objects.time: time} | told | {box.object: _typed(identity, objects.schema[box.object])}
                    )
        answers = now
    return {OUT: updates, REJECTS: rejects, UNCERTAINTY: []}


def _report(box: MovingQueries, t: int, values: dict[str, Any]) -> Report | None:
    identity, x, y = values[box.object], values[box.x], values[box.y]
    if identity is None or any(number is None or not math.isfinite(number) for number in (x, y)):
        return None
    if box.lonlat and not (-180 <= x <= 360 and -90 <= y <= 90):
        return None
    return Report(float(t), identity if isinstance(identity, int) else parsed_id(identity), float(x), float(y))


def _typed(identity: Id, kind: Type) -> int | str:
    return str(identity) if kind is Type.STRING else identity
