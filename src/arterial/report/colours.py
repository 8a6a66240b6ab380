"""The colours of plots. A figure is drawn with stand-ins, so that its SVG can follow the page from light to dark."""

from __future__ import annotations

from typing import Any

from matplotlib.colors import LinearSegmentedColormap

# Stand-ins that no plot would choose by itself; each becomes a variable of page.css.
INK, MUTED, LINE, GRID, CARD = "#010a01", "#010a02", "#010a03", "#010a04", "#010a05"
SERIES = ("#010b01", "#010b02", "#010b03", "#010b04", "#010b05", "#010b06")
GOOD, BAD = "#010c01", "#010c02"

VARIABLES = {
    INK: "--ink", MUTED: "--muted", LINE: "--line", GRID: "--grid", CARD: "--card", GOOD: "--good", BAD: "--bad",
    **{stand_in: f"--s{place}" for place, stand_in in enumerate(SERIES, start=1)},
}  # fmt: skip

# Slow is red, the toll threshold pale, fast blue: colour-blind readers can distinguish them, too.
SPEED_COLOURS = [(0.0, "#8f1027"), (0.2, "#d9483b"), (0.4, "#f6d77a"), (0.6, "#8ec3dd"), (1.0, "#2a5fa8")]
AMOUNT_COLOURS = [(0.0, "#fbe3a2"), (0.35, "#f59b47"), (0.7, "#c93c5b"), (1.0, "#5b1a6e")]


def speed_colours() -> Any:
    """Colours for speeds from 0 to 100 mph; 40 is the pale middle."""
    return LinearSegmentedColormap.from_list("speeds", SPEED_COLOURS)


def amount_colours() -> Any:
    """Colours for amounts from little to much; what is masked stays empty."""
    return LinearSegmentedColormap.from_list("amounts", AMOUNT_COLOURS)
