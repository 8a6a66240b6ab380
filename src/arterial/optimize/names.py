"""The names of boxes that tactics make: they say which boxes of the user's they stand for."""

from __future__ import annotations

from arterial.network.network import MOST_BYTES, NetworkValue

_AND = " + "


def joined_name(network: NetworkValue, one: str, other: str) -> str | None:
    """The name of a box that does the work of two; None if there is none that is free and short enough.

    >>> joined_name(NetworkValue("n"), "low", "high")
    'low + high'
    """
    name = f"{one}{_AND}{other}"
    taken = {box.name for box in network.boxes}
    return name if name not in taken and len(name.encode()) <= MOST_BYTES else None


def parts_of(name: str) -> list[str]:
    """The boxes whose work a box does.

    >>> parts_of("low + high")
    ['low', 'high']
    """
    return name.split(_AND)


def narrowed_name(network: NetworkValue, source: str) -> str | None:
    """The name of the projection behind a source."""
    name = f"{source} narrowed"
    return name if name not in {box.name for box in network.boxes} and len(name.encode()) <= MOST_BYTES else None
