"""What UpdateRelation means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.relations.update_relation import UpdateRelation
from arterial.network.box import IN, OUT
from arterial.network.expression.parser import parse
from arterial.network.expression.tree import AGGREGATES, Call
from arterial.network.relation import DELETED
from arterial.reference.parts.aggregates import aggregate
from arterial.reference.parts.causes import Because, Region, listed, so_far
from arterial.reference.parts.scalar import less, scalar, wrap
from arterial.reference.parts.stream import Tuples, condition, group_of

Row = dict[str, Any]


def update_relation(box: UpdateRelation, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Each tuple turns the row of its key into the next one, or removes it."""
    stream, relation = box.fed_by[IN], box.relation
    remove = condition(box.delete or "false", box.name, stream.schema)
    rows = first_rows(box)
    changes: Tuples = []
    for values in inputs[IN]:
        key = group_of(values, relation.key)
        change = {name: values[name] for name in relation.key}
        if remove(values):
            rows.pop(key, None)
            change |= {field.name: None for field in relation.values}
        else:
            old = rows.get(key)
            rows[key] = {name: _next(text, box, values, old and old[name]) for name, text in box.values}
            change |= {field.name: rows[key][field.name] for field in relation.values}
        changes.append(change | {stream.time: values[stream.time], DELETED: key not in rows})
    return {OUT: changes}


def first_rows(box: Any) -> dict[tuple[Any, ...], Row]:
    """The rows that the relation of a box begins with, by key."""
    relation = box.relation
    rows = (dict(zip(relation.schema.names, row, strict=True)) for row in relation.rows)
    return {group_of(row, relation.key): row for row in rows}


def _next(text: str, box: UpdateRelation, values: Row, old: Any) -> Any:
    stream = box.fed_by[IN]
    tree = parse(text, stream.schema, stream.schema[stream.time])
    if not (isinstance(tree, Call) and tree.function in AGGREGATES):
        return scalar(tree)(values)
    if tree.function == "count":
        return (old or 0) + aggregate(tree, [values])
    new = scalar(tree.arguments[0])(values)
    if old is None or new is None:
        return new if old is None else old
    match tree.function:
        case "sum":
            return wrap(old + new) if isinstance(old, int) else old + new
        case "min":
            return new if less(new, old) else old
        case "max":
            return new if less(old, new) else old
    return old if tree.function == "first" else new


def because(
    box: UpdateRelation, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int
) -> Because:
    """The tuple; where values add up, those of the key before it, back to the last that removed the row."""
    stream, relation, values = box.fed_by[IN], box.relation, inputs[IN][place]
    of = f"the row {listed(values, relation.key)} of {relation.name}"
    remove = condition(box.delete or "false", box.name, stream.schema)
    if remove(values):
        return Because({IN: (place,)}, f"removes {of}: {box.delete} is true")
    trees = [parse(text, stream.schema, stream.schema[stream.time]) for _, text in box.values]
    used = [place]
    if any(isinstance(tree, Call) and tree.function in AGGREGATES for tree in trees):
        for i in range(place - 1, -1, -1):
            if group_of(inputs[IN][i], relation.key) != group_of(values, relation.key):
                continue
            used.insert(0, i)
            if remove(inputs[IN][i]):
                break
    made = outputs[OUT][place]
    return Because({IN: tuple(used)}, f"updates {of}: {listed(made, (name for name, _ in box.values))}")


def scope(box: UpdateRelation, port: str, region: Region) -> dict[str, Region]:
    """All of the key so far."""
    return {IN: so_far(region, box.relation.key)}
