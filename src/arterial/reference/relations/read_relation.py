"""What ReadRelation means."""

from __future__ import annotations

from arterial.boxes.relations.read_relation import CHANGES, ReadRelation
from arterial.network.box import IN, OUT
from arterial.network.relation import DELETED
from arterial.reference.parts.causes import Because, Region, listed, shown_instant, so_far
from arterial.reference.parts.stream import Tuples, group_of, instant
from arterial.reference.relations.update_relation import first_rows


def read_relation(box: ReadRelation, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Each tuple reads the row as all changes up to its own instant have left it, including that or not."""
    relation = box.relation
    rows = first_rows(box)
    changes = list(inputs.get(CHANGES, []))
    made: Tuples = []
    for values in inputs[IN]:
        last = instant(values, box.fed_by[IN].time) - box.before
        while changes and instant(changes[0], box.fed_by[CHANGES].time) <= last:
            change = changes.pop(0)
            key = group_of(change, relation.key)
            if change[DELETED]:
                rows.pop(key, None)
            else:
                rows[key] = change
        row = rows.get(group_of(values, relation.key), {})
        made.append(values | {box.prefix + field.name: row.get(field.name) for field in relation.values})
    return {OUT: made}


def because(box: ReadRelation, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple, and the last change of the row that it reads."""
    relation, values = box.relation, inputs[IN][place]
    of = f"the row {listed(values, relation.key)} of {relation.name}"
    for i in reversed(range(len(inputs.get(CHANGES, [])))):
        change, time = inputs[CHANGES][i], box.fed_by[CHANGES].time
        if group_of(change, relation.key) == group_of(values, relation.key) and (
            instant(change, time) <= instant(values, box.fed_by[IN].time) - box.before
        ):
            when = shown_instant(instant(change, time), box.fed_by[CHANGES])
            gone = "as it was removed at" if change[DELETED] else "as the change of"
            return Because({IN: (place,), CHANGES: (i,)}, f"reads {of}, {gone} {when} left it")
    known = group_of(values, relation.key) in first_rows(box)
    return Because({IN: (place,)}, f"reads {of}, {'with which it began' if known else 'which is not there'}")


def scope(box: ReadRelation, port: str, region: Region) -> dict[str, Region]:
    """Each tuple by itself, and all changes of its row so far."""
    found = {IN: region.only(box.fed_by[IN].schema.names)}
    return found | ({CHANGES: so_far(region, box.relation.key)} if box.updated else {})
