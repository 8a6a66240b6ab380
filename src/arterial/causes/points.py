"""Begins a network at its connection points, where what its sources read cannot be read again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arterial.boxes.ends.source import Source as SourceBox
from arterial.boxes.tuples.group_by import GroupBy
from arterial.causes.replay import is_readable_again
from arterial.connectors.points.contents import read_point
from arterial.connectors.points.source import PointSource
from arterial.network.box import IN, Box
from arterial.network.network import Arc, NetworkValue, Port


def from_points(
    network: NetworkValue, sources: Mapping[str, Any], points: Path | None
) -> tuple[NetworkValue, dict[str, Any], list[str]]:
    """The network with sources in the place of the connection points that lead to what comes only once.

    Also the sources of that, and what is to be said of them. `points` is the folder of the tables.
    """
    once = {name for name in network.source_names if not is_readable_again(sources.get(name))}
    reached: set[str] = set()
    for box in network.order:
        if box.name in once or any(begin.box in reached for begin in network.arrivals(box).values()):
            reached.add(box.name)
    cut = {
        box.name: points / box.name
        for box in network.boxes
        if points is not None
        and box.name in reached
        and box.keeping is not None
        and box.inputs
        and read_point(points / box.name) is not None
    }
    if not cut:
        return network, dict(sources), []
    boxes: list[Box] = []
    arcs: list[Arc] = []
    grouping: list[Arc] = []
    wanted = network.output_names
    seen = set(wanted)
    begins: dict[Port, Port] = {}
    while wanted:
        name = wanted.pop()
        box = network.box(name)
        if name in cut:
            begins |= _begin(box, boxes, grouping)
            continue
        boxes.append(box)
        for port, begin in network.arrivals(box).items():
            arcs.append(Arc(begin, Port(name, port)))
            if begin.box not in seen:
                seen.add(begin.box)
                wanted.append(begin.box)
    arcs = [*grouping, *(Arc(begins.get(arc.begin, arc.begin), arc.end) for arc in arcs)]
    kept = {box.name for box in boxes}
    used = {name: folder for name, folder in cut.items() if name in kept}
    again = {name: source for name, source in sources.items() if name in kept}
    again |= {name: PointSource(folder, skip_lost=True) for name, folder in used.items()}
    notes = [
        f"it begins at the connection point {name!r}, with what that still keeps; what its source read cannot be read "
        "again"
        for name in used
    ]
    return NetworkValue(network.name, tuple(boxes), tuple(arcs)), again, notes


def _begin(box: Box, boxes: list[Box], arcs: list[Arc]) -> dict[Port, Port]:
    """Put a source in the place of a connection point; from where its stream leaves to where it leaves now."""
    stream = box.fed_by[IN]
    boxes.append(SourceBox(box.name, stream.schema, stream.time, signed=stream.signed))
    leaves = Port(box.name, boxes[-1].outputs[0])
    if not stream.keyed_by:
        return {Port(box.name, box.outputs[0]): leaves}
    boxes.append(GroupBy(f"{box.name}, by {', '.join(stream.keyed_by)}", stream.keyed_by))
    again = Port(boxes[-1].name, boxes[-1].outputs[0])
    arcs.append(Arc(leaves, Port(boxes[-1].name, IN)))
    return {Port(box.name, box.outputs[0]): again}
