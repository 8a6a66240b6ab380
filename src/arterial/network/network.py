"""The network: boxes and the arcs between them, as one immutable value that was checked when it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from arterial.errors import NetworkError
from arterial.network.box import Box, Stream
from arterial.network.signed import require_sign

MOST_BYTES = 200
"""How long the name of a box may be: it becomes part of the names of files, which may have 255 bytes."""


@dataclass(frozen=True, order=True)
class Port:
    """A place on a box where an arc begins or ends."""

    box: str
    port: str

    def __str__(self) -> str:
        return f"{self.box}.{self.port}"


@dataclass(frozen=True, order=True)
class Arc:
    """The way of a stream from an output port to an input port."""

    begin: Port
    end: Port

    def __str__(self) -> str:
        return f"{self.begin} → {self.end}"


@dataclass(frozen=True)
class NetworkValue:
    """A whole network. Making one checks it: names, arcs, cycles, and the type of the stream on every arc.

    Its boxes are copies that know the streams on their inputs (`Box.fed_by`).

    `groups` maps the name of a composed box to the boxes that it is made of, for those who draw or read it.
    """

    name: str
    boxes: tuple[Box, ...] = ()
    arcs: tuple[Arc, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for box in self.boxes:
            if not isinstance(box.name, str) or not _can_be_a_file(box.name):
                raise NetworkError(
                    f"network {self.name!r}: a box cannot be named {box.name!r}; expected a text without slashes "
                    f"and line ends, of at most {MOST_BYTES} bytes"
                )
            if box.name in seen:
                raise NetworkError(f"network {self.name!r}: two boxes are named {box.name!r}; give one another name")
            seen.add(box.name)
        for arc in self.arcs:
            self._check_port(arc, arc.begin, "output")
            self._check_port(arc, arc.end, "input")
        for box in self.boxes:
            for port in box.inputs:
                arrivals = self._arcs_to.get(Port(box.name, port), [])
                if len(arrivals) != 1:
                    came = ", ".join(str(arc.begin) for arc in arrivals) or "none"
                    raise NetworkError(
                        f"network {self.name!r}, box {box.name!r}: input {port!r} needs exactly one arc, got {came}"
                        + ("; put a Union before it" if arrivals else "")
                    )
        self._let_boxes_know()

    def box(self, name: str) -> Box:
        """The box of that name."""
        try:
            return self._by_name[name]
        except KeyError:
            names = ", ".join(box.name for box in self.boxes)
            raise NetworkError(f"network {self.name!r} has no box {name!r}; it has: {names}") from None

    @property
    def source_names(self) -> list[str]:
        """The boxes where streams enter."""
        return [box.name for box in self.boxes if not box.inputs]

    @property
    def output_names(self) -> list[str]:
        """The boxes where streams leave."""
        return [box.name for box in self.boxes if not box.outputs]

    @property
    def delivering(self) -> list[str]:
        """The outputs and connection points: the boxes whose input goes to a sink."""
        return [box.name for box in self.boxes if not box.outputs or box.keeping is not None]

    def arrivals(self, box: Box) -> Mapping[str, Port]:
        """Where the stream of each input port of a box comes from."""
        return {port: self._arcs_to[Port(box.name, port)][0].begin for port in box.inputs}

    def arrival(self, name: str) -> Port:
        """Where the stream of a box's first input comes from; an output has no other."""
        return next(iter(self.arrivals(self.box(name)).values()))

    def departures(self, port: Port) -> tuple[Port, ...]:
        """The input ports that an output port leads to."""
        return self._leads_to.get(port, ())

    def behind(self, box: Box) -> list[Port]:
        """The input ports that the output ports of a box lead to."""
        return [end for port in box.outputs for end in self.departures(Port(box.name, port))]

    @cached_property
    def order(self) -> tuple[Box, ...]:
        """The boxes, each after those that feed it."""
        waiting = {box.name: len(box.inputs) for box in self.boxes}
        wave = {name: 0 for name, count in waiting.items() if not count}
        ready = list(wave)
        for name in ready:
            for port in self.box(name).outputs:
                for end in self.departures(Port(name, port)):
                    waiting[end.box] -= 1
                    wave[end.box] = max(wave.get(end.box, 0), wave[name] + 1)
                    if not waiting[end.box]:
                        ready.append(end.box)
        if len(ready) < len(self.boxes):
            names = ", ".join(name for name, count in waiting.items() if count)
            raise NetworkError(f"network {self.name!r} has a cycle among: {names}")
        return tuple(sorted(self.boxes, key=lambda box: wave[box.name]))

    @cached_property
    def streams(self) -> Mapping[Port, Stream]:
        """The type of the stream that leaves each output port."""
        types: dict[Port, Stream] = {}
        for box in self.order:
            inputs = {port: types[begin] for port, begin in self.arrivals(box).items()}
            try:
                _check_signs(box, inputs)
                outputs = box.streams(inputs)
                for port, stream in outputs.items():
                    require_sign(stream, port)
                    stream.schema.check_names()
            except NetworkError as mistake:
                arcs = ", ".join(str(Arc(begin, Port(box.name, port))) for port, begin in self.arrivals(box).items())
                where = f"network {self.name!r}, box {box.name!r}" + (f" (fed by {arcs})" if arcs else "")
                raise NetworkError(f"{where}: {mistake}") from None
            types.update({Port(box.name, port): stream for port, stream in outputs.items()})
        return types

    @cached_property
    def inseparable(self) -> frozenset[Arc]:
        """The arcs that must stay as they are, since the box at their end says so (`Box.inseparable`)."""
        for box in self.boxes:
            if unknown := sorted(box.inseparable - set(box.inputs)):
                raise NetworkError(
                    f"network {self.name!r}, box {box.name!r}: it says that the input {', '.join(unknown)} is "
                    f"inseparable; it has: {', '.join(box.inputs) or 'none'}"
                )
        return frozenset(arc for arc in self.arcs if arc.end.port in self._by_name[arc.end.box].inseparable)

    @cached_property
    def _by_name(self) -> Mapping[str, Box]:
        return {box.name: box for box in self.boxes}

    @cached_property
    def _arcs_to(self) -> Mapping[Port, list[Arc]]:
        arcs: dict[Port, list[Arc]] = {}
        for arc in self.arcs:
            arcs.setdefault(arc.end, []).append(arc)
        return arcs

    @cached_property
    def _leads_to(self) -> Mapping[Port, tuple[Port, ...]]:
        ends: dict[Port, tuple[Port, ...]] = {}
        for arc in self.arcs:
            ends[arc.begin] = (*ends.get(arc.begin, ()), arc.end)
        return ends

    def _let_boxes_know(self) -> None:
        """Put copies in the place of the boxes, that know the streams on their inputs and the outputs in use."""
        known = {}
        for box in self.order:
            fed_by = {port: self.streams[begin] for port, begin in self.arrivals(box).items()}
            used = frozenset(port for port in box.outputs if self.departures(Port(box.name, port)))
            known[box.name] = replace(box, fed_by=fed_by, used=used)
        self.streams  # noqa: B018  (types the streams of a lone source as well, or raises)
        object.__setattr__(self, "boxes", tuple(known[box.name] for box in self.boxes))
        object.__setattr__(self, "order", tuple(known[box.name] for box in self.order))
        object.__setattr__(self, "_by_name", known)

    def _check_port(self, arc: Arc, port: Port, side: str) -> None:
        box = self._by_name.get(port.box)
        if box is None:
            raise NetworkError(f"network {self.name!r}: arc {arc} names the box {port.box!r}, which does not exist")
        ports = box.outputs if side == "output" else box.inputs
        if port.port not in ports:
            raise NetworkError(
                f"network {self.name!r}: arc {arc} names the {side} {port.port!r} of box {port.box!r}, "
                f"which has: {', '.join(ports) or 'none'}"
            )


def _check_signs(box: Box, inputs: Mapping[str, Stream]) -> None:
    if not box.takes_signed:
        for port, stream in inputs.items():
            if stream.signed:
                raise NetworkError(
                    f"input {port!r} is a signed stream, which a {box.kind} cannot take, as rows that it counted may "
                    f"be withdrawn; {box.instead}"
                )


def _can_be_a_file(name: str) -> bool:
    """Whether a name can be that of a file: state, points and outputs of a box are kept by its name."""
    if name in ("", ".", "..") or any(sign in name for sign in "/\n\0"):
        return False
    return len(name.encode("utf-8", errors="replace")) <= MOST_BYTES
