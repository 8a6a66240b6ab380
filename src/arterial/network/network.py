"""The network: boxes and the arcs between them, as one immutable value that was checked when it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from arterial.errors import NetworkError
from arterial.network.box import Box, Stream


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
            if not isinstance(box.name, str) or not box.name or any(sign in box.name for sign in "/\n\0"):
                raise NetworkError(
                    f"network {self.name!r}: a box cannot be named {box.name!r}; expected a text without slashes"
                )
            if box.name in seen:
                raise NetworkError(f"network {self.name!r}: two boxes are named {box.name!r}; give one another name")
            seen.add(box.name)
        for arc in self.arcs:
            self._check_port(arc, arc.begin, "output")
            self._check_port(arc, arc.end, "input")
        for box in self.boxes:
            for port in box.inputs:
                arrivals = [arc for arc in self.arcs if arc.end == Port(box.name, port)]
                if len(arrivals) != 1:
                    came = ", ".join(str(arc.begin) for arc in arrivals) or "none"
                    raise NetworkError(
                        f"network {self.name!r}, box {box.name!r}: input {port!r} needs exactly one arc, got {came}"
                        + ("; put a Union before it" if arrivals else "")
                    )
        self.streams  # noqa: B018  (types every arc, or raises)
        used = {box.name: frozenset(a.begin.port for a in self.arcs if a.begin.box == box.name) for box in self.boxes}
        fed = {box.name: replace(box, fed_by=self._fed_by(box), used=used[box.name]) for box in self.order}
        object.__setattr__(self, "boxes", tuple(fed[box.name] for box in self.boxes))
        object.__setattr__(self, "order", tuple(fed[box.name] for box in self.order))

    def box(self, name: str) -> Box:
        """The box of that name."""
        for box in self.boxes:
            if box.name == name:
                return box
        raise NetworkError(
            f"network {self.name!r} has no box {name!r}; it has: {', '.join(b.name for b in self.boxes)}"
        )

    def arrivals(self, box: Box) -> Mapping[str, Port]:
        """Where the stream of each input port of a box comes from."""
        return {arc.end.port: arc.begin for arc in self.arcs if arc.end.box == box.name}

    def departures(self, port: Port) -> tuple[Port, ...]:
        """The input ports that an output port leads to."""
        return tuple(arc.end for arc in self.arcs if arc.begin == port)

    @cached_property
    def order(self) -> tuple[Box, ...]:
        """The boxes, each after those that feed it."""
        return tuple(self._in_order())

    @cached_property
    def streams(self) -> Mapping[Port, Stream]:
        """The type of the stream that leaves each output port."""
        types: dict[Port, Stream] = {}
        for box in self.order:
            arriving = {port: types[begin] for port, begin in self.arrivals(box).items()}
            inputs = {port: arriving[port] for port in box.inputs}
            try:
                outputs = box.streams(inputs)
            except NetworkError as mistake:
                arcs = ", ".join(str(arc) for arc in self.arcs if arc.end.box == box.name)
                where = f"network {self.name!r}, box {box.name!r}" + (f" (fed by {arcs})" if arcs else "")
                raise NetworkError(f"{where}: {mistake}") from None
            types.update({Port(box.name, port): stream for port, stream in outputs.items()})
        return types

    def _fed_by(self, box: Box) -> Mapping[str, Stream]:
        begins = self.arrivals(box)
        return {port: self.streams[begins[port]] for port in box.inputs}

    def _check_port(self, arc: Arc, port: Port, side: str) -> None:
        box = next((box for box in self.boxes if box.name == port.box), None)
        if box is None:
            raise NetworkError(f"network {self.name!r}: arc {arc} names the box {port.box!r}, which does not exist")
        ports = box.outputs if side == "output" else box.inputs
        if port.port not in ports:
            raise NetworkError(
                f"network {self.name!r}: arc {arc} names the {side} {port.port!r} of box {port.box!r}, "
                f"which has: {', '.join(ports) or 'none'}"
            )

    def _in_order(self) -> Iterator[Box]:
        waiting = list(self.boxes)
        done: set[str] = set()
        while waiting:
            ready = [box for box in waiting if all(p.box in done for p in self.arrivals(box).values())]
            if not ready:
                raise NetworkError(f"network {self.name!r} has a cycle among: {', '.join(box.name for box in waiting)}")
            yield from ready
            done.update(box.name for box in ready)
            waiting = [box for box in waiting if box.name not in done]
