"""Draws a network as an SVG: a box stands right of all that feed it, boxes of one column in the order of short arcs.

Nothing but text comes out, so it can be put into any page, also into a notebook beside other pictures.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from arterial.errors import plain
from arterial.network.box import Box
from arterial.network.network import Arc, NetworkValue

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 150, 46, 70, 26, 40
_GROUP_TINT = "#e0f2fe"
_STYLE = """
.arterial text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2937; text-anchor: middle; }
.arterial text.kind { font-size: 10px; fill: #6b7280; }
.arterial text.place { font-size: 10px; fill: #6b7280; text-anchor: start; }
.arterial rect.box { fill: #ffffff; stroke: #475569; rx: 6; } .arterial rect.box.state { stroke-width: 2.5; }
.arterial rect.end { fill: #f1f5f9; }
.arterial path.arc { fill: none; stroke: #64748b; stroke-width: 1.4; marker-end: url(#tip); }
.arterial path.shuffle { stroke-dasharray: 6 4; stroke: #b45309; }
"""


@dataclass(frozen=True)
class Area:
    """A shaded area behind some boxes, with a label."""

    label: str
    boxes: tuple[str, ...]
    tint: str


def svg(
    network: NetworkValue, areas: Sequence[Area] = (), dashed: Collection[Arc] = (), group: str | None = None
) -> str:
    """The network as an SVG picture; the `dashed` arcs are those that cross a shuffle.

    With `group`, only that composed box: its parts, and the boxes before and behind them.
    """
    arcs, boxes = network.arcs, network.boxes
    if group is not None:
        parts_of = set(network.groups[group])
        arcs = tuple(arc for arc in arcs if {arc.begin.box, arc.end.box} & parts_of)
        near = parts_of.union(*({arc.begin.box, arc.end.box} for arc in arcs))
        boxes = tuple(box for box in boxes if box.name in near)
        areas = [Area(group, network.groups[group], _GROUP_TINT)]
    spots = _layout([box for box in network.order if box in boxes], arcs)
    width = max((spot.x for spot in spots.values()), default=0) + _WIDTH + _MARGIN
    height = max((spot.y for spot in spots.values()), default=0) + _HEIGHT + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="arterial" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}">',
        f"<title>{_shown(network.name)}</title><style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#64748b"/></marker></defs>',
    ]
    parts += [_area(area, spots) for area in areas]
    for arc in arcs:
        kind = "arc shuffle" if arc in dashed else "arc"
        parts.append(_curve(spots[arc.begin.box], spots[arc.end.box], kind, str(arc)))
    parts += [_drawn(box, spots[box.name]) for box in boxes]
    return "\n".join([*parts, "</svg>"])


@dataclass(frozen=True)
class _Spot:
    x: float
    y: float


def _layout(order: Sequence[Box], arcs: Collection[Arc]) -> dict[str, _Spot]:
    """Columns by the longest way from a source; rows by the middle of what feeds a box."""
    above = {box.name: [arc.begin.box for arc in arcs if arc.end.box == box.name] for box in order}
    column: dict[str, int] = {}
    for box in order:
        column[box.name] = max((column[name] + 1 for name in above[box.name]), default=0)
    row: dict[str, float] = {}
    taken: dict[int, list[float]] = {}
    for box in order:
        rows = [row[name] for name in above[box.name]]
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


def _area(area: Area, spots: dict[str, _Spot]) -> str:
    xs = [spots[name].x for name in area.boxes]
    ys = [spots[name].y for name in area.boxes]
    x, y = min(xs) - 14, min(ys) - 20
    width, height = max(xs) - min(xs) + _WIDTH + 28, max(ys) - min(ys) + _HEIGHT + 34
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="12" fill="{area.tint}" '
        f'fill-opacity="0.75"/><text class="place" x="{x + 8:g}" y="{y + 13:g}">{_shown(area.label)}</text>'
    )


def _drawn(box: Box, spot: _Spot) -> str:
    kind = (
        "box" + ("" if box.stateless or not box.inputs else " state") + ("" if box.inputs and box.outputs else " end")
    )
    middle = spot.x + _WIDTH / 2
    return (
        f'<rect class="{kind}" x="{spot.x:g}" y="{spot.y:g}" width="{_WIDTH}" height="{_HEIGHT}"/>'
        f'<text x="{middle:g}" y="{spot.y + 21:g}">{_shown(_short(box.name))}<title>{_shown(box.name)}</title></text>'
        f'<text class="kind" x="{middle:g}" y="{spot.y + 36:g}">{_shown(box.kind.replace("_", " "))}</text>'
    )


def _curve(begin: _Spot, end: _Spot, kind: str, title: str) -> str:
    x1, y1 = begin.x + _WIDTH, begin.y + _HEIGHT / 2
    x2, y2 = end.x, end.y + _HEIGHT / 2
    bend = max(30.0, (x2 - x1) / 2)
    way = f"M{x1:g},{y1:g} C{x1 + bend:g},{y1:g} {x2 - bend:g},{y2:g} {x2:g},{y2:g}"
    return f'<path class="{kind}" d="{way}"><title>{_shown(title)}</title></path>'


def _shown(text: str) -> str:
    return escape(plain(text))


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"
