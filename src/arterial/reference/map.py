"""What Map means."""

from __future__ import annotations

from arterial.boxes.map import Map
from arterial.network.box import IN, OUT, SIGN
from arterial.network.expression.function import Function
from arterial.network.expression.parser import parse
from arterial.reference.scalar import scalar
from arterial.reference.stream import Tuples, call


def map(box: Map, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The kept columns and the computed ones; all are computed from the tuple as it came."""
    schema = box.fed_by[IN].schema
    sign = (SIGN,) if box.fed_by[IN].signed else ()
    made: Tuples = []
    for values in inputs[IN]:
        new = dict(values) if box.keep is None else {name: values[name] for name in (*box.keep, *sign)}
        for name, value in box.columns:
            if isinstance(value, Function):
                results = call(value, box.name, values, schema)
                new |= {f.name or name: result for f, result in zip(value.produces, results, strict=True)}
            else:
                new[name] = scalar(parse(value, schema))(values)
        made.append(new)
    return {OUT: made}
