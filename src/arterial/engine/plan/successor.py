"""Whether a version of a network can go on where another is, and which state its boxes find.

State belongs to an *incarnation* of a box: its name, and the version in which it came in. A box that both versions have
goes on with its own; one that was removed and added again begins empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from arterial.engine.plan.plan import Channel, Plan, Superbox, Where
from arterial.errors import RunError
from arterial.network.box import Box
from arterial.network.network import NetworkValue, Port
from arterial.network.place import place_of

Born = Mapping[str, int]
"""The version in which a box came in, by its name; those that were there from the start are left out."""


def check_successor(old: Plan, new: Plan, levels: int) -> None:
    """Refuse a version that could not go on from where the one before it is; `levels` are those of the run's query."""
    _check_sources(old.network, new.network)
    name = new.network.name
    if len(new.levels) > levels:
        raise RunError(
            f"network {name!r}: this version needs {len(new.levels)} shuffles, and the run was started with {levels}; "
            "start a new run for it"
        )
    before = {box.name: box for box in old.network.boxes}
    for box in new.network.boxes:
        was = before.get(box.name)
        if was is None or not (_keeps_state(was) and _keeps_state(box)):
            continue
        if not same_box(was, box):
            raise RunError(f"network {name!r}, box {box.name!r}: it keeps state and is changed; give it another name")
        if not _fed_alike(was, box):
            raise RunError(
                f"network {name!r}, box {box.name!r}: it keeps state, and the columns or groups of its input are "
                "changed; give it another name"
            )
        one, other = old.superbox_of(box.name), new.superbox_of(box.name)
        if (one.level, one.where, one.key) != (other.level, other.where, other.key):
            raise RunError(
                f"network {name!r}, box {box.name!r}: its state lies in level {one.level} by {_shown(one)}, and is "
                f"looked for in level {other.level} by {_shown(other)}; start a new run for it"
            )
    _check_ways(old, new)


def born_in(version: int, old: NetworkValue, new: NetworkValue, born: Born) -> dict[str, int]:
    """The incarnations of the boxes of a version; `old` and `born` are of the one before it."""
    before = {box.name: box for box in old.boxes}
    incarnations = {}
    for box in new.boxes:
        was = before.get(box.name)
        comes = was is None or (_keeps_state(box) and not _keeps_state(was))
        since = version if comes else born.get(box.name, 1)
        if since > 1:
            incarnations[box.name] = since
    return incarnations


def new_arcs(old: NetworkValue, new: NetworkValue, point: str) -> dict[str, str]:
    """The arcs from a connection point to boxes that only the new version has, each with the point's name."""
    known = {box.name for box in old.boxes}
    return {str(arc): point for arc in new.arcs if arc.begin.box == point and arc.end.box not in known}


def owners(plan: Plan, born: Born) -> dict[str, str]:
    """Under which name the state of each box, of each end of a channel and of each queue is kept.

    No box has a slash in its name, so none can be named like an incarnation.
    """
    names = {box.name: _incarnation(box.name, born.get(box.name, 1)) for box in plan.network.boxes}
    for level in plan.levels:
        for channel in level.arrivals:
            names[channel.waits] = _incarnation(channel.waits, born.get(channel.begin.box, 1))
    for arc in plan.network.arcs:
        names[queue_of(str(arc))] = _incarnation(queue_of(str(arc)), born.get(arc.end.box, 1))
    return names


def queue_of(arc: str) -> str:
    """The name under which the tuples that are held on an arc are kept."""
    return f"queue {arc}"


def same_box(one: Box, other: Box) -> bool:
    """Whether two boxes are alike. One may have come from another process, with a class of the same place."""
    return one == other or (place_of(type(one)) == place_of(type(other)) and repr(one) == repr(other))


def _incarnation(name: str, since: int) -> str:
    return name if since == 1 else f"{name}/{since}"


def _check_sources(old: NetworkValue, new: NetworkValue) -> None:
    before, after = ({box.name: box for box in value.boxes if not box.inputs} for value in (old, new))
    if before.keys() != after.keys():
        raise RunError(
            f"network {new.name!r}: another version must have the same sources, {', '.join(sorted(before))}; it has "
            f"{', '.join(sorted(after))}. Start a new run for others"
        )
    for name, box in after.items():
        if not same_box(before[name], box):
            raise RunError(
                f"network {new.name!r}, source {name!r}: another version must have its sources as they are, and this "
                "one is changed; start a new run for it"
            )


def _keeps_state(box: Box) -> bool:
    return bool(box.inputs) and not (box.stateless or box.regroups)


def _fed_alike(was: Box, box: Box) -> bool:
    """Whether the state of a box fits its inputs: they are the same but for columns that it does not remember."""
    for port in box.inputs:
        before, after = was.fed_by[port], box.fed_by[port]
        if before != after:
            if port != box.inputs[0] or replace(before, schema=after.schema) != after:
                return False
            held = was.remembers(before) | box.remembers(after)
            if any(name not in after.schema or after.schema[name] != before.schema[name] for name in held):
                return False
    return True


def _check_ways(old: Plan, new: Plan) -> None:
    """Refuse a version without a channel in which tuples may wait for boxes that stay.

    Slots may be differently far only behind a key, so tuples wait nowhere else.
    """
    kept = {box.name for box in new.network.boxes}
    there = {(channel.waits, channel.stream) for level in new.levels for channel in level.arrivals}
    for level in old.levels:
        for channel in level.arrivals:
            if channel.from_where is not Where.KEY or (channel.waits, channel.stream) in there:
                continue
            if staying := sorted(_behind(old, channel) & kept):
                raise RunError(
                    f"network {new.network.name!r}, box {staying[0]!r}: tuples may wait on their way to it from "
                    f"{channel.begin}, behind a shuffle, and this version has another way; give it another name, or "
                    "start a new run"
                )


def _behind(plan: Plan, channel: Channel) -> set[str]:
    """The boxes that what comes by a channel leads to."""
    network, found = plan.network, set[str]()
    ends = [box for (box, _), number in plan.fed_through.items() if number == channel.number]
    while ends:
        name = ends.pop()
        if name not in found:
            found.add(name)
            outputs = [Port(name, port) for port in network.box(name).outputs]
            ends += [end.box for port in outputs for end in network.departures(port)]
    return found


def _shown(superbox: Superbox) -> str:
    return ", ".join(superbox.key) or str(superbox.where)
