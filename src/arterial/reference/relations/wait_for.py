"""What WaitFor means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.relations.wait_for import UNMET, UNTIL, WaitFor
from arterial.network.box import IN, OUT
from arterial.network.expression.parser import predicate
from arterial.network.schema import Field, Schema
from arterial.reference.parts.causes import Because, Region, group_in_words, shown_instant, so_far
from arterial.reference.parts.scalar import instant_to_value, scalar
from arterial.reference.parts.stream import Tuples, group_of, instant


def wait_for(box: WaitFor, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Instant by instant: take what the other stream says now, then release whoever waited for it."""
    kind = box.fed_by[IN].schema[box.fed_by[IN].time]
    released, waiting = _released(box, inputs)
    return {
        OUT: [inputs[IN][i] | {box.time: instant_to_value(now, kind)} for i, _, now in released],
        UNMET: [inputs[IN][i] for i in waiting],
    }


def because(box: WaitFor, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple, and the one of the other stream that let it go."""
    stream = box.fed_by[IN]
    released, waiting = _released(box, inputs)
    if port == UNMET:
        return Because({IN: (waiting[place],)}, f"{box.predicate} was never true")
    i, other, now = released[place]
    words = f"{box.predicate} became true at {shown_instant(now, stream)}{group_in_words(inputs[IN][i], stream)}"
    return Because({IN: (i,), UNTIL: (other,)}, words)


def scope(box: WaitFor, port: str, region: Region) -> dict[str, Region]:
    """Each tuple by itself, however long it waited, and all that the other stream said to its group."""
    stream, until = box.fed_by[IN], box.fed_by[UNTIL]
    own = region.only(name for name in stream.schema.names)
    others = region.renamed(zip(stream.keyed_by, until.keyed_by, strict=True))
    if port == UNMET:
        return {IN: own, UNTIL: Region(where=others.where)}
    return {IN: so_far(own, own.where), UNTIL: so_far(others, others.where)}


def _released(box: WaitFor, inputs: dict[str, Tuples]) -> tuple[list[tuple[int, int, int]], list[int]]:
    """The places of each tuple that was released and of the one that let it go, and when; and who still waits."""
    stream, until = box.fed_by[IN], box.fed_by[UNTIL]
    both = Schema((*stream.schema.fields, *(Field(f"{UNTIL}.{f.name}", f.type) for f in until.schema)))
    test = scalar(predicate(box.predicate, both))
    arrive: dict[int, list[int]] = {}
    speak: dict[int, list[int]] = {}
    for places, tuples, time in ((arrive, inputs[IN], stream.time), (speak, inputs[UNTIL], until.time)):
        for i, values in enumerate(tuples):
            places.setdefault(instant(values, time), []).append(i)
    latest: dict[tuple[Any, ...], int] = {}
    waiting: list[int] = []
    released: list[tuple[int, int, int]] = []
    for now in sorted(arrive.keys() | speak.keys()):
        for j in speak.get(now, []):
            latest[group_of(inputs[UNTIL][j], until.keyed_by)] = j
        waiting += arrive.get(now, [])
        still = []
        for i in waiting:
            values = inputs[IN][i]
            other = latest.get(group_of(values, stream.keyed_by))
            if other is not None and test(values | {f"{UNTIL}.{name}": v for name, v in inputs[UNTIL][other].items()}):
                released.append((i, other, now))
            else:
                still.append(i)
        waiting = still
    return released, waiting
