"""Runs a whole network, box by box, tuple by tuple, in plain Python: slow, and right by definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from arterial.boxes.ends.source import ARRIVALS
from arterial.errors import NetworkError
from arterial.network.box import Box
from arterial.network.network import NetworkValue, Port
from arterial.network.schema import Schema, Type
from arterial.reference.parts.module import module_of
from arterial.reference.parts.stream import Tuples

Meaning = Callable[[Any, dict[str, Tuples]], dict[str, Tuples]]
"""What a box means: from the box and all tuples of its inputs, by port, to all tuples of its outputs."""


def interpret(
    network: NetworkValue,
    arrivals: Mapping[str, Iterable[Mapping[str, Any]]],
    meanings: Mapping[str, Meaning] | None = None,
) -> dict[str, Tuples]:
    """All tuples of every output and of every other port, from the tuples of every source in the order of arrival.

    Outputs go by the name of their box, other ports as "box.port". `meanings` gives those of boxes that do not say
    themselves where they are defined (`Box.meaning`), by kind.
    """
    streams: dict[Port, Tuples] = {}
    results: dict[str, Tuples] = {}
    for box in network.order:
        meaning = (meanings or {}).get(box.kind) or meaning_of(type(box))
        if meaning is None:
            raise NetworkError(
                f"box {box.name!r}: nothing says what a {box.kind!r} means; set `meaning` in its class to "
                "'module:function', or give it in `meanings`"
            )
        inputs = {port: streams[begin] for port, begin in network.arrivals(box).items()}
        if not box.inputs:
            schema = network.streams[Port(box.name, box.outputs[0])].schema
            inputs[ARRIVALS] = [_arrived(values, schema) for values in arrivals.get(box.name, [])]
        if not box.outputs:
            results[box.name] = inputs[box.inputs[0]]
        for port, tuples in meaning(box, inputs).items():
            streams[Port(box.name, port)] = tuples
            results[f"{box.name}.{port}"] = tuples
    return results


def meaning_of(kind: type[Box]) -> Meaning | None:
    """What boxes of that class mean: where the class says, or in the module and function here of the kind's name."""
    own = module_of(kind)
    place = kind.meaning or (f"{own}:{kind.kind}" if own else "")
    if not place:
        return None
    module, _, function = place.partition(":")
    try:
        found: Meaning = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise NetworkError(f"cannot find what a {kind.kind!r} means, {place}: {error}") from None
    return found


def _arrived(values: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """A tuple as the source's columns hold it: missing values null, floats as floats, timestamps in UTC."""
    return {field.name: _held(values.get(field.name), field.type) for field in schema}


def _held(value: Any, kind: Type) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return float(value) if kind is Type.FLOAT64 and value is not None else value
