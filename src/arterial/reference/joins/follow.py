"""What Follow means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.joins.follow import Follow
from arterial.boxes.relations.read_relation import CHANGES
from arterial.network.box import IN, OUT
from arterial.network.expression.parser import parse
from arterial.network.relation import DELETED
from arterial.network.schema import Schema
from arterial.reference.parts.causes import Because, Region, counted, listed, so_far
from arterial.reference.parts.scalar import scalar
from arterial.reference.parts.stream import Tuples, condition, group_of, instant
from arterial.reference.relations.update_relation import first_rows


def follow(box: Follow, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Look up one row after the other, as all changes up to and including the tuple's instant have left them."""
    return {OUT: [there for there, _, _ in _ways(box, inputs)]}


def because(box: Follow, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple, and the last changes of the rows on its way."""
    there, rows, changes = _ways(box, inputs)[place]
    end = listed(there, (name for name, _ in box.begin))
    words = f"followed {box.relation.name} over {counted(rows, 'row')} until {box.until}: {end}"
    return Because({IN: (place,), CHANGES: changes} if box.updated else {IN: (place,)}, words)


def scope(box: Follow, port: str, region: Region) -> dict[str, Region]:
    """Each tuple by itself, and all changes of its group's rows so far: which ones are on its way, they decide."""
    found = {IN: region.only(box.fed_by[IN].schema.names)}
    return found | ({CHANGES: so_far(region, box.fed_by[IN].keyed_by)} if box.updated else {})


def _ways(box: Follow, inputs: dict[str, Tuples]) -> list[tuple[dict[str, Any], int, tuple[int, ...]]]:
    """Each tuple at the end of its way, how many rows that has, and the places of the changes that left them so."""
    relation, stream = box.relation, box.fed_by[IN]
    columns = box.streams(box.fed_by)[OUT].schema
    begin = {name: scalar(parse(text, stream.schema)) for name, text in box.begin}
    wide = Schema((*columns, *relation.values))
    each = {name: scalar(parse(text, wide)) for name, text in box.each}
    ends = condition(box.until, box.name, columns)
    rows, changes = first_rows(box), list(enumerate(inputs.get(CHANGES, [])))
    left: dict[tuple[Any, ...], int] = {}
    made = []
    for values in inputs[IN]:
        while changes and instant(changes[0][1], box.fed_by[CHANGES].time) <= instant(values, stream.time):
            place, change = changes.pop(0)
            key = group_of(change, relation.key)
            left[key] = place
            if change[DELETED]:
                rows.pop(key, None)
            else:
                rows[key] = change
        there = values | {name: value(values) for name, value in begin.items()}
        number, seen = 0, dict[int, None]()
        while number < box.most and not ends(there):
            number += 1
            key = group_of(there, relation.key)
            row = rows.get(key, {})
            seen |= {left[key]: None} if key in left else {}
            beside = there | {field.name: row.get(field.name) for field in relation.values}
            there = there | {name: value(beside) for name, value in each.items()}
        made.append((there, number, tuple(seen)))
    return made
