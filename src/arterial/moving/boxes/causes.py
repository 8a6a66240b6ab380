"""What the boxes of moving objects say of their causes: the last reports of the object, and of who it was near to."""

from __future__ import annotations

from typing import Any

from arterial.moving.boxes.fences import EVENT, FENCE, Fences
from arterial.moving.boxes.fences_train import CHANGES
from arterial.moving.boxes.gpac import FOCALS, GpacBox
from arterial.moving.boxes.moving_queries import OBJECTS, QUERIES, MovingQueries
from arterial.moving.queries.fences import Moving
from arterial.network.box import IN, OUT, SIGN, Box
from arterial.reference.parts.causes import Because, Region, shown, shown_instant, so_far
from arterial.reference.parts.stream import Tuples, instant

Inputs = dict[str, Tuples]
_SIDES = {1: "joins", -1: "leaves"}


def fences_because(box: Fences, inputs: Inputs, outputs: Inputs, port: str, place: int) -> Because:
    """The object's last two reports, the last of the fence's own object, and the last change of the fence."""
    made, stream = outputs[port][place], box.fed_by[IN]
    now = instant(made, stream.time)
    if port != OUT:
        there = [i for i, one in enumerate(inputs[IN]) if instant(one, stream.time) == now]
        return Because({IN: tuple(there)}, f"{made['reason']}: one of what came at {shown_instant(now, stream)}")
    used = {IN: _last(box, IN, inputs, box.object, made[box.object], now, 2)}
    shape = box.shapes(stream).get(made[FENCE])
    if isinstance(shape, Moving):
        used[IN] = tuple(sorted({*used[IN], *_last(box, IN, inputs, box.object, shape.focal, now, 1)}))
    if CHANGES in box.inputs:
        used[CHANGES] = _last(box, CHANGES, inputs, FENCE, made[FENCE], now, 1)
    words = {"enter": "is inside of", "exit": "is no longer inside of", "dwell": f"has been for {box.dwell} inside of"}
    did = words.get(made[EVENT], made[EVENT])
    return Because(used, f"{box.object} {shown(made[box.object])} {did} {made[FENCE]} by its last reports")


def fences_scope(box: Fences, port: str, region: Region) -> dict[str, Region]:
    """All reports of the object so far; of all objects, where fences move or change."""
    follows = any(isinstance(shape, Moving) for shape in box.shapes(box.fed_by[IN]).values())
    alone = port == OUT and not follows and CHANGES not in box.inputs
    return {name: so_far(region, (box.object,) if alone else ()) for name in box.inputs}


def gpac_because(box: GpacBox, inputs: Inputs, outputs: Inputs, port: str, place: int) -> Because:
    """The last two reports of the object, and those of the focal object."""
    made, stream = outputs[port][place], box.fed_by[IN]
    now = instant(made, stream.time)
    used = {IN: _last(box, IN, inputs, box.object, made[box.object], now, 2)}
    focal = IN if FOCALS not in box.inputs else FOCALS
    used[focal] = tuple(sorted({*used.get(focal, ()), *_last(box, focal, inputs, box.object, box.focal_id, now, 2)}))
    side = _SIDES[made[SIGN]]
    return Because(used, f"{box.object} {shown(made[box.object])} {side} the answer, by its place and the query's")


def moving_queries_because(box: MovingQueries, inputs: Inputs, outputs: Inputs, port: str, place: int) -> Because:
    """The query, the last two reports of the object and of everybody whom the query names."""
    made, stream = outputs[port][place], box.fed_by[OBJECTS]
    now = instant(made, stream.time)
    if port != OUT:
        time = box.fed_by[made["input"]].time
        there = [i for i, one in enumerate(inputs[made["input"]]) if instant(one, time) == now]
        return Because({made["input"]: tuple(there)}, f"{made['reason']}: one of what came at this instant")
    asked = _last(box, QUERIES, inputs, "query", made["query"], now, 1)
    named = {str(value) for i in asked for value in inputs[QUERIES][i].values() if value is not None}
    seen = [
        _last(box, OBJECTS, inputs, box.object, identity, now, 2)
        for identity in {one[box.object] for one in inputs[OBJECTS]}
        if identity == made[box.object] or str(identity) in named
    ]
    used = {OBJECTS: tuple(sorted(i for some in seen for i in some)), QUERIES: asked}
    words = f"{box.object} {shown(made[box.object])} {_SIDES[made[SIGN]]} the answer of query {shown(made['query'])}"
    return Because(used, words)


def all_so_far(box: Box, port: str, region: Region) -> dict[str, Region]:
    """Everything so far: any object may be nearer, or stand in the way of another one."""
    return {name: so_far(region, ()) for name in box.inputs}


def _last(box: Box, port: str, inputs: Inputs, column: str, value: Any, now: int, most: int) -> tuple[int, ...]:
    """The places of the last tuples of an input, up to an instant, that have a value in a column."""
    time = box.fed_by[port].time
    same = [i for i, one in enumerate(inputs[port]) if instant(one, time) <= now and str(one[column]) == str(value)]
    return tuple(same[-most:])
