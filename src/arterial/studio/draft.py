"""A network that is being drawn in the page: what fits, and for each box that does not, what is wrong with it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from arterial import boxes as _boxes  # noqa: F401  (defines the kinds)
from arterial.drawing.as_python import as_python
from arterial.engine.plan.compile import compile_network
from arterial.engine.plan.description import NetworkFacts, describe_plan, said_of
from arterial.errors import ArterialError, NetworkError
from arterial.network.box import Box, is_from_library
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.serial import FORMAT, box_from_data

_FILLED_IN = ("name", "fed_by", "used")
MOST_BOXES = 1000


@dataclass(frozen=True)
class Parameter:
    """What a box takes."""

    name: str
    type: str
    about: str
    needed: bool
    default: Any = None


@dataclass(frozen=True)
class Kind:
    """A kind of box, for the palette."""

    kind: str
    summary: str
    inputs: list[str]
    outputs: list[str]
    parameters: list[Parameter]
    room: str
    """The room of the library that it is in, under which the palette lists it."""


@dataclass(frozen=True)
class Checked:
    """What is the case with a draft."""

    errors: dict[str, str]
    """By box; under the empty name what concerns the whole."""
    facts: NetworkFacts | None = None
    """The part that fits, compiled."""
    python: str = ""
    whole: bool = False
    """Whether all of it fits."""
    columns: dict[str, list[str]] = field(default_factory=dict)
    """The columns that come to each box, for completion."""


def kinds() -> list[Kind]:
    """The kinds of boxes that can be drawn by arguments alone."""
    found = []
    for word, kind in sorted(Box.kinds.items()):
        fields = [one for one in dataclasses.fields(kind) if one.name not in _FILLED_IN]
        plain = not any("Relation" in str(one.type) for one in fields)
        if is_from_library(kind) and plain:
            bare = _bare(kind)
            about = _parameter_texts(kind)
            found.append(
                Kind(
                    word,
                    said_of(kind)[0],
                    list(bare.inputs),
                    list(bare.outputs),
                    [
                        Parameter(
                            one.name,
                            str(one.type),
                            about.get(one.name, ""),
                            one.default is dataclasses.MISSING,
                            _plain(one.default),
                        )
                        for one in fields
                    ],
                    kind.__module__.split(".")[-2],
                )
            )
    return found


def check(draft: Mapping[str, Any]) -> Checked:
    """Check a draft box by box, each after those that feed it."""
    value, errors = _sound(draft)
    facts = None
    if value.boxes:
        try:
            facts = describe_plan(compile_network(value, 2))
        except ArterialError as mistake:
            errors.setdefault("", str(mistake))
    whole = not errors and bool(value.boxes)
    return Checked(errors, facts, as_python(value) if value.boxes else "", whole, _coming(draft, value))


def whole_network(draft: Mapping[str, Any]) -> NetworkValue:
    """The network of a draft that fits; raises with the first thing that does not."""
    value, errors = _sound(draft)
    for name, mistake in errors.items():
        raise NetworkError(f"box {name!r}: {mistake}" if name else mistake)
    return value


def _sound(draft: Mapping[str, Any]) -> tuple[NetworkValue, dict[str, str]]:
    name, given, ways = draft.get("network"), draft.get("boxes"), draft.get("arcs")
    if (
        draft.get("format") != FORMAT
        or not isinstance(name, str)
        or not isinstance(given, list)
        or not isinstance(ways, list)
    ):
        raise NetworkError(f"expected a network of format {FORMAT}: network, boxes, arcs")
    if len(given) > MOST_BOXES:
        raise NetworkError(f"expected at most {MOST_BOXES:,} boxes, got {len(given):,}")
    errors: dict[str, str] = {}
    made: dict[str, Box] = {}
    for data in given:
        own = str(data.get("name", "")) if isinstance(data, dict) else ""
        try:
            if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
                raise NetworkError(f"expected a box with a kind and a name, got {data!r}")
            if own in made:
                raise NetworkError(f"two boxes are named {own!r}; give one another name")
            made[own] = box_from_data(data)
            made[own].inputs, made[own].outputs
        except ArterialError as mistake:
            errors[own] = str(mistake)
            made.pop(own, None)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as mistake:
            errors[own] = _in_words(mistake)
            made.pop(own, None)
    arcs: dict[Port, Port] = {}
    for way in ways:
        try:
            begin, end = (Port(*str(part).rpartition(".")[::2]) for part in way)
        except (TypeError, ValueError):
            errors[""] = f"expected an arc as [begin, end], got {way!r}"
            continue
        if end in arcs:
            errors.setdefault(end.box, f"input {end.port!r} has two arcs; put a union before it")
        arcs[end] = begin
    value = _fitted(name, made, arcs, errors)
    return replace(value, groups=_groups(draft.get("groups"), {box.name for box in value.boxes})), errors


def _coming(draft: Mapping[str, Any], value: NetworkValue) -> dict[str, list[str]]:
    """The columns that come to each box, also to one that does not fit: it is the one that is being edited."""
    found: dict[str, set[str]] = {}
    for way in draft["arcs"]:
        if not isinstance(way, list) or len(way) != 2:
            continue
        begin, end = (Port(*str(part).rpartition(".")[::2]) for part in way)
        if begin in value.streams:
            found.setdefault(end.box, set()).update(value.streams[begin].schema.names)
    return {box: sorted(names) for box, names in found.items()}


def _fitted(name: str, made: Mapping[str, Box], arcs: Mapping[Port, Port], errors: dict[str, str]) -> NetworkValue:
    value = NetworkValue(name)
    left = dict(made)
    while True:
        ready = None
        for own, box in left.items():
            feeding = [arcs.get(Port(own, port)) for port in box.inputs]
            if all(begin is not None and begin.box not in left for begin in feeding):
                ready = own
                break
        if ready is None:
            break
        box = left.pop(ready)
        begins = {port: arcs[Port(ready, port)] for port in box.inputs}
        unsound = sorted({begin.box for begin in begins.values() if begin.box in errors or begin.box not in made})
        if unsound:
            errors.setdefault(ready, f"it is fed by {', '.join(unsound)}, which is not ready")
            continue
        try:
            more = tuple(Arc(begin, Port(ready, port)) for port, begin in begins.items())
            value = NetworkValue(name, (*value.boxes, box), (*value.arcs, *more))
        except ArterialError as mistake:
            errors.setdefault(ready, _without_place(str(mistake)))
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as mistake:
            errors.setdefault(ready, _in_words(mistake))
    for own, box in left.items():
        missing = [port for port in box.inputs if Port(own, port) not in arcs]
        waits = "it waits for a box that is not ready, or for itself"
        errors.setdefault(own, f"nothing comes to {', '.join(missing)}" if missing else waits)
    return value


def _groups(given: Any, known: set[str]) -> dict[str, tuple[str, ...]]:
    """The groups, without boxes that do not fit."""
    if not isinstance(given, dict):
        return {}
    found = {
        str(name): tuple(box for box in boxes if box in known)
        for name, boxes in given.items()
        if isinstance(boxes, list)
    }
    return {name: boxes for name, boxes in found.items() if boxes}


def _without_place(message: str) -> str:
    """The page shows a mistake at its box, so its name need not be said again."""
    return re.sub(r"^network '[^']*', box '[^']*'( \(fed by [^)]*\))?: ", "", message)


def _in_words(mistake: Exception) -> str:
    text = str(mistake)
    missing = re.search(r"missing \d+ required positional arguments?: (.*)", text)
    if missing:
        return f"it needs {missing[1]}"
    return f"an argument does not fit: {text}"


def _bare(kind: type[Box]) -> Box:
    """A box of a kind with nothing but defaults, for its ports."""
    bare = object.__new__(kind)
    for one in dataclasses.fields(kind):
        value = None if one.default is dataclasses.MISSING else one.default
        object.__setattr__(bare, one.name, 2 if value is None and one.type in ("int", int) else value)
    return bare


def _plain(value: Any) -> Any:
    if value is dataclasses.MISSING or value is None:
        return None
    return list(value) if isinstance(value, tuple) else value if isinstance(value, str | int | float | bool) else None


def _parameter_texts(kind: type[Box]) -> dict[str, str]:
    """What the docstring says of each parameter."""
    _, _, part = inspect.cleandoc(kind.__doc__ or "").partition("Parameters:\n")
    found: dict[str, str] = {}
    name = ""
    for line in part.splitlines():
        if not line.strip() or line.startswith(">>>"):
            break
        if (begun := re.match(r"    (\w+): (.*)", line)) is not None:
            name = begun[1]
            found[name] = begun[2]
        elif name:
            found[name] += f" {line.strip()}"
    return found
