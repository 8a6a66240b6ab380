"""The experiments as a page: a plot for each, beside what the paper says."""

from __future__ import annotations

from arterial.moving.experiments.results import Results
from arterial.report import Page, Tile
from arterial.report.plots import HALF, lines, new_figure


def experiments_page(results: Results) -> Page:
    """The page."""
    scale = results.scale
    page = Page(
        "Moving queries: the paper's experiments",
        f"GPAC, section 6, on made-up traffic: {scale.objects:,} objects and {scale.new:,} more every time unit of "
        f"{scale.unit_seconds} s, {scale.units:,} time units",
    )
    _tiles(page, results)
    _pipelines(page, results)
    _delays(page, results)
    _selectivity(page, results)
    _cache(page, results)
    return page


def _tiles(page: Page, results: Results) -> None:
    pipelines, delays, accuracies = results.pipelines, results.delays, results.accuracies
    page.tiles(
        [
            Tile(
                "pushing down pays up to",
                f"{100 * pipelines.pays_below(pipelines.stationary):.0f} %",
                "of the area, standing still; the paper: below 32 %",
            ),
            Tile(
                "delay at 2,000 tuples/s",
                _time(delays.shared[delays.rates.index(2_000)]),
                "1,000 moving queries; the paper: 1 s for one",
            ),
            Tile(
                "accuracy with a cache of 75 %",
                f"{100 * accuracies.ranges[accuracies.sizes.index(75.0)]:.2f} %",
                "moving ranges; the paper: like the conservative cache",
            ),
        ]
    )


def _pipelines(page: Page, results: Results) -> None:
    counts = results.pipelines
    percent = [100 * share for share in counts.selectivities]
    standing, moving = (f"{100 * counts.pays_below(some):.0f} %" for some in (counts.stationary, counts.moving))
    fewest, most = (counts.reports / max(counts.stationary[place], 1) for place in (0, -1))
    page.section(
        "GPAC in a pipeline (figures 9 and 10)",
        "The paper: with a selection of 5 % above it, GPAC-IN at the bottom keeps most tuples out of the pipeline "
        "while its own selectivity is below 32 %; above that it is better on top. With a join the gain is about "
        "tenfold.\n\n"
        f"Here pushing down saves tuples up to a selectivity of {standing} standing still and {moving} moving. The "
        f"join sees {fewest:,.0f} times fewer tuples at 2 %, and {most:,.1f} times fewer at 64 %.",
    )
    pushed = {
        "pushed, standing": (percent, counts.stationary),
        "pushed, moving": (percent, counts.moving),
    }
    page.plots(
        [
            (
                lines(
                    {"on top": (percent, [level] * len(percent)), **pushed},
                    x="selectivity of the area, %",
                    y="tuples",
                    size=HALF,
                ),
                caption,
            )
            for level, caption in (
                (counts.selected, "Selection: tuples that leave the lowest box"),
                (counts.reports, "Join: tuples that enter it"),
            )
        ]
    )


def _delays(page: Page, results: Results) -> None:
    delays = results.delays
    page.section(
        "High arrival rates (figure 11)",
        "The paper: up to 2,000 tuples a second with a delay of one second, on a Pentium 4, one query. Here the same "
        "algorithm tuple by tuple in plain Python, and 1,000 moving range queries under shared execution. A curve "
        "that bends up has met its limit.",
    )
    with new_figure() as (figure, axes):
        for name, series in (
            ("skeleton, one standing query", delays.skeleton_stationary),
            ("skeleton, one moving query", delays.skeleton_moving),
            ("shared, 1,000 moving queries", delays.shared),
        ):
            axes.plot(delays.rates, series, label=name, marker="o", markersize=3.5)
        axes.plot([2000], [1.0], label="the paper", marker="D", linestyle="none")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("tuples per second")
        axes.set_ylabel("mean output delay, s")
        figure.legend(loc="outside upper left", ncols=4, fontsize=9.5, borderaxespad=0)
    page.plot(figure, "Mean delay from a tuple's arrival to its effect on an answer")


def _selectivity(page: Page, results: Results) -> None:
    found = results.selectivities
    area = [100 * share for share in found.area]
    page.section(
        "Selectivity of incremental evaluation (figure 12)",
        "The paper: the actual selectivity is higher than the correct one, as objects go back and forth and report "
        "themselves again; a smaller area may give more output than a larger one, and the whole area gives nothing "
        "after the first.",
    )
    page.plot(
        lines(
            {
                "actual: updates per object": (area, [100 * share for share in found.actual]),
                "correct: objects in the area": (area, [100 * share for share in found.correct]),
            },
            x="area of the query, % of the city",
            y="%",
        ),
        "Output of a standing range query, by its area",
    )


def _cache(page: Page, results: Results) -> None:
    sizes = list(results.accuracies.sizes)
    page.section(
        "Size of the cache (section 6)",
        "The paper: in most cases a cache of 75 % does as well as the conservative one, which is made for the fastest "
        "object; most likely the focal object is not that. Here objects report in turns, each in one of five seconds.",
    )
    page.plot(
        lines(
            {
                "moving ranges": (sizes, [100 * (1 - one) for one in results.accuracies.ranges]),
                "moving 10 nearest": (sizes, [100 * (1 - one) for one in results.accuracies.nearest]),
            },
            x="cache, % of the conservative one",
            y="wrong members, % of all",
        ),
        "Members missed or wrongly given, by size of the cache",
    )


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1e3 * seconds:.2g} ms"
