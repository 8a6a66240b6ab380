"""A plan as plain facts for those who show it: boxes with what they do, arcs with their columns, groups, superboxes.

A run leaves it in its checkpoint. So another process can show the network without loading code of the user's.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from arterial.engine.plan.plan import Plan
from arterial.errors import NetworkError, RunError
from arterial.network.box import Box
from arterial.network.duration import LONGEST, Duration
from arterial.network.expression.function import Function
from arterial.network.network import Arc, NetworkValue
from arterial.network.relation import Relation
from arterial.network.schema import Schema
from arterial.network.serial import from_json, to_json
from arterial.network.thinned import why_not_thinned
from arterial.storage.place import put_in_place

DESCRIPTION_FILE = "network.json"
_FILLED_IN = ("name", "fed_by", "used")
_CITED = re.compile(r"\(([^()]*§[^()]*)\)")
_LONGEST = 2000
"""An argument is shown up to so many signs: a relation may have thousands of rows."""


@dataclass(frozen=True)
class BoxFacts:
    """A box, as a page shows it."""

    name: str
    kind: str
    summary: str
    """What it does, in a sentence."""
    about: str
    """The rest of what its class says of itself."""
    arguments: dict[str, str]
    inputs: list[str]
    outputs: list[str]
    stateful: bool
    superbox: str
    graphs: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """Of an output: what is asked of it, as graphs of `delay`, `share` and `value`."""
    kept: str | None = None
    """How long it keeps the tuples that pass; None: not at all."""
    connectable: bool = False
    paper: str | None = None
    """Where it comes from: a paper's name and section, as its class cites it."""


@dataclass(frozen=True)
class ArcFacts:
    """An arc, with the stream that it carries."""

    name: str
    begin: str
    begin_port: str
    end: str
    end_port: str
    columns: dict[str, str]
    time: str
    key: list[str]
    signed: bool
    shuffles: bool
    """Whether its tuples leave their superbox."""
    no_shed: str | None = None


@dataclass(frozen=True)
class SuperboxFacts:
    """Boxes that Spark runs together."""

    name: str
    place: str
    level: int
    boxes: list[str]


@dataclass(frozen=True)
class NetworkFacts:
    """A compiled network."""

    name: str
    shards: int
    boxes: list[BoxFacts]
    arcs: list[ArcFacts]
    groups: dict[str, list[str]]
    superboxes: list[SuperboxFacts]


def describe_plan(plan: Plan) -> NetworkFacts:
    """The facts of a compiled network."""
    network = plan.network
    superboxes = [superbox for level in (plan.head, *plan.levels) for superbox in level.superboxes]
    home = {box.name: superbox.name for superbox in superboxes for box in superbox.boxes}
    return NetworkFacts(
        network.name,
        plan.shards,
        [_box(box, home.get(box.name, "")) for box in network.boxes],
        [_arc(network, arc, home.get(arc.begin.box) != home.get(arc.end.box)) for arc in network.arcs],
        {name: list(boxes) for name, boxes in network.groups.items()},
        [SuperboxFacts(one.name, one.place, one.level, [box.name for box in one.boxes]) for one in superboxes],
    )


def write_description(folder: Path, plan: Plan) -> None:
    """Leave the facts of the version that runs in the folder of the run; with the network, if JSON can say it."""
    try:
        value = json.loads(to_json(plan.network))
    except NetworkError:
        value = None  # it has classes or functions of the user's own
    put_in_place(folder / DESCRIPTION_FILE, json.dumps({**asdict(describe_plan(plan)), "value": value}))


def read_network(folder: Path) -> NetworkValue:
    """The network that the run has left; no code of the user's is loaded for it."""
    value = _read(folder).get("value")
    if value is None:
        raise RunError(f"{folder.parent}: the network has boxes or functions of your own, which JSON cannot hold")
    return from_json(json.dumps(value))


def read_description(folder: Path) -> NetworkFacts:
    """The facts that the run whose folder it is has left."""
    said = _read(folder)
    try:
        return NetworkFacts(
            said["name"],
            said["shards"],
            [BoxFacts(**{**box, "graphs": _graphs(box["graphs"])}) for box in said["boxes"]],
            [ArcFacts(**arc) for arc in said["arcs"]],
            said["groups"],
            [SuperboxFacts(**superbox) for superbox in said["superboxes"]],
        )
    except (ValueError, TypeError, KeyError) as broken:
        raise RunError(
            f"{folder / DESCRIPTION_FILE}: is damaged ({broken}); the next start of the run writes it again"
        ) from None


def _read(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION_FILE
    try:
        said = json.loads(path.read_text())
        if not isinstance(said, dict):
            raise ValueError("it is not an object")
    except FileNotFoundError:
        raise RunError(
            f"{folder.parent}: the run says nothing of its network; it was made by an earlier version of arterial. "
            "Let it go on with this one, and it does"
        ) from None
    except (OSError, ValueError) as broken:
        raise RunError(f"{path}: is damaged ({broken}); the next start of the run writes it again") from None
    return said


def _graphs(said: Mapping[str, Any]) -> dict[str, list[tuple[float, float]]]:
    return {name: [(x, y) for x, y in points] for name, points in said.items()}


def said_of(kind: type[Box]) -> tuple[str, str]:
    """What a class says of itself: the first sentence, and the rest without its examples."""
    text = inspect.cleandoc(kind.__doc__ or "")
    if text.startswith(f"{kind.__name__}("):
        text = ""  # what a dataclass without a docstring is given
    summary, _, rest = text.partition("\n\n")
    return " ".join(summary.split()), rest.partition("\n>>> ")[0].strip()


def paper_of(kind: type[Box]) -> str | None:
    """The paper's section that a class cites first, in brackets.

    >>> from arterial.boxes.windows.tumble import Tumble
    >>> paper_of(Tumble)
    'Aurora §2.1, thesis §5.4.2'
    """
    found = _CITED.search(kind.__doc__ or "")
    return " ".join(found[1].split()) if found else None


def shown(value: Any) -> str:
    """An argument as people read it.

    >>> shown((("top", "max(x)"), ("n", "count(*)")))
    'top = max(x), n = count(*)'
    """
    if isinstance(value, Schema):
        text = ", ".join(f"{column.name} {column.type}" for column in value)
    elif isinstance(value, Relation):
        text = f"{value.name}, {len(value.rows):,} rows"
    elif isinstance(value, Function):
        text = value.place
    elif isinstance(value, tuple | list) and value and all(_is_pair(part) for part in value):
        text = ", ".join(f"{name} = {shown(part)}" for name, part in value)
    elif isinstance(value, tuple | list | frozenset):
        text = ", ".join(shown(part) for part in value)
    elif isinstance(value, Mapping):
        text = ", ".join(f"{name} = {shown(part)}" for name, part in value.items())
    else:
        text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_pair(part: Any) -> bool:
    return isinstance(part, tuple | list) and len(part) == 2 and isinstance(part[0], str)


def _kept_for(retention: Duration) -> str:
    if retention == LONGEST:
        return "for ever"
    return retention if isinstance(retention, str) else f"{retention} s"


def _box(box: Box, superbox: str) -> BoxFacts:
    summary, about = said_of(type(box))
    arguments, graphs = {}, {}
    for one in dataclasses.fields(box):
        value = getattr(box, one.name)
        if one.name in _FILLED_IN or value is None or value == ():
            continue
        if not box.outputs and one.name in ("delay", "share", "value"):
            graphs[one.name] = [(float(x), float(y)) for x, y in value]
        else:
            arguments[one.name] = _kept_for(value) if one.name == "retention" else shown(value)
    keeping = box.keeping
    return BoxFacts(
        box.name,
        box.kind,
        summary,
        about,
        arguments,
        list(box.inputs),
        list(box.outputs),
        not box.stateless and not box.regroups and bool(box.inputs and box.outputs),
        superbox,
        graphs,
        None if keeping is None else _kept_for(keeping.retention),
        box.connectable,
        paper_of(type(box)),
    )


def _arc(network: NetworkValue, arc: Arc, shuffles: bool) -> ArcFacts:
    stream = network.streams[arc.begin]
    return ArcFacts(
        str(arc),
        arc.begin.box,
        arc.begin.port,
        arc.end.box,
        arc.end.port,
        {column.name: str(column.type) for column in stream.schema},
        stream.time,
        list(stream.keyed_by),
        stream.signed,
        shuffles,
        why_not_thinned(network, arc),
    )
