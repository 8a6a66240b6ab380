"""Puts a query onto a network: its boxes go on from a port there instead of from a source of their own.

So an ad-hoc query that is wanted for good becomes part of the network: `adopted` is what `replace` can go on with.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from arterial.boxes.tuples.group_by import GroupBy
from arterial.boxes.tuples.map import Map
from arterial.errors import NetworkError, RunError, near
from arterial.network.box import IN, OUT, Box
from arterial.network.network import Arc, NetworkValue, Port


def adopted(network: NetworkValue, point: str, query: NetworkValue, source: str, output: str) -> NetworkValue:
    """The network with a query on one of its connection points or views; its answer leaves by a new output.

    >>> from arterial import Network
    >>> net, query = Network("city"), Network("query")
    >>> _ = net.source("reports", {"time": int, "speed": int}).connection_point("kept", "1 hour").output("all")
    >>> _ = query.source("kept", {"time": int, "speed": int}).filter("fast", "speed > 100").output("answer")
    >>> [box.name for box in adopted(net.value, "kept", query.value, "kept", "speeders").boxes]
    ['reports', 'kept', 'all', 'fast', 'speeders']
    """
    names = [box.name for box in network.boxes]
    if point not in names:
        raise RunError(
            f"network {network.name!r} has no connection point or view {point!r}; its boxes are: {', '.join(names)}"
            + near(point, names)
        )
    if output in names:
        raise RunError(f"network {network.name!r}: there is a box {output!r} already; give the output another name")
    ends = query.output_names
    if len(ends) != 1:
        raise RunError(f"the query has the outputs {', '.join(ends) or 'none'}; expected one to adopt")
    if others := [name for name in query.source_names if name != source]:
        raise RunError(f"the query also reads {', '.join(others)}, which a running network cannot be given")
    return graft(network, Port(point, OUT), query, source, {ends[0]: output})


def in_groups(query: NetworkValue) -> NetworkValue:
    """The query whose answer leaves group by group, not as one sequence, where its rows say which group they are of.

    A network that runs cannot be given another shuffle, and the rows of an output are the same without the last one.

    >>> from arterial import Network
    >>> query = Network("query")
    >>> by_seg = query.source("s", {"time": int, "seg": int}).group_by("seg").tumble("w", every=10, n="count(*)")
    >>> _ = by_seg.group_by(name="all").map("m", keep=["time", "seg", "n"]).output("answer")
    >>> [box.name for box in in_groups(query.value).boxes]
    ['s', 'by_seg', 'w', 'm', 'answer']
    """
    for name in query.output_names:
        box = query.box(next(iter(query.arrivals(query.box(name)).values())).box)
        while (box.stateless and not box.regroups and len(box.inputs) == 1) or box.compares_equals:
            box = query.box(query.arrivals(box)[IN].box)
        left = Port(box.name, OUT)
        if box.regroups and not query.streams[left].keyed_by and len(query.departures(left)) == 1:
            before, end = query.arrivals(box)[IN], query.departures(left)[0]
            arcs = tuple(arc for arc in query.arcs if box.name not in (arc.begin.box, arc.end.box))
            boxes = tuple(one for one in query.boxes if one.name != box.name)
            groups = {key: tuple(one for one in inside if one != box.name) for key, inside in query.groups.items()}
            with suppress(NetworkError):  # a Map on the way leaves out what says the group
                query = NetworkValue(query.name, boxes, (*arcs, Arc(before, end)), groups)
    return query


def graft(
    base: NetworkValue, at: Port, query: NetworkValue, source: str, names: Mapping[str, str] | None = None
) -> NetworkValue:
    """The base with the boxes of a query, which gets from a port of the base what its source would give.

    `names` gives boxes of the query other names; one that the base has too gets a number.

    >>> from arterial import Network
    >>> net, query = Network("city"), Network("query")
    >>> _ = net.source("reports", {"time": int, "speed": int}).connection_point("kept", "1 hour").output("out")
    >>> _ = query.source("kept", {"time": int, "speed": int}).filter("fast", "speed > 100").output("out")
    >>> [str(arc) for arc in graft(net.value, Port("kept", "out"), query.value, "kept").arcs][-2:]
    ['fast.out → out_2.in', 'kept.out → fast.in']
    """
    begin = Port(source, query.box(source).outputs[0])
    others = [arc for arc in query.arcs if arc.begin.box == source and arc.begin != begin]
    if others:
        raise RunError(f"the query reads {others[0].begin}; a connection point has no late tuples")
    adapters, leading, at = _adapters(base, at, query, source)
    taken = {box.name for box in (*base.boxes, *adapters)}
    new: dict[str, str] = {}
    for box in query.boxes:
        if box.name != source:
            new[box.name] = free_name((names or {}).get(box.name, box.name), taken)
            taken.add(new[box.name])
    boxes = [replace(box, name=new[box.name]) for box in query.boxes if box.name != source]
    inner = [
        Arc(Port(new[arc.begin.box], arc.begin.port), Port(new[arc.end.box], arc.end.port))
        for arc in query.arcs
        if arc.begin.box != source
    ]
    outer = [Arc(at, Port(new[end.box], end.port)) for end in query.departures(begin)]
    groups = {
        free_name(name, set(base.groups)): tuple(new[box] for box in inside if box in new)
        for name, inside in query.groups.items()
    }
    return NetworkValue(
        base.name,
        (*base.boxes, *adapters, *boxes),
        (*base.arcs, *leading, *inner, *outer),
        {**base.groups, **groups},
    )


def _adapters(base: NetworkValue, at: Port, query: NetworkValue, source: str) -> tuple[list[Box], list[Arc], Port]:
    """Boxes that make a stream what the query's source would be: one sequence, with the columns in its order."""
    has, wants = base.streams[at], query.streams[Port(source, query.box(source).outputs[0])]
    for field in wants.schema:
        if field.name not in has.schema or has.schema[field.name] is not field.type:
            raise RunError(
                f"source {source!r}: expected the column {field.name!r} ({field.type}) at {at}; it has {has.schema}"
                + near(field.name, has.schema.names)
            )
    if has.time != wants.time:
        raise RunError(f"source {source!r}: its time is {wants.time!r}; at {at} it is {has.time!r}")
    taken = {box.name for box in (*base.boxes, *query.boxes)}
    boxes: list[Box] = []
    if has.keyed_by:
        boxes.append(GroupBy(free_name(f"{at.box}_ungrouped", taken), ()))
    if has.schema.names != wants.schema.names:
        boxes.append(Map(free_name(f"{at.box}_columns", taken), (), wants.schema.names))
    begins = [at, *(Port(box.name, OUT) for box in boxes)]
    arcs = [Arc(begin, Port(box.name, IN)) for begin, box in zip(begins, boxes, strict=False)]
    return boxes, arcs, begins[-1]


def free_name(base: str, taken: set[str]) -> str:
    """A name that is not taken: this one, or this one with a number."""
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name
