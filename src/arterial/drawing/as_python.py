"""A network as the Python that draws it, as a person would write it: a line for each box.

Each line is first called on a network that grows along, and kept only if it draws the very box; any other box is drawn
by `box`, with all that its class takes.
"""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from arterial.boxes.ends.output import Output
from arterial.boxes.ends.source import Source
from arterial.boxes.ends.view import View
from arterial.boxes.tuples.group_by import GroupBy
from arterial.boxes.tuples.union import Union
from arterial.drawing.network import Network
from arterial.drawing.stream import StreamHandle
from arterial.errors import NetworkError
from arterial.network.box import Box, is_from_library
from arterial.network.network import NetworkValue, Port
from arterial.network.qos import QoS
from arterial.network.relation import Relation
from arterial.network.schema import Schema, Type

_WIDTH = 110
_FILLED_IN = ("name", "fed_by", "used")
_TYPES = {Type.INT64: "int", Type.FLOAT64: "float", Type.BOOL: "bool", Type.STRING: "str"}


@dataclass(frozen=True)
class _Ref:
    """A stream that was drawn before."""

    port: Port


@dataclass(frozen=True)
class _Call:
    """A line: what draws a box."""

    on: Port | None
    """The stream whose method is called; None: the network's."""
    method: str
    args: tuple[Any, ...] = ()
    named: tuple[tuple[str, Any], ...] = ()


def as_python(network: NetworkValue, variable: str = "net") -> str:
    """The Python text that draws the network; the name `variable` is the network's.

    >>> net = Network("speeding")
    >>> reports = net.source("reports", {"time": int, "speed": int})
    >>> _ = reports.filter("fast", "speed > 100").output("alerts")
    >>> print(as_python(net.value))
    import arterial as art
    <BLANKLINE>
    net = art.Network("speeding")
    reports = net.source("reports", {"time": int, "speed": int})
    fast = reports.filter("fast", "speed > 100")
    fast.output("alerts")
    <BLANKLINE>
    """
    return _Writer(network, variable).text()


class _Writer:
    def __init__(self, network: NetworkValue, variable: str) -> None:
        self._network, self._variable = network, variable
        self._names = _variables(network, variable)
        self._drawn = Network(network.name)
        self._imports: set[str] = set()

    def text(self) -> str:
        lines = [f"{self._variable} = art.Network({_quoted(self._network.name)})"]
        lines += [self._line(box) for box in _in_order(self._network)]
        for name, boxes in self._network.groups.items():
            lines.append(f"{self._variable}.group({_quoted(name)}, {_shown(list(boxes))})")
        imports = ["import arterial as art", *sorted(self._imports)]
        return "\n".join([*imports, "", *lines, ""])

    def _line(self, box: Box) -> str:
        begins = self._network.arrivals(box)
        call = next((one for one in (_plain_call(box, begins),) if one and self._draws(one, box)), None)
        if call is None:
            self._drawn.box(_unfed(box), **{port: StreamHandle(self._drawn, begin) for port, begin in begins.items()})
            streams = ", ".join(f'"{port}": {self._stream(begin)}' for port, begin in begins.items())
            made = self._constructed(box)
            text = f"{self._variable}.box({made}{f', **{{{streams}}}' if streams else ''})"
        else:
            text = self._rendered(call)
        named = any(self._network.departures(Port(box.name, port)) for port in box.outputs)
        return f"{self._names[box.name]} = {text}" if named else text

    def _draws(self, call: _Call, box: Box) -> bool:
        """Whether the call draws this box, and nothing else; it is then drawn."""
        before = self._drawn.value
        try:
            target = self._drawn if call.on is None else StreamHandle(self._drawn, call.on)
            getattr(target, call.method)(*map(self._handle, call.args), **{k: self._handle(v) for k, v in call.named})
            made = self._drawn.value
            wanted = sorted(f"{begin} {port}" for port, begin in self._network.arrivals(box).items())
            got = sorted(f"{begin} {port}" for port, begin in made.arrivals(made.boxes[-1]).items())
            if made.boxes[:-1] == before.boxes and made.boxes[-1] == box and wanted == got:
                return True
        except (NetworkError, TypeError, ValueError, AttributeError):
            pass
        self._drawn.value = before
        return False

    def _handle(self, value: Any) -> Any:
        return StreamHandle(self._drawn, value.port) if isinstance(value, _Ref) else value

    def _rendered(self, call: _Call) -> str:
        on = self._variable if call.on is None else self._stream(call.on)
        parts = [self._value(value) for value in call.args]
        parts += [f"{name}={self._value(value)}" for name, value in call.named]
        line = f"{on}.{call.method}({', '.join(parts)})"
        if len(line) <= _WIDTH:
            return line
        return f"{on}.{call.method}(\n" + "".join(f"    {part},\n" for part in parts) + ")"

    def _value(self, value: Any) -> str:
        if isinstance(value, _Ref):
            return self._stream(value.port)
        if isinstance(value, QoS):
            return _quality(value)
        return _shown(value)

    def _stream(self, port: Port) -> str:
        name = self._names[port.box]
        first = self._network.box(port.box).outputs[0]
        if port.port == first:
            return name
        if port.port in ("otherwise", "unmet", "late"):
            return f"{name}.{port.port}"
        return f"{name}.port_named({_quoted(port.port)})"

    def _constructed(self, box: Box) -> str:
        kind = type(box)
        self._imports.add(f"from {kind.__module__} import {kind.__qualname__.partition('.')[0]}")
        parts = [_quoted(box.name)]
        for field in dataclasses.fields(box):
            value = getattr(box, field.name)
            if field.name not in _FILLED_IN and not _is_default(field, value):
                parts.append(f"{field.name}={self._argument(value)}")
        return f"{kind.__qualname__}({', '.join(parts)})"

    def _argument(self, value: Any) -> str:
        if isinstance(value, Relation):
            self._imports.add("from arterial.network.relation import Relation")
            self._imports.add("from arterial.network.schema import Schema")
            schema = f"Schema.of({_schema(value.schema)})"
            return f"Relation({value.name!r}, {schema}, {value.key!r}, {value.rows!r})"
        if isinstance(value, Schema):
            self._imports.add("from arterial.network.schema import Schema")
            return f"Schema.of({_schema(value)})"
        return repr(value)


def _plain_call(box: Box, begins: Mapping[str, Port]) -> _Call | None:
    """The call of the method for its kind, if there is one."""
    special = _SPECIAL.get(type(box))
    if special is not None:
        return special(box, begins)
    method: Callable[..., Any] | None = getattr(StreamHandle, box.kind, None)
    if method is None or not begins or not is_from_library(type(box)):
        return None
    fields = {one.name: one for one in dataclasses.fields(box) if one.name not in _FILLED_IN}
    args: list[Any] = [box.name]
    named: list[tuple[str, Any]] = []
    others = [_Ref(begin) for begin in list(begins.values())[1:]]
    parameters = list(inspect.signature(method).parameters.values())[2:]
    known = {one.name for one in parameters}
    for one in parameters:
        if one.kind is one.VAR_KEYWORD:
            continue
        if one.kind is one.VAR_POSITIONAL:
            if one.name in fields:
                args += getattr(box, one.name)
        elif one.name in ("values", "columns") and one.kind is one.POSITIONAL_ONLY:
            pairs = dict(getattr(box, one.name))
            if all(_is_name(name) and name not in known for name in pairs):
                named += pairs.items()
            else:
                args.append(pairs)
        elif one.name in ("other", "until") and others:
            args.append(others.pop(0))
        elif one.name in fields:
            value = getattr(box, one.name)
            if one.default is one.empty and one.kind is not one.KEYWORD_ONLY:
                args.append(value)
            elif value != one.default:
                named.append((one.name, value))
    named.sort(key=lambda one: one[0] not in known)  # what the method takes by name comes before the values
    return _Call(next(iter(begins.values())), box.kind, tuple(args), tuple(named))


def _source(box: Any, begins: Mapping[str, Port]) -> _Call:
    named = [
        (name, getattr(box, name))
        for name, default in (("time", "time"), ("disorder", 0), ("signed", False))
        if getattr(box, name) != default
    ]
    return _Call(None, "source", (box.name, box.schema), tuple(named))


def _union(box: Any, begins: Mapping[str, Port]) -> _Call:
    first, *others = begins.values()
    return _Call(first, "union", (box.name, *map(_Ref, others)))


def _group_by(box: Any, begins: Mapping[str, Port]) -> _Call:
    usual = "by_" + "_".join(box.columns) if box.columns else "ungrouped"
    return _Call(begins["in"], "group_by", box.columns, () if box.name == usual else (("name", box.name),))


def _output(box: Any, begins: Mapping[str, Port]) -> _Call:
    asked = _asked(box)
    return _Call(begins["in"], "output", (box.name,), (("qos", asked),) if asked else ())


def _view(box: Any, begins: Mapping[str, Port]) -> _Call:
    named: list[tuple[str, Any]] = [("materialise", box.materialise), ("retention", box.retention)]
    if box.storage_key:
        named.append(("storage_key", list(box.storage_key)))
    if asked := _asked(box):
        named.append(("qos", asked))
    return _Call(begins["in"], "view", (box.name,), tuple(named))


_SPECIAL: dict[type, Callable[[Any, Mapping[str, Port]], _Call]] = {
    GroupBy: _group_by,
    Source: _source,
    Union: _union,
    Output: _output,
    View: _view,
}


def _asked(box: Any) -> QoS | None:
    value = (box.value_of, box.value) if box.value_of is not None else None
    asked = QoS(box.delay, box.share, value, box.weight)
    return None if asked == QoS() else asked


def _quality(asked: QoS) -> str:
    graph = asked.graph
    delay = ""
    if len(graph) == 2 and (graph[0][1], graph[1][1]) == (1, 0):
        delay = f"art.Delay({graph[0][0]:g}, {graph[1][0]:g})"
        if asked == QoS(graph):
            return delay
    elif graph:
        delay = _points(graph)
    parts = [delay] if delay else []
    if asked.share:
        parts.append(f"share={_points(asked.share)}")
    if asked.value:
        parts.append(f"value=({_quoted(asked.value[0])}, {_points(asked.value[1])})")
    if asked.weight != 1:
        parts.append(f"weight={asked.weight:g}")
    return f"art.QoS({', '.join(parts)})"


def _points(graph: Any) -> str:
    return f"[{', '.join(f'({x:g}, {y:g})' for x, y in graph)}]"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Schema):
        return _schema(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_shown(k)}: {_shown(v)}' for k, v in value.items())}}}"
    return repr(value)


def _schema(schema: Schema) -> str:
    parts = (f"{_quoted(one.name)}: {_TYPES.get(one.type) or _quoted(str(one.type))}" for one in schema)
    return f"{{{', '.join(parts)}}}"


def _quoted(text: str) -> str:
    shown = repr(text)
    return f'"{shown[1:-1]}"' if shown[0] == "'" and '"' not in shown else shown


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    if field.default is not dataclasses.MISSING:
        return bool(value == field.default)
    return field.default_factory is not dataclasses.MISSING and bool(value == field.default_factory())


def _unfed(box: Box) -> Box:
    return dataclasses.replace(box, fed_by={})


def _variables(network: NetworkValue, taken: str) -> dict[str, str]:
    """A Python name for each box, close to its own."""
    used, names = {taken, "art"}, {}
    for box in network.boxes:
        base = re.sub(r"\W+", "_", box.name).strip("_") or "stream"
        base = f"{base}_" if keyword.iskeyword(base) or not base.isidentifier() else base
        base = base if base.isidentifier() else f"box_{base}"
        name, number = base, 2
        while name in used:
            name, number = f"{base}_{number}", number + 1
        used.add(name)
        names[box.name] = name
    return names


def _in_order(network: NetworkValue) -> tuple[Box, ...]:
    """As they were drawn, if each comes after what feeds it."""
    seen: set[str] = set()
    for box in network.boxes:
        if any(begin.box not in seen for begin in network.arrivals(box).values()):
            return network.order
        seen.add(box.name)
    return network.boxes
