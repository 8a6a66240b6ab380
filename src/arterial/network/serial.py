"""Networks to and from JSON, without loss. A box goes by the word of its kind, a user's own by its class's place."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from arterial.errors import NetworkError
from arterial.network.box import Box, is_from_library
from arterial.network.expression.function import Function
from arterial.network.expression.tree import known_column
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.place import find, is_findable, place_of
from arterial.network.relation import Relation
from arterial.network.schema import Field, Schema, Type

FORMAT = 1
"""The version of the format; a reader refuses others."""

_FILLED_IN = ("fed_by", "used")
_EPOCH = datetime(1970, 1, 1)


def to_json(network: NetworkValue, indent: int | None = 2) -> str:
    """The network as JSON text."""
    return json.dumps(
        {
            "format": FORMAT,
            "network": network.name,
            "boxes": [_box_to_data(box) for box in network.boxes],
            "arcs": [[str(arc.begin), str(arc.end)] for arc in network.arcs],
            "groups": {name: list(boxes) for name, boxes in network.groups.items()},
        },
        indent=indent,
    )


def from_json(text: str, modules: Iterable[str] = ()) -> NetworkValue:
    """The network that the text describes.

    Text from elsewhere must not run code: boxes of the user's own, and functions, are imported only from `modules`.
    """
    if isinstance(modules, str):
        raise NetworkError(f"expected the names of modules as a list, got {modules!r}")
    trusted = ("arterial", *modules)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NetworkError(f"expected a network as JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("network"), str):
        raise NetworkError("expected a JSON object with the key 'network', the name of the network")
    if data.get("format") != FORMAT:
        raise NetworkError(f"expected a network of format {FORMAT}, got {data.get('format')!r}; write it again")
    try:
        return NetworkValue(
            data["network"],
            tuple(box_from_data(box, trusted) for box in data["boxes"]),
            tuple(Arc(_port(begin), _port(end)) for begin, end in data["arcs"]),
            {name: tuple(boxes) for name, boxes in data.get("groups", {}).items()},
        )
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise NetworkError(f"the JSON of network {data['network']!r} is damaged: {error!r}") from None


def _box_to_data(box: Box) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": box.kind}
    kind = type(box)
    if not is_from_library(kind):
        data["class"] = _findable(place_of(kind), f"box {box.name!r}: its class")
    for field in dataclasses.fields(box):
        if field.name not in _FILLED_IN:
            data[field.name] = _to_data(getattr(box, field.name), f"box {box.name!r}, {field.name}")
    return data


def box_from_data(data: dict[str, Any], trusted: tuple[str, ...] = ("arterial",)) -> Box:
    """The box that a part of the JSON of a network describes; its own code is imported from `trusted` modules only."""
    fields = dict(data)
    kind = _kind(fields.pop("kind"), fields.pop("class", None), data.get("name"), trusted)
    known = [field.name for field in dataclasses.fields(kind) if field.name not in _FILLED_IN]
    for name in fields:
        known_column(name, known, f"a {kind.kind} (box {data.get('name')!r})")
    return kind(**{name: _from_data(value, trusted) for name, value in fields.items()})


def _kind(word: str, place: str | None, name: object, trusted: tuple[str, ...]) -> type[Box]:
    if place is None:
        importlib.import_module("arterial.boxes")
        known = {kind: found for kind, found in Box.kinds.items() if is_from_library(found)}
        if word not in known:
            raise NetworkError(
                f"box {name!r}: there is no kind of box {word!r}; expected one of {', '.join(sorted(known))}"
            )
        return known[word]
    _check_trusted(place, trusted)
    try:
        found = find(place)
    except NetworkError as mistake:
        raise NetworkError(f"box {name!r}: cannot find its class: {mistake}") from None
    if not (isinstance(found, type) and issubclass(found, Box)):
        raise NetworkError(f"box {name!r}: {place} is not a box")
    return found


def _findable(place: str, what: str) -> str:
    if not is_findable(place):
        raise NetworkError(
            f"{what} {place} must be at the top level of a module to go to JSON, which has only its name"
        )
    return place


def _to_data(value: Any, where: str) -> Any:
    if isinstance(value, Type):
        return {"type": value.value}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, tuple | list):
        return [_to_data(part, where) for part in value]
    if isinstance(value, Schema):
        return {"schema": [[field.name, field.type.value] for field in value]}
    if isinstance(value, Function):
        produces = [[field.name, field.type.value] for field in value.produces]
        return {
            "function": _findable(value.place, f"{where}: the function"),
            "reads": list(value.reads),
            "produces": produces,
        }
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return {"timestamp": (moment - _EPOCH) // timedelta(microseconds=1)}
    if isinstance(value, Relation):
        return {"relation": value.name, **{k: _to_data(getattr(value, k), where) for k in ("schema", "key", "rows")}}
    raise NetworkError(f"{where}: a {type(value).__name__} cannot go to JSON; use plain data or a tuple of it")


def _check_trusted(place: str, trusted: tuple[str, ...]) -> None:
    """Raise unless a place is in a module that may be imported, or in one below it."""
    module = place.partition(":")[0]
    if not any(module == known or module.startswith(f"{known}.") for known in trusted):
        raise NetworkError(
            f"the network names {place}, and reading it would run the code of that module. If you trust it, give its "
            f"module: from_json(text, modules=[{module!r}])"
        )


def _from_data(data: Any, trusted: tuple[str, ...]) -> Any:
    if isinstance(data, list):
        return tuple(_from_data(part, trusted) for part in data)
    if not isinstance(data, dict):
        return data
    if "relation" in data:
        return Relation(data["relation"], *(_from_data(data[key], trusted) for key in ("schema", "key", "rows")))
    if "function" in data:
        produces = Schema(tuple(Field(name, Type(kind)) for name, kind in data["produces"]))
        _check_trusted(data["function"], trusted[1:])
        return Function.at(data["function"], tuple(data["reads"]), produces)
    if "timestamp" in data:
        return _EPOCH + timedelta(microseconds=data["timestamp"])
    if "type" in data:
        return Type(data["type"])
    return Schema(tuple(Field(name, Type(kind)) for name, kind in data["schema"]))


def _port(text: str) -> Port:
    box, _, port = text.rpartition(".")
    return Port(box, port)
