"""Figures become SVG that follows the page's colours, the same every time."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from arterial.report import plots
from arterial.report.colours import SERIES, VARIABLES, speed_colours


def every_plot() -> list[Figure]:
    return [
        plots.lines({"a": ([0, 1], [1, 2]), "b": ([0, 1], [2, 1])}, x="minute", y="n", limits={"limit": 3}, fill=True),
        plots.heat_map(
            np.array([[1, np.nan], [3, 4]]),
            x="minute",
            y="segment",
            label="mph",
            extent=(0, 2, 0, 2),
            colours=speed_colours(),
        ),
        plots.histogram([0, 1, 2], {"all": [3, 4], "some": [1, 2]}, x="mph", y="reports"),
        plots.bars(["a", "b"], {"here": [1, 2], "there": [2, 3]}, y="n", limits={"most": 2}),
    ]


@pytest.mark.parametrize("place", range(4))
def test_colours_are_variables_of_the_page(place: int) -> None:
    svg = plots.svg_of(every_plot()[place], prefix="p7-")
    assert svg.startswith("<svg")
    assert "var(--muted)" in svg
    assert not any(stand_in in svg for stand_in in VARIABLES)
    assert 'id="p7-' in svg


def test_colours_can_be_given_for_a_picture_that_stands_alone() -> None:
    colours = {variable: f"#{place:06x}" for place, variable in enumerate(VARIABLES.values())}
    svg = plots.svg_of(every_plot()[0], colours=colours)
    assert colours[VARIABLES[SERIES[0]]] in svg
    assert "var(" not in svg


@pytest.mark.thorough
def test_the_same_figure_is_the_same_text() -> None:
    assert [plots.svg_of(figure) for figure in every_plot()] == [plots.svg_of(figure) for figure in every_plot()]


@pytest.mark.thorough
def test_global_settings_are_left_alone() -> None:
    before = dict(matplotlib.rcParams)
    for figure in every_plot():
        plots.svg_of(figure)
    assert dict(matplotlib.rcParams) == before
