"""Column lineage: from which columns of which sources each column of an output comes, by the network alone.

Boxes say what they pass on as it is, and which columns they read; expressions say what they are computed from. Where a
box says less, all that it reads counts, so a source that matters is never missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from arterial.errors import NetworkError
from arterial.network.box import IN, Box, Stream
from arterial.network.expression.function import Function
from arterial.network.expression.parser import parse
from arterial.network.expression.tree import Column, reads
from arterial.network.network import NetworkValue, Port

IDENTITY, TRANSFORMATION, AGGREGATION = "IDENTITY", "TRANSFORMATION", "AGGREGATION"
"""How a value comes from another: as it is, computed from it, or from those of many tuples."""
FILTER, GROUP_BY, JOIN, WINDOW = "FILTER", "GROUP_BY", "JOIN", "WINDOW"
"""How a column decides about tuples, without being in them."""

_STRENGTH = (IDENTITY, TRANSFORMATION, AGGREGATION)


@dataclass(frozen=True, order=True)
class SourceColumn:
    """A column of a source."""

    source: str
    column: str


@dataclass(frozen=True)
class Lineage:
    """Of a stream: from what each column comes, and by what its tuples were chosen."""

    columns: Mapping[str, Mapping[SourceColumn, str]]
    """By column: the fields that it comes from, and how (IDENTITY, TRANSFORMATION, AGGREGATION)."""
    chosen_by: Mapping[SourceColumn, frozenset[str]]
    """Fields that decide which tuples there are, and how (FILTER, GROUP_BY, JOIN, WINDOW)."""


def column_lineage(network: NetworkValue) -> dict[str, Lineage]:
    """The lineage of what arrives at every output and connection point."""
    known: dict[Port, Lineage] = {}
    found: dict[str, Lineage] = {}
    for box in _in_order(network):
        arriving = {port: known[begin] for port, begin in network.arrivals(box).items()}
        if not box.outputs or box.keeping is not None:
            found[box.name] = next(iter(arriving.values()))
        for port in box.outputs:
            known[Port(box.name, port)] = _through(box, arriving, network.streams[Port(box.name, port)])
    return found


def _in_order(network: NetworkValue) -> Iterator[Box]:
    """The boxes, each behind those that feed it."""
    done: set[str] = set()
    left = list(network.boxes)
    while left:
        ready = [box for box in left if all(begin.box in done for begin in network.arrivals(box).values())]
        yield from ready
        done |= {box.name for box in ready}
        left = [box for box in left if box.name not in done]


def _through(box: Box, arriving: Mapping[str, Lineage], gives: Stream) -> Lineage:
    """What a box makes of the lineage of its inputs, for a stream that it gives."""
    if not arriving:
        return Lineage({name: {SourceColumn(box.name, name): IDENTITY} for name in gives.schema.names}, {})
    made = _computed(box)
    columns: dict[str, dict[SourceColumn, str]] = {}
    for name in gives.schema.names:
        came: dict[SourceColumn, str] = {}
        for port, column, how in made[name] if name in made else _carried(box, name):
            for field, before in arriving[port].columns[column].items():
                came[field] = _stronger(came.get(field, IDENTITY), before, how)
        columns[name] = came
    chosen: dict[SourceColumn, frozenset[str]] = {}
    for lineage in arriving.values():
        for field, ways in lineage.chosen_by.items():
            chosen[field] = chosen.get(field, frozenset()) | ways
    for port, column, way in _chooses(box):
        for field in arriving[port].columns[column]:
            chosen[field] = chosen.get(field, frozenset()) | {way}
    return Lineage(columns, chosen)


Origin = tuple[str, str, str]
"""An input port, a column of its stream, and how a column comes from that."""


def _computed(box: Box) -> dict[str, list[Origin]]:
    """The columns that expressions of a box compute, by what they read."""
    stream = box.fed_by[box.inputs[0]]
    made: dict[str, list[Origin]] = {}
    for name, value in _pairs(getattr(box, "columns", ())) + _pairs(getattr(box, "values", ())):
        how = TRANSFORMATION if box.stateless else AGGREGATION
        if isinstance(value, Function):
            for produced in (name, *value.produces.names):
                made[produced] = [(box.inputs[0], column, how) for column in value.reads]
            continue
        try:
            tree = parse(value, stream.schema, None if box.stateless else stream.schema[stream.time])
        except NetworkError:  # not an expression over the input: a word for how a column is filled, say
            continue
        if isinstance(tree, Column) and box.stateless:
            how = IDENTITY
        made[name] = [(box.inputs[0], column, how) for column in reads(tree)]
    return made


def _carried(box: Box, name: str) -> list[Origin]:
    """Where a column comes from that no expression computes."""
    first = box.inputs[0]
    stream = box.fed_by[first]
    if box.passes:
        return [(port, name, IDENTITY) for port in box.inputs]
    carried = box.carries()
    if name in carried:
        return [(port, column, IDENTITY) for port, column in carried[name]]
    copied = box.copies(stream) or {}
    if name in copied:
        return [(first, copied[name], IDENTITY)]
    if name in stream.schema and (name in stream.keyed_by or name not in box.changes(stream)):
        return [(first, name, IDENTITY)]
    if name == stream.time:
        return [(first, name, TRANSFORMATION)]
    if box.inputs[0] == IN and name in stream.schema:
        return [(first, name, TRANSFORMATION)]
    return [
        (port, column, TRANSFORMATION)
        for port, fed in box.fed_by.items()
        for column in fed.schema.names
        if port != first or column in box.reads(fed) or column == fed.time
    ]


def _chooses(box: Box) -> list[Origin]:
    """The columns of its inputs by which a box decides which tuples there are: all, unless it says which."""
    first = box.inputs[0]
    stream = box.fed_by[first]
    by_order = [(first, column, GROUP_BY) for column in stream.keyed_by] + [(first, stream.time, WINDOW)]
    if box.regroups:
        return [(first, column, GROUP_BY) for column in getattr(box, "columns", ())]
    if not box.outputs or (box.stateless and not box.passes) or (box.independent and len(box.inputs) > 1):
        return []
    if box.windowed and hasattr(box, "values"):
        return by_order
    if not box.takes_signed and getattr(box, "on", "") is None:
        return [(port, column, JOIN) for port, fed in box.fed_by.items() for column in (*fed.keyed_by, fed.time)]
    if len(box.inputs) > 1:
        return [(port, column, JOIN) for port, fed in box.fed_by.items() for column in fed.schema.names]
    if box.keeping is not None or box.connectable:
        return []
    read = [(first, column, FILTER) for column in sorted(box.reads(stream) & set(stream.schema.names))]
    return read if box.stateless else [*read, *by_order]


def _stronger(*ways: str) -> str:
    return max(ways, key=_STRENGTH.index)


def _pairs(given: Iterable[object]) -> list[tuple[str, str | Function]]:
    return [pair for pair in given if isinstance(pair, tuple) and len(pair) == 2]
