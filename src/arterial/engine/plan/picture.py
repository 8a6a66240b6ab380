"""Draws a compiled network: Mermaid text, or an SVG in which superboxes stand as shaded areas, level by level.

The SVG is laid out by ourselves: a box stands right of all that feed it, and boxes of one column are put in the order
that keeps arcs short. Nothing but text comes out, so it can be put into any page.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from arterial.engine.plan.plan import Plan, Superbox
from arterial.network.box import Box

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 150, 46, 70, 26, 40
_TINTS = ("#eef2f7", "#e6f4ea", "#fdf1dc", "#f3e8fd", "#fde8e8", "#e3f2fd")
_STYLE = """
text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2937; text-anchor: middle; }
text.kind { font-size: 10px; fill: #6b7280; } text.place { font-size: 10px; fill: #6b7280; text-anchor: start; }
rect.box { fill: #ffffff; stroke: #475569; rx: 6; } rect.box.state { stroke-width: 2.5; }
rect.end { fill: #f1f5f9; } path.arc { fill: none; stroke: #64748b; stroke-width: 1.4; marker-end: url(#tip); }
path.shuffle { stroke-dasharray: 6 4; stroke: #b45309; }
"""


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


def svg(plan: Plan) -> str:
    """The network as an SVG picture."""
    spots = _layout(plan)
    width = max(spot.x for spot in spots.values()) + _WIDTH + _MARGIN
    height = max(spot.y for spot in spots.values()) + _HEIGHT + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(plan.network.name)}</title><style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#64748b"/></marker></defs>',
    ]
    parts += [_area(superbox, spots) for superbox in _superboxes(plan)]
    for arc in plan.network.arcs:
        begin, end = spots[arc.begin.box], spots[arc.end.box]
        kind = "arc shuffle" if _crosses(plan, arc.begin.box, arc.end.box) else "arc"
        parts.append(_curve(begin, end, kind, f"{arc.begin} → {arc.end}"))
    parts += [_drawn(box, spots[box.name]) for box in plan.network.boxes]
    return "\n".join([*parts, "</svg>"])


@dataclass(frozen=True)
class _Spot:
    x: float
    y: float


def _layout(plan: Plan) -> dict[str, _Spot]:
    """Columns by the longest way from a source; rows by the middle of what feeds a box."""
    network = plan.network
    column: dict[str, int] = {}
    for box in network.order:
        above = [begin.box for begin in network.arrivals(box).values()]
        column[box.name] = max((column[name] + 1 for name in above), default=0)
    row: dict[str, float] = {}
    taken: dict[int, list[float]] = {}
    for box in network.order:
        rows = [row[begin.box] for begin in network.arrivals(box).values()]
        wanted = sum(rows) / len(rows) if rows else float(len(taken.get(0, [])))
        used = taken.setdefault(column[box.name], [])
        while any(abs(wanted - other) < 1 for other in used):
            wanted += 1
        used.append(wanted)
        row[box.name] = wanted
    top = min(row.values(), default=0.0)
    return {
        name: _Spot(_MARGIN + column[name] * (_WIDTH + _GAP_X), _MARGIN + (row[name] - top) * (_HEIGHT + _GAP_Y))
        for name in row
    }


def _area(superbox: Superbox, spots: dict[str, _Spot]) -> str:
    xs = [spots[box.name].x for box in superbox.boxes]
    ys = [spots[box.name].y for box in superbox.boxes]
    x, y = min(xs) - 14, min(ys) - 20
    width, height = max(xs) - min(xs) + _WIDTH + 28, max(ys) - min(ys) + _HEIGHT + 34
    tint = _TINTS[(superbox.level + 1) % len(_TINTS)]
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="12" fill="{tint}" fill-opacity="0.75"/>'
        f'<text class="place" x="{x + 8:g}" y="{y + 13:g}">{escape(superbox.place)}</text>'
    )


def _drawn(box: Box, spot: _Spot) -> str:
    kind = (
        "box" + ("" if box.stateless or not box.inputs else " state") + ("" if box.inputs and box.outputs else " end")
    )
    middle = spot.x + _WIDTH / 2
    return (
        f'<rect class="{kind}" x="{spot.x:g}" y="{spot.y:g}" width="{_WIDTH}" height="{_HEIGHT}"/>'
        f'<text x="{middle:g}" y="{spot.y + 21:g}">{escape(_short(box.name))}<title>{escape(box.name)}</title></text>'
        f'<text class="kind" x="{middle:g}" y="{spot.y + 36:g}">{escape(box.kind.replace("_", " "))}</text>'
    )


def _curve(begin: _Spot, end: _Spot, kind: str, title: str) -> str:
    x1, y1 = begin.x + _WIDTH, begin.y + _HEIGHT / 2
    x2, y2 = end.x, end.y + _HEIGHT / 2
    bend = max(30.0, (x2 - x1) / 2)
    way = f"M{x1:g},{y1:g} C{x1 + bend:g},{y1:g} {x2 - bend:g},{y2:g} {x2:g},{y2:g}"
    return f'<path class="{kind}" d="{way}"><title>{escape(title)}</title></path>'


def _superboxes(plan: Plan) -> list[Superbox]:
    return [superbox for level in (plan.head, *plan.levels) for superbox in level.superboxes]


def _crosses(plan: Plan, begin: str, end: str) -> bool:
    return not any({begin, end} <= {box.name for box in superbox.boxes} for superbox in _superboxes(plan))


def _shape(box: Box) -> str:
    name = f'"{_quoted(box.name)}<br><small>{_quoted(box.kind.replace("_", " "))}</small>"'
    return f"([{name}])" if not (box.inputs and box.outputs) else f"[{name}]"


def _quoted(text: str) -> str:
    return escape(text, quote=True).replace("&quot;", "#quot;")


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"
