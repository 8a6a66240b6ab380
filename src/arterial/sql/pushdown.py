"""Which tuples of a source a network cannot want: conditions from its first filters, for a source that can skip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from arterial.boxes.joins.join import LEFT, RIGHT, both_sides
from arterial.boxes.signed.match import Match, taken_apart
from arterial.connectors.points.conditions import Condition
from arterial.network.box import IN, OUT, Box
from arterial.network.expression.parser import predicate
from arterial.network.expression.tree import Call, Column, Literal, Tree
from arterial.network.network import NetworkValue, Port
from arterial.network.schema import Type

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def conditions_of(network: NetworkValue, source: str) -> tuple[Condition, ...]:
    """What every tuple of a source must satisfy to matter, as far as its first boxes say so.

    >>> from arterial import Network
    >>> net = Network("n")
    >>> s = net.source("s", {"time": int, "seg": int}).filter("f", "seg between 4 and 6 and seg + 1 > time")
    >>> _ = s.output("o")
    >>> [(one.column, one.least, one.greatest) for one in conditions_of(net.value, "s")]
    [('seg', 4, None), ('seg', None, 6)]
    """
    return tuple(_way(network, source).conditions)


def columns_used(network: NetworkValue, source: str) -> frozenset[str]:
    """The columns of a source that the boxes behind it look at or let pass."""
    port = Port(source, network.box(source).outputs[0])
    stream = network.streams[port]
    used = {stream.time}
    for end in network.departures(port):
        box = network.box(end.box)
        copies = box.copies(stream)
        if copies is None:
            return frozenset(stream.schema.names)
        used |= box.reads(stream) | set(copies.values())
    return frozenset(used)


def equal_columns(network: NetworkValue, source: str, table: str) -> Iterator[tuple[str, str]]:
    """Columns of a source and of a table that must be equal for a tuple of the source to matter: they are joined."""
    mine, theirs = _way(network, source), _way(network, table)
    if mine.end is None or theirs.end is None or mine.end.box != theirs.end.box:
        return
    match = network.box(mine.end.box)
    if not isinstance(match, Match) or match.on is None:
        return
    sides = {mine.end.port: mine.names, theirs.end.port: theirs.names}
    tree = predicate(match.on, both_sides(match.fed_by[LEFT].schema, match.fed_by[RIGHT].schema))
    for pair in taken_apart(tree)[0]:
        columns = {}
        for side in (_without_cast(one) for one in pair):
            if isinstance(side, Column):
                port, _, name = side.name.partition(".")
                columns[port] = sides[port].get(name)
        one, other = columns.get(mine.end.port), columns.get(theirs.end.port)
        if one is not None and other is not None:
            yield one, other


@dataclass
class _Way:
    """The way of a source's tuples to the first box that does more than select and rename."""

    names: dict[str, str]
    """The columns that are copies of columns of the source, at its end."""
    conditions: list[Condition] = field(default_factory=list)
    end: Port | None = None
    """The input where it ends; None if it parts."""


def _way(network: NetworkValue, source: str) -> _Way:
    port = Port(source, network.box(source).outputs[0])
    way = _Way({name: name for name in network.streams[port].schema.names})
    while True:
        leads_to = network.departures(port)
        way.end = leads_to[0] if len(leads_to) == 1 else None
        if way.end is None or way.end.port != IN:
            return way
        box = network.box(way.end.box)
        stream, condition = box.fed_by[IN], box.selects()
        copies = box.copies(stream)
        if any(network.departures(Port(box.name, other)) for other in box.outputs[1:]):
            return way  # what does not go this way is wanted too
        if condition is not None:
            found = conditions(predicate(condition, stream.schema))
            way.conditions += [replace(one, column=way.names[one.column]) for one in found if one.column in way.names]
        elif copies is not None:
            way.names = {name: way.names[came] for name, came in copies.items() if came in way.names}
        elif not _lets_pass(box):
            return way
        port = Port(box.name, OUT)


def conditions(tree: Tree) -> Iterator[Condition]:
    """The conditions on single columns that a predicate implies."""
    if not isinstance(tree, Call):
        return
    if tree.function == "and":
        for part in tree.arguments:
            yield from conditions(part)
    elif tree.function == "or":
        values = _alternatives(tree)
        if values is not None:
            column, ones = values
            yield Condition(column, values=tuple(sorted(set(ones))))
    elif tree.function in _MIRRORED:
        compared = _compared(tree)
        if compared is not None:
            yield _bound(*compared)


def _bound(column: str, function: str, value: object) -> Condition:
    if function == "=":
        return Condition(column, value, value)
    return Condition(column, value) if function.startswith(">") else Condition(column, None, value)


def _alternatives(tree: Tree) -> tuple[str, list[int | float | str]] | None:
    """The column and the values of `c = 1 or c = 2 …`."""
    if isinstance(tree, Call) and tree.function == "or":
        left, right = (_alternatives(part) for part in tree.arguments)
        return (left[0], left[1] + right[1]) if left and right and left[0] == right[0] else None
    compared = _compared(tree)
    if compared is None or compared[1] != "=":
        return None
    return compared[0], [compared[2]]


def _compared(tree: Tree) -> tuple[str, str, int | float | str] | None:
    """A comparison as column, function, value."""
    if not isinstance(tree, Call) or tree.function not in _MIRRORED:
        return None
    left, right = (_without_cast(part) for part in tree.arguments)
    function = tree.function
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    if not isinstance(left, Column) or not isinstance(right, Literal):
        return None
    value = right.value
    return None if value is None or isinstance(value, bool) else (left.name, function, value)


def _without_cast(tree: Tree) -> Tree:
    """A number as it was before it was widened; any other cast may change the order of values."""
    while isinstance(tree, Call) and tree.function == "cast":
        inner = tree.arguments[0]
        if tree.type not in (Type.INT64, Type.FLOAT64) or inner.type is None or not inner.type.is_integer:
            return tree
        tree = inner
    return tree


def _lets_pass(box: Box) -> bool:
    """Whether every tuple goes on as it is, so that what is asked behind it can be asked before it."""
    return box.passes and (box.stateless or box.regroups) and box.inputs == (IN,) and box.outputs[:1] == (OUT,)
