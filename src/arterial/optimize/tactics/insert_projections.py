"""Leaves out, right behind a source, the columns that no box reads and no output has (Aurora §3).

A column is needed where a box reads it, passes it on to one that needs it, or remembers it in its state. A box that
puts tuples of one time in the order of their values needs all of them, and so does a connection point.
"""

from __future__ import annotations

from arterial.boxes.tuples.map import Map
from arterial.network.box import IN, OUT, SIGN, Box, Stream
from arterial.network.network import Arc, NetworkValue, Port
from arterial.optimize.names import narrowed_name
from arterial.optimize.tactic import Figures


def insert_projections(network: NetworkValue, figures: Figures | None = None) -> NetworkValue:
    """The network with a Map behind each source that has columns which nobody needs.

    >>> from arterial import Network
    >>> net = Network("n")
    >>> s = net.source("s", {"time": int, "x": int, "y": int, "note": str})
    >>> few = s.filter("few", "x > 9").map("m", keep=["time", "y"]).output("o")
    >>> insert_projections(net.value).box("s narrowed").keep
    ('time', 'x', 'y')
    """
    for source in [box for box in network.boxes if not box.inputs]:
        network = _narrowed(network, Port(source.name, source.outputs[0]))
    return network


def _narrowed(network: NetworkValue, port: Port) -> NetworkValue:
    """The network with a Map behind a port, for those behind it that do not need all of its columns."""
    stream, name = network.streams[port], narrowed_name(network, port.box)
    always = {stream.time, *stream.keyed_by, *([SIGN] if stream.signed else [])}
    needs = {
        arc: _needed_by(network, network.box(arc.end.box), arc.end.port, stream) | always
        for arc in network.arcs
        if arc.begin == port and arc not in network.inseparable
    }
    some = {arc: need for arc, need in needs.items() if need < set(stream.schema.names)}
    if name is None or not any(_copies(network.box(arc.end.box)) for arc in some):
        return network
    needed = set[str]().union(*some.values())
    keep = tuple(column for column in stream.schema.names if column in needed)
    if len(keep) == len(stream.schema.names):
        return network
    arcs = tuple(Arc(Port(name, OUT), arc.end) if arc in some else arc for arc in network.arcs)
    boxes = [(box, Map(name, (), keep)) if box.name == port.box else (box,) for box in network.boxes]
    return NetworkValue(
        network.name,
        tuple(box for several in boxes for box in several),
        (*arcs, Arc(port, Port(name, IN))),
        network.groups,
    )


def _copies(box: Box) -> bool:
    """Whether a box copies whole tuples, or is where they are sent on."""
    return box.passes and bool(box.outputs)


def _needed(network: NetworkValue, port: Port) -> set[str]:
    """The columns of the stream of a port that anything behind it depends on."""
    stream = network.streams[port]
    needed = {stream.time, *stream.keyed_by, *([SIGN] if stream.signed else [])}
    for end in network.departures(port):
        needed |= _needed_by(network, network.box(end.box), end.port, stream)
    return needed & set(stream.schema.names)


def _needed_by(network: NetworkValue, box: Box, port: str, stream: Stream) -> set[str]:
    everything = set(stream.schema.names)
    if port != IN or not box.outputs or box.connectable:
        return everything
    read = set(box.reads(stream))
    if box.regroups:
        if stream.keyed_by:
            return everything  # tuples of one time may be put in the order of all their values
        return {*network.streams[Port(box.name, OUT)].keyed_by, *_needed(network, Port(box.name, OUT))}
    if not box.stateless:
        # What it gives must not depend on what it does not read, nor may its state.
        gives = {name for out in box.outputs for name in network.streams[Port(box.name, out)].schema.names}
        passed = everything & gives if not everything <= set(box.changes(stream)) else set()
        return read | set(box.remembers(stream)) | passed
    if len(box.inputs) > 1:
        return everything
    behind: set[str] = set()
    for out in box.outputs:
        behind |= _needed(network, Port(box.name, out))
    if box.passes:
        return read | behind
    if type(box) is not Map:
        return everything
    # A column that is computed in the place of one of the input would change its place if that were gone.
    return read | set(box.keep or ()) | (behind & everything)
