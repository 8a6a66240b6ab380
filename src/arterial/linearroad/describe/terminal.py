"""Pictures for a terminal: a curve in braille dots and a heat map in blocks; without colours, in shades of grey."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.color import Color
from rich.style import Style
from rich.text import Text

from arterial.report.colours import AMOUNT_COLOURS, SPEED_COLOURS

# The bit of each dot of a braille sign, from the lowest row up, left and right column.
DOTS = ((0x40, 0x80), (0x04, 0x20), (0x02, 0x10), (0x01, 0x08))
SHADES = " .:░▒▓█"

Colours = Sequence[tuple[float, str]]


def curve(values: NDArray[np.float64], *, width: int = 72, height: int = 8, unit: str = "", span: str = "") -> Text:
    """The values as a filled curve with its scale; `span` is what the width stands for.

    >>> print(curve(np.array([0.0, 1, 2, 3, 4, 5, 6, 7]), width=4, height=2, unit="/s").plain)
       7/s ⠀⠀⣠⣾
         0 ⢠⣾⣿⣿
    """
    columns = _means(values, 2 * width)
    top = float(columns.max()) if columns.size else 0.0
    levels = np.ceil(columns / top * 4 * height).astype(int) if top > 0 else np.zeros(2 * width, int)
    rows = []
    for row in reversed(range(height)):
        signs = [
            sum(
                DOTS[dot][side]
                for dot in range(4)
                for side in (0, 1)
                if levels[2 * place + side] > 4 * row + dot
            )
            for place in range(width)
        ]  # fmt: skip
        label = f"{top:,.0f}{unit}" if row == height - 1 else "0" if row == 0 else ""
        rows.append(Text.assemble((f"{label:>6} ", "dim"), ("".join(chr(0x2800 + sign) for sign in signs), "#4d8fe8")))
    if span:
        rows.append(Text(" " * 7 + span, style="dim"))
    return Text("\n").join(rows)


def heat_map(
    values: NDArray[np.float64], low: float, high: float, colours: Colours, *, width: int = 72, height: int = 20,
    colour: bool = True, dark_is_low: bool = False,
) -> Text:  # fmt: skip
    """Rows of cells from bottom to top; two rows a line in colour, one in shades; NaN stays empty."""
    cells = _cells(values, 2 * height if colour else height, width)
    scaled = np.clip((cells - low) / max(high - low, 1e-9), 0, 1)
    lines = []
    if not colour:
        for row in scaled[::-1]:
            shades = (1 - row if dark_is_low else row) * (len(SHADES) - 2) + 1
            lines.append(Text("".join(SHADES[0 if np.isnan(shade) else round(shade)] for shade in shades)))
        return Text("\n").join(lines)
    for upper, lower in zip(scaled[::-1][::2], scaled[::-1][1::2], strict=True):
        line = Text()
        for above, below in zip(upper, lower, strict=True):
            line.append(*_half_blocks(above, below, colours))
        lines.append(line)
    return Text("\n").join(lines)


def speed_map(lav: NDArray[np.float64], *, width: int, height: int, colour: bool) -> Text:
    """LAV from 0 to 100 mph, slow is red (or dark)."""
    low, high = (0, 100) if colour else (10, 70)
    return heat_map(lav, low, high, SPEED_COLOURS, width=width, height=height, colour=colour, dark_is_low=True)


def toll_map(toll: NDArray[np.float64], *, width: int, height: int, colour: bool) -> Text:
    """Tolls above 0, on a scale of logarithms because they differ by thousands."""
    with np.errstate(divide="ignore"):
        logs = np.where(toll > 0, np.log10(np.maximum(toll, 1)), np.nan)
    top = float(np.nanmax(logs)) if (toll > 0).any() else 1.0
    return heat_map(logs, 0, top, AMOUNT_COLOURS, width=width, height=height, colour=colour)


def _half_blocks(above: float, below: float, colours: Colours) -> tuple[str, Style | None]:
    upper, lower = (None if np.isnan(value) else Color.parse(_colour(value, colours)) for value in (above, below))
    if upper is None and lower is None:
        return " ", None
    if upper is None:
        return "▄", Style(color=lower)
    return "▀", Style(color=upper, bgcolor=lower)


def _colour(value: float, colours: Colours) -> str:
    places = [place for place, _ in colours]
    parts = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for _, colour in colours])
    red, green, blue = (round(float(np.interp(value, places, parts[:, channel]))) for channel in range(3))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _means(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The values brought to `count` of them, each the mean of its share."""
    edges = np.linspace(0, len(values), count + 1)
    whole = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    below = np.interp(edges, np.arange(len(whole)), whole)
    means: NDArray[np.float64] = np.diff(below) / max(len(values) / count, 1e-9)
    return means


def _cells(values: NDArray[np.float64], rows: int, columns: int) -> NDArray[np.float64]:
    """A picture of `rows` × `columns`, each cell the mean of the values that it covers; NaN if there are none."""
    row_of = np.arange(values.shape[0]) * rows // values.shape[0]
    column_of = np.arange(values.shape[1]) * columns // values.shape[1]
    if values.shape[0] < rows or values.shape[1] < columns:
        up = np.arange(rows) * values.shape[0] // rows if values.shape[0] < rows else np.arange(values.shape[0])
        across = (
            np.arange(columns) * values.shape[1] // columns if values.shape[1] < columns else np.arange(values.shape[1])
        )
        return _cells(values[up][:, across], rows, columns)
    known = ~np.isnan(values)
    sums, counts = np.zeros((rows, columns)), np.zeros((rows, columns))
    places = (np.broadcast_to(row_of[:, None], values.shape), np.broadcast_to(column_of[None, :], values.shape))
    np.add.at(sums, places, np.where(known, values, 0))
    np.add.at(counts, places, known)
    with np.errstate(invalid="ignore"):
        cells: NDArray[np.float64] = sums / counts
    return cells
