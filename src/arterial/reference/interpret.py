"""Runs a whole network, box by box, tuple by tuple, in plain Python: slow, and right by definition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from arterial.boxes.source import ARRIVALS, Source
from arterial.errors import NetworkError
from arterial.network.network import NetworkValue, Port
from arterial.network.schema import Type
from arterial.reference.aggregate import aggregate
from arterial.reference.bsort import bsort
from arterial.reference.connection_point import connection_point
from arterial.reference.distinct import distinct
from arterial.reference.drop import drop
from arterial.reference.filter import filter_
from arterial.reference.group_by import group_by
from arterial.reference.join import join
from arterial.reference.latch import latch
from arterial.reference.latest import latest
from arterial.reference.map import map_
from arterial.reference.match import match
from arterial.reference.net import net
from arterial.reference.output import output
from arterial.reference.read_relation import read_relation
from arterial.reference.resample import resample
from arterial.reference.slide import slide
from arterial.reference.source import source
from arterial.reference.stream import Tuples
from arterial.reference.tumble import tumble
from arterial.reference.union import union
from arterial.reference.update_relation import update_relation
from arterial.reference.wait_for import wait_for

Meaning = Callable[[Any, dict[str, Tuples]], dict[str, Tuples]]
"""What a box means: from the box and all tuples of its inputs, by port, to all tuples of its outputs."""

MEANINGS: dict[str, Meaning] = {
    "aggregate": aggregate,
    "bsort": bsort,
    "connection_point": connection_point,
    "distinct": distinct,
    "drop": drop,
    "filter": filter_,
    "group_by": group_by,
    "join": join,
    "latch": latch,
    "latest": latest,
    "map": map_,
    "match": match,
    "net": net,
    "output": output,
    "read_relation": read_relation,
    "resample": resample,
    "slide": slide,
    "source": source,
    "tumble": tumble,
    "union": union,
    "update_relation": update_relation,
    "wait_for": wait_for,
}


def interpret(
    network: NetworkValue,
    arrivals: Mapping[str, Iterable[Mapping[str, Any]]],
    meanings: Mapping[str, Meaning] | None = None,
) -> dict[str, Tuples]:
    """All tuples of every output and of every other port, from the tuples of every source in the order of arrival.

    Outputs go by the name of their box, other ports as "box.port". `meanings` adds those of your own boxes, by kind.
    """
    known = {**MEANINGS, **(meanings or {})}
    streams: dict[Port, Tuples] = {}
    results: dict[str, Tuples] = {}
    for box in network.order:
        if box.kind not in known:
            raise NetworkError(f"box {box.name!r}: nothing says what a {box.kind!r} means; give it in `meanings`")
        inputs = {port: streams[begin] for port, begin in network.arrivals(box).items()}
        if isinstance(box, Source):
            inputs[ARRIVALS] = [_arrived(values, box) for values in arrivals.get(box.name, [])]
        if box.kind == "output":
            results[box.name] = inputs["in"]
        for port, tuples in known[box.kind](box, inputs).items():
            streams[Port(box.name, port)] = tuples
            results[f"{box.name}.{port}"] = tuples
    return results


def _arrived(values: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """A tuple as the source's columns hold it: missing values null, floats as floats, timestamps in UTC."""
    return {field.name: _held(values.get(field.name), field.type) for field in source.schema}


def _held(value: Any, kind: Type) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return float(value) if kind is Type.FLOAT64 and value is not None else value
