"""Backward propagation (Aurora §4.5): where the value of an output can be computed upstream, tuples go there already.

Through a box that does not touch the columns, the expression goes as it is. Through a box that says how it computes
them (a Map), they are replaced by that, so no inverse is needed. At any other box it stops.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlglot
from sqlglot import exp

from arterial.boxes.ends.output import Output
from arterial.errors import NetworkError
from arterial.network.box import Box
from arterial.network.expression.parser import Dialect, parse, quoted
from arterial.network.expression.tree import reads
from arterial.network.network import Arc, NetworkValue, Port
from arterial.service.shedding.points import Point, may_leave_out
from arterial.service.utility import reached_from


def value_point(network: NetworkValue, output: Output, *, settled: bool = False) -> Point | None:
    """The most upstream arc that leads to this output alone and knows its value; None if none may be thinned."""
    if output.value_of is None:
        return None
    reached = reached_from(network)
    text: str | None = quoted(output.value_of)
    end = Port(output.name, output.inputs[0])
    found = None
    while text is not None:
        box = network.box(end.box)
        arc = Arc(network.arrivals(box)[end.port], end)
        if reached[arc] != {output.name}:
            break
        if may_leave_out(network, arc, settled=settled):
            found = Point(arc, reached[arc], text)
        before = network.box(arc.begin.box)
        if len(before.inputs) != 1:
            break
        text = before_box(before, text, network)
        end = Port(before.name, before.inputs[0])
    return found


def before_box(box: Box, text: str, network: NetworkValue) -> str | None:
    """What gives the same value before a box with one input; None if nothing does."""
    stream = box.fed_by[box.inputs[0]]
    after = network.streams[Port(box.name, box.outputs[0])].schema
    read = reads(parse(text, after))
    made, copied = box.computes(stream), box.copies(stream) or {}
    if made is not None:
        known = set(read) <= {*made, *copied}
        return _replaced(text, {name: made[name] for name in read if name in made}, box) if known else None
    only_moves = box.passes and box.regroups
    return text if only_moves or box.commutes_with(frozenset(read), stream) else None


def _replaced(text: str, made: Mapping[str, str], box: Box) -> str | None:
    if not made:
        return text

    def put(part: exp.Expression) -> exp.Expression:
        if isinstance(part, exp.Column) and part.name in made:
            computed = sqlglot.parse_one(made[part.name], read=Dialect)
            return computed if isinstance(computed, exp.Column) else exp.paren(computed)
        return part

    try:
        new: str = sqlglot.parse_one(text, read=Dialect).transform(put).sql(dialect=Dialect)
        for name, before in made.items():  # the printer must not change what an expression means
            printed = sqlglot.parse_one(before, read=Dialect).sql(dialect=Dialect)
            schema = box.fed_by[box.inputs[0]].schema
            if parse(printed, schema) != parse(made[name], schema):
                return None
        parse(new, box.fed_by[box.inputs[0]].schema)
    except NetworkError:
        return None
    return new
