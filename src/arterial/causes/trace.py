"""Runs a network in the interpreter with numbered tuples: which ones a row was made of, and without which it changes.

A tuple is *used* if a box made a tuple of it that led to the row. It is *needed* if the row is not there, or is another
one, when the network runs without it and with all others. That is tried, tuple by tuple, so it is exact.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from arterial.errors import ArterialError, NetworkError, RunError
from arterial.network.box import Box
from arterial.network.network import NetworkValue, Port
from arterial.reference.interpret import meaning_of
from arterial.reference.parts.causes import EVERYTHING, Because, Region, because_of, scope_of
from arterial.reference.parts.stream import Tuples, group_of

Place = tuple[Port, int]
"""A tuple: the output port of a box that it left by, and its place in that stream."""


@dataclass(frozen=True)
class Step:
    """What a box did to give a tuple, and the tuples that it made it of."""

    made: Place
    used: tuple[Place, ...]
    words: str


def upstream(network: NetworkValue, output: str) -> NetworkValue:
    """The boxes that lead to an output, as a network of their own."""
    wanted, todo = {output}, [output]
    while todo:
        for begin in network.arrivals(network.box(todo.pop())).values():
            if begin.box not in wanted:
                wanted.add(begin.box)
                todo.append(begin.box)
    boxes = tuple(box for box in network.boxes if box.name in wanted)
    return NetworkValue(network.name, boxes, tuple(arc for arc in network.arcs if arc.end.box in wanted))


def scopes(network: NetworkValue, output: str, region: Region) -> dict[Port, Region]:
    """The parts of all streams that lead to an output which could change a part of what arrives there."""
    known: dict[Port, Region] = {}
    for box in reversed(network.order):
        if box.name == output:
            parts = dict.fromkeys(box.inputs, region)
        else:
            asked = {port: known[Port(box.name, port)] for port in box.outputs if Port(box.name, port) in known}
            parts = {}
            for port, part in asked.items():
                for name, one in scope_of(box, port, part).items() if box.inputs else ():
                    parts[name] = parts[name].united(one) if name in parts else one
        for name, begin in network.arrivals(box).items():
            one = parts.get(name, EVERYTHING)
            known[begin] = known[begin].united(one) if begin in known else one
    return known


class Trace:
    """A network that ran in the interpreter, with every tuple of every stream."""

    def __init__(self, network: NetworkValue, output: str, arrivals: Mapping[Port, Tuples]) -> None:
        self.network, self.output = network, output
        self.arrives = network.arrival(output)
        self._each: dict[str, dict[int, dict[str, Tuples]]] = {}
        self._meanings = {}
        for box in network.boxes:
            meaning = meaning_of(type(box)) if box.inputs else None
            if box.inputs and meaning is None:
                raise NetworkError(
                    f"box {box.name!r}: nothing says what a {box.kind!r} means, so its causes cannot be found; set "
                    "`meaning` in its class to 'module:function' (docs/boxes/custom.md)"
                )
            self._meanings[box.name] = meaning
        self.streams: dict[Port, Tuples] = {}
        for box in network.order:
            if not box.inputs:
                self.streams |= {Port(box.name, port): arrivals.get(Port(box.name, port), []) for port in box.outputs}
            elif box.outputs:
                self.streams |= self._first_run(box)

    @property
    def rows(self) -> Tuples:
        """What arrives at the output."""
        return self.streams[self.arrives]

    def places(self, row: Mapping[str, Any]) -> list[int]:
        """The places of the rows that are equal to one."""
        names = self.network.streams[self.arrives].schema.names
        wanted = group_of(row, names)
        return [place for place, values in enumerate(self.rows) if group_of(values, names) == wanted]

    def sources(self) -> list[Place]:
        """All tuples that came in."""
        return [
            (Port(box.name, port), place)
            for box in self.network.boxes
            if not box.inputs
            for port in box.outputs
            for place in range(len(self.streams[Port(box.name, port)]))
        ]

    def steps(self, place: int) -> list[Step]:
        """What each box did on the way to a row, from the output back to the sources."""
        wanted: dict[Port, set[int]] = {self.arrives: {place}}
        found: list[Step] = []
        for box in reversed(self.network.order):
            for port in box.outputs if box.inputs else ():
                for at in sorted(wanted.get(Port(box.name, port), ())):
                    said = self._because(box, port, at)
                    begins = self.network.arrivals(box)
                    used = tuple((begins[name], one) for name, places in said.used.items() for one in places)
                    found.append(Step((Port(box.name, port), at), used, said.words))
                    for begin, one in used:
                        wanted.setdefault(begin, set()).add(one)
        return found

    def count_without(self, left_out: Place, row: Mapping[str, Any]) -> int:
        """How many rows are equal to one when a tuple of a source had not come."""
        port, place = left_out
        tuples = self.streams[port]
        other: dict[Port, Tuples] = {port: tuples[:place] + tuples[place + 1 :]}
        for box in self.network.order:
            begins = self.network.arrivals(box)
            if not box.outputs or not any(begin in other for begin in begins.values()):
                continue
            inputs = {name: other.get(begin, self.streams[begin]) for name, begin in begins.items()}
            for name, made in self._again(box, inputs).items():
                at = Port(box.name, name)
                if not _same(made, self.streams[at]):
                    other[at] = made
        if self.arrives not in other:
            return len(self.places(row))
        names = self.network.streams[self.arrives].schema.names
        wanted = group_of(row, names)
        return sum(group_of(values, names) == wanted for values in other[self.arrives])

    def needed(self, row: Mapping[str, Any], candidates: list[Place], seconds: float) -> dict[Place, bool]:
        """Of each tuple of a source, whether there is one row less without it; as many as can be tried in the time."""
        until = time.monotonic() + seconds
        there = len(self.places(row))
        found: dict[Place, bool] = {}
        for one in candidates:
            if time.monotonic() > until:
                break
            found[one] = self.count_without(one, row) < there
        return found

    def _because(self, box: Box, port: str, place: int) -> Because:
        inputs = {name: self.streams[begin] for name, begin in self.network.arrivals(box).items()}
        outputs = {name: self.streams[Port(box.name, name)] for name in box.outputs}
        return because_of(box, inputs, outputs, port, place)

    def _first_run(self, box: Box) -> dict[Port, Tuples]:
        inputs = {name: self.streams[begin] for name, begin in self.network.arrivals(box).items()}
        outputs = self._run(box, inputs)
        if _takes_each(box):
            self._each[box.name] = _aligned(box, inputs[box.inputs[0]], outputs)
        return {Port(box.name, port): outputs.get(port, []) for port in box.outputs}

    def _again(self, box: Box, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
        """What a box gives for other tuples; one that takes each by itself is asked only for those it did not have."""
        known = self._each.get(box.name)
        if not known:
            return self._run(box, inputs)
        made: dict[str, Tuples] = {port: [] for port in box.outputs}
        for values in inputs[box.inputs[0]]:
            gave = known[id(values)] if id(values) in known else self._run(box, {box.inputs[0]: [values]})
            for port, some in gave.items():
                made[port] += some
        return made

    def _run(self, box: Box, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
        meaning = self._meanings[box.name]
        assert meaning is not None
        try:
            return meaning(box, inputs)
        except ArterialError:
            raise
        except Exception as trouble:  # a user's function may raise anything
            raise RunError(
                f"box {box.name!r}: the interpreter fails on the tuples concerned: {type(trouble).__name__}: {trouble}"
            ) from trouble


def _takes_each(box: Box) -> bool:
    return box.stateless and len(box.inputs) == 1


def _aligned(box: Box, tuples: Tuples, outputs: Mapping[str, Tuples]) -> dict[int, dict[str, Tuples]]:
    """Of a box that takes each tuple by itself, what it gave for each, by identity; nothing if that cannot be seen."""
    if len(outputs) == 1 and not box.passes and all(len(some) == len(tuples) for some in outputs.values()):
        ((port, some),) = outputs.items()
        return {id(values): {port: [made]} for values, made in zip(tuples, some, strict=True)}
    if not box.passes:
        return {}
    found: dict[int, dict[str, Tuples]] = {id(values): {} for values in tuples}
    if len(found) < len(tuples):
        return {}
    for port, some in outputs.items():
        for made in some:
            if id(made) not in found:
                return {}
            found[id(made)][port] = [made]
    return found


def _same(one: Tuples, other: Tuples) -> bool:
    return len(one) == len(other) and all(a is b or a == b for a, b in zip(one, other, strict=True))
