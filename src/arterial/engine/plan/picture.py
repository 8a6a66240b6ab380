"""Draws a compiled network: Mermaid text, or an SVG in which superboxes stand as shaded areas, level by level."""

from __future__ import annotations

from html import escape

from arterial.engine.plan.plan import Plan, Superbox
from arterial.errors import plain
from arterial.network import picture
from arterial.network.box import Box

_TINTS = ("#eef2f7", "#e6f4ea", "#fdf1dc", "#f3e8fd", "#fde8e8", "#e3f2fd")


def mermaid(plan: Plan) -> str:
    """The network as a Mermaid flowchart; superboxes are its subgraphs."""
    numbers = {box.name: f"b{n}" for n, box in enumerate(plan.network.boxes)}
    lines = ["flowchart LR"]
    for n, superbox in enumerate(_superboxes(plan)):
        lines.append(f'  subgraph s{n}["{_quoted(superbox.place)}"]')
        lines += [f"    {numbers[box.name]}{_shape(box)}" for box in superbox.boxes]
        lines.append("  end")
    for arc in plan.network.arcs:
        port = f'|"{_quoted(arc.begin.port)}"|' if arc.begin.port != "out" else ""
        sign = "-.->" if _crosses(plan, arc.begin.box, arc.end.box) else "-->"
        lines.append(f"  {numbers[arc.begin.box]} {sign}{port} {numbers[arc.end.box]}")
    return "\n".join(lines)


def svg(plan: Plan, group: str | None = None) -> str:
    """The network, or one composed box of it, as an SVG picture; dashed arcs are shuffles."""
    areas = [
        picture.Area(
            superbox.place, tuple(box.name for box in superbox.boxes), _TINTS[(superbox.level + 1) % len(_TINTS)]
        )
        for superbox in _superboxes(plan)
    ]
    dashed = {arc for arc in plan.network.arcs if _crosses(plan, arc.begin.box, arc.end.box)}
    return picture.svg(plan.network, areas, dashed, group)


def _superboxes(plan: Plan) -> list[Superbox]:
    return [superbox for level in (plan.head, *plan.levels) for superbox in level.superboxes]


def _crosses(plan: Plan, begin: str, end: str) -> bool:
    return not any({begin, end} <= {box.name for box in superbox.boxes} for superbox in _superboxes(plan))


def _shape(box: Box) -> str:
    name = f'"{_quoted(box.name)}<br><small>{_quoted(box.kind.replace("_", " "))}</small>"'
    return f"([{name}])" if not (box.inputs and box.outputs) else f"[{name}]"


def _quoted(text: str) -> str:
    return escape(plain(text), quote=True).replace("&quot;", "#quot;")
