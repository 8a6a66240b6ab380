"""Versions of a network that runs: another one takes over between two trains, and every step says which it ran with.

The version rides in the offset, which Spark logs before a step, and in the header of all that is sent. So a replay runs
each step with the network, and delivers to the sinks, that it had (decision 28).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arterial.connectors.sink import Sink
from arterial.engine.plan.successor import Born, born_in
from arterial.engine.run.binding import bind_sink
from arterial.errors import RunError, near
from arterial.network.box import Keeping
from arterial.network.network import NetworkValue

FIRST = 1
"""The version that the command or script declares; its sinks are the command's."""


@dataclass(frozen=True)
class Version:
    """A network that steps ran with, or will."""

    number: int
    network: NetworkValue
    born: Born = field(default_factory=dict)
    sinks: Mapping[str, int] = field(default_factory=dict)
    """For every output and connection point with a sink of its own, the version with which that was given."""


def first_version(network: NetworkValue, sinks: Iterable[str]) -> Version:
    """The version that a run begins with."""
    return Version(FIRST, network, {}, dict.fromkeys(sinks, FIRST))


def next_version(last: Version, network: NetworkValue, sinks: Iterable[str]) -> Version:
    """The version that comes after another, with sinks that are given now."""
    number, given, known = last.number + 1, set(sinks), network.delivering
    if unknown := sorted(given - set(known)):
        raise RunError(
            f"network {network.name!r} has no output {unknown[0]!r}; it has: {', '.join(known)}"
            + near(unknown[0], known)
        )
    before = last.network.delivering
    for name in known:
        if name in given:
            continue
        if name not in before and network.box(name).keeping is None:
            raise RunError(f"network {network.name!r}: the output {name!r} is new and has no sink; give it one")
        if name in before and last.network.box(name).fed_by != network.box(name).fed_by:
            raise RunError(
                f"network {network.name!r}: the columns or groups of the stream to {name!r} are changed; give it a new "
                "sink, or another name"
            )
    kept = {name: last.sinks[name] for name in known if name in last.sinks}
    born = born_in(number, last.network, network, last.born)
    return Version(number, network, born, {**kept, **dict.fromkeys(given, number)})


class BoundSinks:
    """The sinks of all versions, each bound once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bound: dict[tuple[str, int], Sink] = {}
        self._keeping: dict[tuple[str, int], Keeping | None] = {}

    def of(self, version: Version, unbound: Mapping[tuple[str, int], Sink]) -> dict[str, Sink]:
        """The sinks of a version; `unbound` are those to choose from, by output and the version they came with."""
        ready = {}
        for name in version.network.delivering:
            key, keeping = (name, version.sinks.get(name, 0)), version.network.box(name).keeping
            if key in self._bound and keeping not in (None, self._keeping[key]):
                del self._bound[key]  # the same table, kept for another time or sorted in another way from now on
            if key not in self._bound and (key in unbound or keeping is not None):
                self._bound[key] = bind_sink(version.network, name, unbound.get(key), self._folder)
                self._keeping[key] = keeping
            if key in self._bound:
                ready[name] = self._bound[key]
            elif key[1]:
                raise RunError(
                    f"network {version.network.name!r}: the sink of {name!r}, which came with version {key[1]}, cannot "
                    "be kept in a checkpoint; start the run with the network of that version, and give the sink again"
                )
        return ready

    def __iter__(self) -> Iterator[Sink]:
        return iter({id(sink): sink for sink in self._bound.values()}.values())
