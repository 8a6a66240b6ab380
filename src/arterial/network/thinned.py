"""Where tuples may be left out of a running network (Aurora §4.4): what the boxes behind an arc say about it.

And where what was left out can be *settled*: run later by itself, so that its answers are those that were missing; and
where tuples may wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from arterial.network.box import Box
from arterial.network.network import Arc, NetworkValue, Port


def why_not_thinned(network: NetworkValue, arc: Arc) -> str | None:
    """Why no tuples may be left out on an arc, or None if they may.

    What is left out before a box that takes tuples one by one is missing behind it too, so the boxes there are asked as
    well. Any other box makes an answer of what it gets, and says itself whether a sample will do.
    """
    if arc in network.inseparable:
        return f"boxes {arc.begin.box!r} and {arc.end.box!r} are inseparable"
    for box, port in _asked(network, arc, lambda box, port: box.stateless or box.passes):
        if not box.may_be_thinned(port):
            signed = box.fed_by[port].signed
            why = "is a signed stream, whose changes belong together" if signed else "is needed whole"
            return f"the input {port!r} of box {box.name!r} ({box.kind}) {why}"
    return None


def groups_to_leave_out(network: NetworkValue, arc: Arc) -> tuple[str, ...] | None:
    """The columns by which tuples may be left out on an arc in whole groups, or None if they may not.

    Tuples that agree in these columns go or stay together. So every box behind the arc that needs its groups whole has
    these columns in its key, and has them as they are on the arc.
    """
    if arc in network.inseparable:
        return None
    here = set(network.streams[arc.begin].schema.names)
    keys: list[tuple[str, ...]] = []
    for box, port in _asked(network, arc, lambda box, port: box.passes and not box.may_lose_groups(port)):
        if box.may_lose_groups(port):
            keys.append(box.fed_by[port].keyed_by)
        elif not box.may_be_thinned(port) or (box.stateless and not box.passes):
            return None
    common = [name for name in keys[0] if name in here and all(name in key for key in keys)] if keys else []
    return tuple(common) or None


def why_not_settled(network: NetworkValue, arc: Arc) -> str | None:
    """Why tuples that are left out on an arc could not be settled later, or None if they could.

    Every box behind the arc must take each tuple by itself: what another box would have answered depends on tuples that
    went on.
    """
    for box in boxes_behind(network, arc):
        if not (box.stateless or box.independent):
            return f"box {box.name!r} ({box.kind}) does not take each tuple by itself"
    return None


def why_not_held(network: NetworkValue, arc: Arc) -> str | None:
    """Why tuples may not wait on an arc, or None if they may.

    Boxes that are inseparable get their trains for the same span of time. So another way from one of them to another
    may not be late either.
    """
    if arc in network.inseparable:
        return f"boxes {arc.begin.box!r} and {arc.end.box!r} are inseparable"
    tied, ways = {arc.begin.box}, [arc.begin.box]
    while ways:
        here = ways.pop()
        for other in network.inseparable:
            ends = {other.begin.box, other.end.box}
            if here in ends:
                ways += ends - tied
                tied |= ends
    if arc.end.box in tied:
        return f"boxes {arc.begin.box!r} and {arc.end.box!r} belong to the same inseparable boxes"
    return None


def _asked(network: NetworkValue, arc: Arc, goes_on: Callable[[Box, str], bool]) -> Iterator[tuple[Box, str]]:
    """The inputs behind an arc, each with its box; those behind a box are asked too if `goes_on` says so."""
    asked: set[Port] = set()
    ports = [arc.end]
    while ports:
        port = ports.pop()
        if port in asked:
            continue
        asked.add(port)
        box = network.box(port.box)
        yield box, port.port
        if goes_on(box, port.port):
            ports += network.behind(box)


def boxes_behind(network: NetworkValue, arc: Arc) -> tuple[Box, ...]:
    """The boxes that a tuple on an arc can reach, in the network's order."""
    reached, names = {arc.end.box}, [arc.end.box]
    while names:
        box = network.box(names.pop())
        for end in network.behind(box):
            if end.box not in reached:
                reached.add(end.box)
                names.append(end.box)
    return tuple(box for box in network.order if box.name in reached)
