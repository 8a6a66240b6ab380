"""What Map means."""

from __future__ import annotations

from arterial.boxes.tuples.map import Map
from arterial.network.box import IN, OUT, SIGN
from arterial.network.expression.function import Function
from arterial.network.expression.parser import parse
from arterial.reference.parts.causes import Because, Region, condition_text, shown
from arterial.reference.parts.scalar import scalar
from arterial.reference.parts.stream import Tuples, call


def map(box: Map, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The kept columns and the computed ones; all are computed from the tuple as it came."""
    schema = box.fed_by[IN].schema
    sign = (SIGN,) if box.fed_by[IN].signed else ()
    trees = {name: scalar(parse(value, schema)) for name, value in box.columns if not isinstance(value, Function)}
    made: Tuples = []
    for values in inputs[IN]:
        new = dict(values) if box.keep is None else {name: values[name] for name in (*box.keep, *sign)}
        for name, value in box.columns:
            if isinstance(value, Function):
                results = call(value, box.name, values, schema)
                new |= {f.name or name: result for f, result in zip(value.produces, results, strict=True)}
            else:
                new[name] = trees[name](values)
        made.append(new)
    return {OUT: made}


def because(box: Map, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple itself, and what was computed."""
    made = outputs[OUT][place]
    texts = []
    for name, value in box.columns:
        if isinstance(value, Function):
            results = [field.name or name for field in value.produces]
            texts.append(
                f"{condition_text(value)} gives " + ", ".join(f"{one} = {shown(made[one])}" for one in results)
            )
        elif shown(made[name]) == value or name == value:
            texts.append(f"{name} = {value}")
        else:
            texts.append(f"{name} = {value} = {shown(made[name])}")
    return Because({IN: (place,)}, "; ".join(texts) or "leaves out columns")


def scope(box: Map, port: str, region: Region) -> dict[str, Region]:
    """Each tuple by itself; what was computed says nothing about what came."""
    stream, out = box.fed_by[IN], box.streams(box.fed_by)[OUT]
    came = box.copies(stream)
    known = region.renamed(came.items())
    return {IN: known if came.get(out.time) == stream.time else Region(where=known.where)}
