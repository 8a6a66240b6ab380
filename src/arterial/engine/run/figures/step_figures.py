"""The reports of all tasks of a step become its figures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from arterial.connectors.tables.source import first_instant
from arterial.engine.plan.plan import Plan
from arterial.figures.step import BoxFigures, OutputFigures, SlotFigures, SourceFigures, StepFigures
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.schema import Type
from arterial.network.train import BEGIN, END

Report = Mapping[str, Any]
"""What a task says of one slot of one level, in one step."""


class Delays:
    """From when the delay of each output counts: it knows the sources and the arcs before it."""

    def __init__(self, network: NetworkValue) -> None:
        before: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        for box in network.order:
            sources, arcs = (frozenset({box.name}) if not box.inputs else frozenset()), frozenset[str]()
            for port, begin in network.arrivals(box).items():
                above = before[begin.box]
                sources |= above[0]
                arcs |= above[1] | {str(Arc(begin, Port(box.name, port)))}
            before[box.name] = (sources, arcs)
        self._before = before

    def arrived(self, output: str, born: float, waited: Mapping[str, float], oldest: Mapping[str, float]) -> float:
        """When the oldest tuple of a step that an output may go back to arrived, in seconds since 1970."""
        sources, arcs = self._before[output]
        read = born - max((waited.get(source) or 0.0 for source in sources), default=0.0)
        return min([read, *(since for arc, since in oldest.items() if arc in arcs)])


def figures_of(
    plan: Plan, delays: Delays, reports: Sequence[Report], seconds: float, driven: Mapping[str, float] | None = None
) -> StepFigures:
    """The figures of a step that took so many seconds.

    `driven` says when the driver was done with the outputs that it writes itself, in seconds since 1970.
    """
    sums: dict[str, tuple[dict[str, int], dict[str, int], list[float]]] = {}
    slots: list[SlotFigures] = []
    shed: dict[str, int] = {}
    unread: dict[str, int] = {}
    held: dict[str, int] = {}
    oldest: dict[str, float] = {}
    delivered: dict[str, float] = dict(driven or {})
    values: dict[str, dict[str, int]] = {}
    reached: Report = {}
    outputs = {box.name for box in plan.outputs}
    names = {box.name for box in plan.network.boxes}
    for report in reports:
        for name, (tuples_in, tuples_out, cost) in report["boxes"].items():
            came, went, spent = sums.setdefault(name, ({}, {}, [0.0]))
            _add(came, tuples_in)
            _add(went, tuples_out)
            spent[0] += cost
            if name in outputs and report["at"] > delivered.get(name, 0.0):
                delivered[name] = report["at"]
        _add(shed, report.get("shed", {}))
        _add(held, report.get("held", {}))
        _add(unread, report.get("unread", {}))
        for arc, since in report.get("oldest", {}).items():
            oldest[arc] = min(since, oldest.get(arc, since))
        for output, counted in report.get("values", {}).items():
            _add(values.setdefault(output, {}), counted)
        if "through" in report:
            reached = report
        slots.append(_slot(report, names))
    first = reports[0]
    boxes = {name: BoxFigures(came, went, spent[0]) for name, (came, went, spent) in sums.items()}
    waited = reached.get("waited", {})
    made = {}
    for name in outputs & boxes.keys():
        tuples = sum(boxes[name].tuples_in.values())
        arrived = delays.arrived(name, first["born"], waited, oldest)
        made[name] = OutputFigures(tuples, max(0.0, delivered[name] - arrived) if tuples else 0.0, values.get(name, {}))
    return StepFigures(
        first["step"],
        first["version"],
        first["born"],
        seconds,
        boxes,
        tuple(sorted(slots, key=lambda slot: (slot.level, slot.slot))),
        {box.name: _source(box.name, boxes.get(box.name), reached, unread.get(box.name)) for box in plan.sources},
        dict(sorted(made.items())),
        shed,
        {arc: number for arc, number in held.items() if number},
        sum(report["rejects"] for report in reports),
        first.get("in_turn", False),
    )


def _slot(report: Report, boxes: Collection[str]) -> SlotFigures:
    return SlotFigures(
        report["level"],
        report["slot"],
        report["seconds"],
        {name: cost for name, (_, _, cost) in report["boxes"].items() if cost},
        report.get("state_read", 0),
        report.get("state_written", 0),
        report.get("state_bytes", 0),
        {box: held for owner, held in report.get("state", {}).items() if (box := owner.partition("/")[0]) in boxes},
    )


_NO_TIMES = (None, BEGIN, END, *map(first_instant, (Type.INT64, Type.TIMESTAMP)))
"""How far a source is that has not begun or has ended, or is a table, whose rows hold from the beginning of time."""


def _source(name: str, box: BoxFigures | None, reached: Report, unread: int | None) -> SourceFigures:
    through = reached.get("through", {}).get(name)
    return SourceFigures(
        (sum(box.tuples_out.values()) if box else 0) + (unread or 0),
        reached.get("waiting", {}).get(name),
        reached.get("waited", {}).get(name) or 0.0,
        None if through in _NO_TIMES else through,
        reached.get("share", {}).get(name),
        unread,
    )


def _add(total: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, number in counts.items():
        total[name] = total.get(name, 0) + number
