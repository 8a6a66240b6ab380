"""Figures of the kinds that reports need, in one style; `Page.plot` puts them into a page.

No function here touches matplotlib's global state, so figures may be made anywhere.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from arterial.report.colours import BAD, CARD, GRID, INK, LINE, MUTED, SERIES, VARIABLES, amount_colours

WIDE = (10.0, 3.4)
HALF = (5.4, 3.4)

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "arterial",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=SERIES),
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "grid.color": GRID,
    "grid.linewidth": 0.9,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "patch.edgecolor": CARD,
}


@contextmanager
def new_figure(size: tuple[float, float] = WIDE) -> Iterator[tuple[Figure, Any]]:
    """A figure of our style and its axes, to be drawn on inside the block."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        yield figure, figure.add_subplot()


def lines(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    x: str,
    y: str,
    limits: Mapping[str, float] | None = None,
    fill: bool = False,
    size: tuple[float, float] = WIDE,
) -> Figure:
    """Curves, each with its name; `limits` are named horizontal lines, `fill` shades under the first curve."""
    with new_figure(size) as (figure, axes):
        for name, (xs, ys) in series.items():
            axes.plot(xs, ys, label=name)
        if fill and series:
            xs, ys = next(iter(series.values()))
            axes.fill_between(xs, ys, color=SERIES[0], alpha=0.14, linewidth=0)
        for name, value in (limits or {}).items():
            axes.axhline(value, color=BAD, linewidth=1.3, linestyle=(0, (5, 3)), label=name)
        axes.margins(x=0.01, y=0.06)
        axes.set_ylim(bottom=0)
        _labels(axes, x, y)
        _legend(figure, len(series) + len(limits or {}))
    return figure


def heat_map(
    values: ArrayLike,
    *,
    x: str,
    y: str,
    label: str,
    extent: tuple[float, float, float, float],
    colours: Any = None,
    low: float | None = None,
    high: float | None = None,
    logarithmic: bool = False,
) -> Figure:
    """A value for every cell, rows from bottom to top; `extent` is (left, right, bottom, top); NaN stays empty."""
    with new_figure(WIDE) as (figure, axes):
        picture = axes.imshow(
            np.ma.masked_invalid(np.asarray(values, float)),
            aspect="auto",
            origin="lower",
            extent=extent,
            cmap=colours or amount_colours(),
            norm=LogNorm(low, high) if logarithmic else Normalize(low, high),
            interpolation="nearest",
        )
        axes.grid(False)
        bar = figure.colorbar(picture, ax=axes, pad=0.015, aspect=24)
        bar.set_label(label, color=MUTED)
        bar.outline.set_visible(False)
        bar.ax.yaxis.set_major_formatter(FuncFormatter(_short))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        _labels(axes, x, y)
    return figure


def histogram(
    edges: ArrayLike,
    counts: Mapping[str, ArrayLike],
    *,
    x: str,
    y: str,
) -> Figure:
    """Counts between edges, several as steps over each other."""
    with new_figure(HALF) as (figure, axes):
        for place, (name, values) in enumerate(counts.items()):
            first = place == 0
            axes.stairs(
                np.asarray(values),
                np.asarray(edges),
                fill=first,
                alpha=0.85 if first else 1,
                label=name,
                color=SERIES[place],
                linewidth=1.8,
            )
        axes.margins(x=0.01)
        axes.set_ylim(bottom=0)
        _labels(axes, x, y)
        _legend(figure, len(counts))
    return figure


def bars(
    names: Sequence[str],
    values: Mapping[str, ArrayLike],
    *,
    y: str,
    x: str = "",
    limits: Mapping[str, float] | None = None,
    size: tuple[float, float] = HALF,
) -> Figure:
    """A bar for every name, side by side for several values."""
    with new_figure(size) as (figure, axes):
        places = np.arange(len(names))
        width = 0.72 / max(len(values), 1)
        for place, (label, heights) in enumerate(values.items()):
            offset = (place - (len(values) - 1) / 2) * width
            drawn = axes.bar(
                places + offset, np.asarray(heights, float), width * 0.94, label=label, color=SERIES[place]
            )
            if len(names) * len(values) <= 12:
                axes.bar_label(drawn, fmt=lambda value: _short(value), fontsize=9, color=MUTED, padding=2)
        for label, value in (limits or {}).items():
            axes.axhline(value, color=BAD, linewidth=1.3, linestyle=(0, (5, 3)), label=label)
        axes.set_xticks(places, names)
        axes.grid(axis="x", visible=False)
        axes.tick_params(axis="x", length=0, labelcolor=INK)
        axes.margins(y=0.12)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.yaxis.set_major_formatter(FuncFormatter(_short))
        _legend(figure, len(values) + len(limits or {}))
    return figure


def svg_of(figure: Figure, *, prefix: str = "", colours: Mapping[str, str] | None = None) -> str:
    """A figure as inline SVG, its colours variables of the page, or taken from `colours` by the variables' names."""
    store = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(store, format="svg", metadata={"Date": None, "Creator": None})
    svg = store.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r'(<svg[^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1), count=1
    )
    for stand_in, variable in VARIABLES.items():
        svg = svg.replace(stand_in, colours[variable] if colours else f"var({variable})")
    # Ids are of the whole page, so those of one figure must not meet another's.
    return re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{prefix}", svg)


def _legend(figure: Figure, names: int) -> None:
    """The names above the axes, where no curve can hide them; a single one needs none."""
    if names > 1:
        figure.legend(loc="outside upper left", ncols=names, fontsize=9.5, borderaxespad=0)


def _labels(axes: Any, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if "minute" in x:
        axes.xaxis.set_major_locator(MaxNLocator(9, steps=[1, 1.5, 2, 3, 6, 10], integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(FuncFormatter(_short))


def _short(value: float, _: object = None) -> str:
    """A number for an axis.

    >>> _short(1500000), _short(250000), _short(12000), _short(0.25)
    ('1.5 M', '250 k', '12,000', '0.25')
    """
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= max(size, 1e5):
            return f"{value / size:.3g}{unit}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
