"""What ReadRelation means."""

from __future__ import annotations

from arterial.boxes.read_relation import CHANGES, ReadRelation
from arterial.network.box import IN, OUT
from arterial.network.relation import DELETED
from arterial.reference.stream import Tuples, group_of, instant
from arterial.reference.update_relation import first_rows


def read_relation(box: ReadRelation, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Each tuple reads the row as all changes up to and including its own instant have left it."""
    relation = box.relation
    rows = first_rows(box)
    changes = list(inputs.get(CHANGES, []))
    made: Tuples = []
    for values in inputs[IN]:
        while changes and instant(changes[0], box.fed_by[CHANGES].time) <= instant(values, box.fed_by[IN].time):
            change = changes.pop(0)
            key = group_of(change, relation.key)
            if change[DELETED]:
                rows.pop(key, None)
            else:
                rows[key] = change
        row = rows.get(group_of(values, relation.key), {})
        made.append(values | {box.prefix + field.name: row.get(field.name) for field in relation.values})
    return {OUT: made}
