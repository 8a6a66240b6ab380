"""The arcs of a running network as plain facts in a file, so that any process can check what is asked of one.

A command names an arc as `box`, `box.port` or `a → b`; a predicate must fit its columns; not every arc may be thinned
or held. All that is said when the command is given, and the run never sees what was refused.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arterial.errors import NetworkError, RunError
from arterial.storage.place import put_in_place

if TYPE_CHECKING:
    from arterial.engine.plan.plan import Plan
    from arterial.figures.steering import Drop

ARCS_FILE = "arcs.json"


@dataclass(frozen=True)
class ArcTraits:
    """What others must know of an arc."""

    name: str
    """`str(Arc)`: "begin.port → end.port"."""
    columns: Mapping[str, str]
    """The types of its stream's columns."""
    time: str
    """The column that is its time."""
    no_shed: str | None = None
    """Why nothing may be left out on it; None: it may."""
    groups: tuple[str, ...] = ()
    """Where no single tuples may be left out: the columns by which whole groups may; none: they may not either."""
    no_hold: str | None = None
    """Why its tuples cannot wait; None: they can."""
    no_overflow: str | None = None
    """Why what is left out on it could not be settled later; None: it can."""

    @property
    def begin(self) -> str:
        """The port at which it begins."""
        return self.name.partition(" → ")[0]

    @property
    def end(self) -> str:
        """The port at which it ends."""
        return self.name.partition(" → ")[2]


def arcs_of(plan: Plan) -> dict[str, ArcTraits]:
    """All arcs of a plan's network, by name."""
    from arterial.engine.plan.plan import HEAD
    from arterial.network.thinned import groups_to_leave_out, why_not_held, why_not_settled, why_not_thinned

    network = plan.network
    facts = {}
    for arc in network.arcs:
        stream = network.streams[arc.begin]
        no_hold = why_not_held(network, arc)
        if no_hold is None and plan.level_of(arc.end.box) == HEAD:
            no_hold = f"box {arc.end.box!r} runs where the source is read, and nothing can wait there"
        columns = {column.name: str(column.type) for column in stream.schema}
        no_shed, no_overflow = why_not_thinned(network, arc), why_not_settled(network, arc)
        groups = groups_to_leave_out(network, arc) or () if no_shed else ()
        facts[str(arc)] = ArcTraits(str(arc), columns, stream.time, no_shed, groups, no_hold, no_overflow)
    return facts


def write_arcs(folder: Path, plan: Plan) -> dict[str, ArcTraits]:
    """Say what arcs the version that runs has."""
    facts = arcs_of(plan)
    put_in_place(folder / ARCS_FILE, json.dumps([asdict(arc) for arc in facts.values()]))
    return facts


def read_arcs(folder: Path) -> dict[str, ArcTraits]:
    """The arcs of the run whose folder it is."""
    path = folder / ARCS_FILE
    try:
        facts = [ArcTraits(**said) for said in json.loads(path.read_text())]
    except FileNotFoundError:
        raise RunError(f"{folder.parent}: no run that can be steered is there; expected a {ARCS_FILE} in it") from None
    except (ValueError, TypeError) as broken:
        raise RunError(f"{path}: is damaged ({broken}); the next start of the run writes it again") from None
    return {arc.name: arc for arc in facts}


def with_gone(arcs: Mapping[str, ArcTraits], names: Iterable[str]) -> dict[str, ArcTraits]:
    """The arcs, and those that only commands in force still name: the network had them when these were given."""
    return {**{name: ArcTraits(name, {}, "") for name in names}, **arcs}


def find_arc(text: str, arcs: Mapping[str, ArcTraits]) -> ArcTraits:
    """The arc that a user means: `a → b` or `a -> b`, each with a port or without, or a box or port with one arc only.

    A box alone means the arc into it, if it has one; else the arc out of it.
    """
    if text in arcs:
        return arcs[text]
    begin, sign, end = text.replace("->", "→").partition("→")
    begin, end = begin.strip(), end.strip()
    if sign:
        found = [arc for arc in arcs.values() if _is(begin, arc.begin) and _is(end, arc.end)]
    else:
        found = [arc for arc in arcs.values() if _is(begin, arc.end)]
        found = found or [arc for arc in arcs.values() if _is(begin, arc.begin)]
    if len(found) == 1:
        return found[0]
    if found:
        raise RunError(f"{text!r} can be any of these arcs: {_listed(arc.name for arc in found)}; name one of them")
    ports = {port: arc.name for arc in arcs.values() for port in (arc.begin, arc.end, arc.name)}
    boxes = {port.rpartition(".")[0]: name for port, name in ports.items() if " → " not in port}
    near = difflib.get_close_matches(text, {**ports, **boxes}, 3, cutoff=0.5)
    names = list(dict.fromkeys({**ports, **boxes}[name] for name in near)) or list(arcs)[:12]
    more = f" and {len(arcs) - len(names)} more" if not near and len(arcs) > len(names) else ""
    raise RunError(
        f"the network has no arc {text!r}; expected a box, a box.port or 'a → b'. "
        f"{'Near ones' if near else 'It has'}: {_listed(names)}{more}"
    )


def check_drop(arc: ArcTraits, drop: Drop) -> None:
    """Raise if tuples may not be left out there, or not so."""
    if arc.no_shed is not None and not (drop.by and set(drop.by) <= set(arc.groups) and drop.keep is None):
        columns = ", ".join(arc.groups)
        instead = f". Whole groups of {columns} may be left out (--by {columns.replace(' ', '')})" if columns else ""
        raise RunError(f"no single tuples may be left out on the arc {arc.name}: {arc.no_shed}{instead}")
    if unknown := [name for name in drop.by if name not in arc.columns]:
        raise RunError(f"arc {arc.name}: there is no column {unknown[0]!r}; its columns are: {', '.join(arc.columns)}")
    if not isinstance(drop.share, int | float) or not 0 <= drop.share <= 1:
        raise RunError(f"arc {arc.name}: the share to leave out is {drop.share!r}; expected a number from 0 to 1")
    if drop.overflow and arc.no_overflow is not None:
        raise RunError(
            f"what is left out on the arc {arc.name} could not be settled later: {arc.no_overflow}. Hold the arc "
            "instead: its tuples wait, and all are answered later; or shed without overflow"
        )
    check_predicate(arc, drop.keep)


def check_hold(arc: ArcTraits, take: int) -> None:
    """Raise if tuples cannot wait there."""
    if arc.no_hold is not None:
        raise RunError(f"the arc {arc.name} cannot be held: {arc.no_hold}")
    if not isinstance(take, int) or take < 0:
        raise RunError(f"arc {arc.name}: {take!r} tuples are to be let through; expected a number from 0 on")


def check_predicate(arc: ArcTraits, text: str | None) -> None:
    """Raise if an expression is not a condition over the columns of an arc."""
    if text is None:
        return
    from arterial.network.expression.parser import predicate
    from arterial.network.schema import Schema

    try:
        predicate(text, Schema.of(dict(arc.columns)))
    except NetworkError as mistake:
        columns = ", ".join(f"{name} {kind}" for name, kind in arc.columns.items())
        raise RunError(f"arc {arc.name}: {mistake}; its columns are: {columns}") from None


def _is(text: str, port: str) -> bool:
    return text in (port, port.rpartition(".")[0])


def _listed(names: Iterable[str]) -> str:
    return "; ".join(names)
