"""The description as a page with plots."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from arterial.linearroad.describe.description import Comparison, Description
from arterial.linearroad.describe.sketch import DOWNTOWN, Sketch
from arterial.linearroad.semantics.city import EAST, MINUTE_SECONDS, SEGMENTS, TOLL_CARS_ABOVE, TOLL_LAV_BELOW, WEST
from arterial.report import Page, Tile, plots
from arterial.report.colours import speed_colours

DIRECTIONS = {EAST: "eastbound", WEST: "westbound"}
REJECTS_SHOWN = 200


def page_of(description: Description, *, xway: int | None = None) -> Page:
    """The page; its heat maps show one expressway, the first by default."""
    data = description.data
    shown = next((one for one in description.sketches if one.xway == xway), description.sketches[0])
    page = Page("Linear City, described", f"{data.path} · {span_in_words(description)}")
    _tolls_verdict(page, description)
    page.tiles(tiles_of(description))
    _traffic(page, description)
    _congestion(page, description, shown)
    _accidents(page, description)
    _requests(page, description)
    page.section("Beside the paper", PAPER_TEXT)
    page.table(
        ["figure, for one expressway", "here", "paper"], [comparison_row(one) for one in description.comparisons()]
    )
    _cleaning(page, description)
    return page


PAPER_TEXT = (
    "What Linear Road's authors say of three hours on one expressway (VLDB 2004, §3.1.1 and §4.3). Counts are compared "
    "only if the data spans three hours; shares always."
)


def span_in_words(description: Description) -> str:
    """How much data there is."""
    count = len(description.sketches)
    minutes = description.seconds / MINUTE_SECONDS
    length = f"{minutes / 60:.3g} hours" if minutes >= 120 else f"{minutes:.3g} minutes"
    return f"{count} expressway{'s' if count != 1 else ''}, {length}, {description.data.events:,} events"


def tiles_of(description: Description) -> list[Tile]:
    """The key figures."""
    return [
        Tile("Position reports", short(description.reports), f"{description.peak_rate:,.0f} a second at the peak"),
        Tile("Vehicles", f"{description.vehicles:,}", f"{description.trips:,} trips"),
        Tile("Mean speed", f"{description.mean_speed:.0f} mph", "over all reports"),
        Tile("Toll notices due", short(description.notices), f"LAV below 40 in {100 * description.slow_share():.1f} %"),
        Tile("Tolls above 0", f"{100 * description.toll_share():.1f} %", f"{description.mean_toll():,.0f} on average"),
        Tile(
            "Tolls above 0 downtown",
            f"{100 * description.toll_share(DOWNTOWN):.1f} %",
            f"segments {DOWNTOWN.start} to {DOWNTOWN.stop - 1}",
        ),
        Tile("Accidents", f"{len(description.accidents):,}", f"{description.alerts:,} alerts due"),
        Tile(
            "Requests",
            f"{description.requests:,}",
            f"{100 * description.requests / max(description.reports, 1):.2f} % of reports",
        ),
    ]


def comparison_row(one: Comparison) -> list[str]:
    """A line of the comparison with the paper."""
    return [one.name, *("" if value is None else _figure(value, one.unit) for value in (one.here, one.paper))]


def short(count: float) -> str:
    """A large count in few signs.

    >>> short(11_956_726), short(3_127)
    ('11.96 M', '3,127')
    """
    return f"{count / 1e6:.2f} M" if count >= 1e6 else f"{count:,.0f}"


def _figure(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{number} {unit}".strip()


def _tolls_verdict(page: Page, description: Description) -> None:
    share, downtown = 100 * description.toll_share(), 100 * description.toll_share(DOWNTOWN)
    if share == 0:
        page.verdict(
            "No toll is above 0: this data does not test tolling",
            good=False,
            detail="Congestion takes about an hour to build up; simulate longer, or with --start-at.",
        )
    else:
        page.verdict(
            f"{share:.1f} % of all toll notices carry a toll above 0, {downtown:.1f} % downtown",
            detail=f"LAV is below {TOLL_LAV_BELOW} mph in {100 * description.slow_share():.1f} % of notices; "
            f"the mean of the tolls above 0 is {description.mean_toll():,.0f}.",
        )


def _traffic(page: Page, description: Description) -> None:
    page.section("Traffic")
    rates = description.reports_per_second[description.data.first_second :]
    step = max(1, len(rates) // 600)
    whole = len(rates) // step * step
    smooth = rates[:whole].reshape(-1, step).mean(axis=1)
    minutes = (description.data.first_second + np.arange(len(smooth)) * step) / MINUTE_SECONDS
    page.plot(
        plots.lines({"reports": (minutes, smooth)}, x="minute", y="reports per second", fill=True),
        "Position reports per second, all expressways together. Every vehicle reports each 30 seconds, so 30 times "
        "this is the number of vehicles on the road.",
    )
    speed = description.speed_by_minute
    edges = np.append(np.arange(0, 100, 5), 101)
    page.plots(
        [
            (
                plots.lines({"speed": (np.arange(len(speed)), speed)}, x="minute", y="mph", size=plots.HALF),
                "Mean speed of the reports of each minute.",
            ),
            (
                plots.histogram(
                    edges,
                    {
                        "everywhere": np.add.reduceat(description.speeds, edges[:-1]),
                        "downtown": np.add.reduceat(description.speeds_downtown, edges[:-1]),
                    },
                    x="mph",
                    y="reports",
                ),
                f"Speeds of all reports, and of those downtown (segments {DOWNTOWN.start} to {DOWNTOWN.stop - 1}).",
            ),
        ]
    )


def _congestion(page: Page, description: Description, shown: Sketch) -> None:
    page.section(
        "Congestion and tolls",
        f"Expressway {shown.xway}. A vehicle that enters a segment learns its LAV, the mean speed there in the five "
        f"minutes before, and pays if that is below {TOLL_LAV_BELOW} mph, more than {TOLL_CARS_ABOVE} vehicles were "
        "there in the last minute, and no accident is near.",
    )
    for dir, name in DIRECTIONS.items():
        if shown.cars[:, dir].any():
            page.plot(_lav_map(shown, dir), f"LAV {name}, by segment and minute. Empty where nobody drove.")
    for dir, name in DIRECTIONS.items():
        if (shown.toll[:, dir] > 0).any():
            page.plot(_toll_map(shown, dir), f"Tolls {name} on a logarithmic scale. Empty where nobody pays.")
    notices = np.sum([one.notices for one in description.sketches], axis=(0, 1, 2))
    charged = np.sum([(one.notices * (one.toll > 0)).sum(axis=(0, 1)) for one in description.sketches], axis=0)
    segments = np.arange(SEGMENTS)
    page.plot(
        plots.lines(
            {"all": (segments, notices), "with a toll above 0": (segments, charged)},
            x="segment",
            y="toll notices",
            fill=True,
        ),
        "Toll notices by segment, both directions, all expressways.",
    )


def _lav_map(shown: Sketch, dir: int) -> Figure:
    return plots.heat_map(
        np.where(shown.cars[:, dir] > 0, shown.lav[:, dir], np.nan).T,
        x="minute",
        y="segment",
        label="LAV (mph)",
        extent=(0, len(shown.lav), 0, SEGMENTS),
        colours=speed_colours(),
        low=0,
        high=100,
    )


def _toll_map(shown: Sketch, dir: int) -> Figure:
    toll = shown.toll[:, dir].T.astype(float)
    return plots.heat_map(
        np.where(toll > 0, toll, np.nan),
        x="minute",
        y="segment",
        label="toll",
        extent=(0, shown.toll.shape[0], 0, SEGMENTS),
        low=10 ** math.floor(math.log10(toll[toll > 0].min())),
        logarithmic=True,
    )


def _accidents(page: Page, description: Description) -> None:
    found = description.accidents
    page.section(
        "Accidents",
        "Two or more vehicles that report the same place four times in a row."
        if found
        else "There is none: no two vehicles report the same place four times in a row.",
    )
    if found:
        page.table(
            [
                "expressway",
                "direction",
                "segment",
                "lane",
                "position",
                "from second",
                "to second",
                "minutes",
                "vehicles",
            ],
            [
                [
                    a.xway,
                    DIRECTIONS[a.dir],
                    a.seg,
                    a.lane,
                    a.pos,
                    a.start,
                    a.end,
                    round((a.end - a.start) / 60, 1),
                    a.vehicles,
                ]
                for a in found[:60]
            ],
            caption="" if len(found) <= 60 else f"The first 60 of {len(found):,}.",
        )


def _requests(page: Page, description: Description) -> None:
    page.section("Requests")
    kinds = description.events_by_type
    per_minute = np.sum([one.requests_per_minute for one in description.sketches], axis=0)
    page.plots(
        [
            (
                plots.bars(["balance", "expenditure", "travel time"], {"requests": kinds[2:5]}, y="requests"),
                "Requests by kind: account balance, daily expenditure, travel time.",
            ),
            (
                plots.lines(
                    {"requests": (np.arange(len(per_minute)), per_minute)}, x="minute", y="per minute", size=plots.HALF
                ),
                "Requests per minute; one report in a hundred comes with one.",
            ),
        ]
    )


def _cleaning(page: Page, description: Description) -> None:
    cleaning = description.data.cleaning
    if cleaning is None or not (cleaning.rejected or cleaning.early_reports or cleaning.off_ramp_reports):
        return
    page.section(
        "Lines set aside",
        f"{cleaning.set_aside:,} of {cleaning.lines:,} lines. Besides, {cleaning.early_reports:,} reports came less "
        f"than 30 s after the one before, and {cleaning.off_ramp_reports:,} are of vehicles that appear off the ramp: "
        "these are valid and stay in.",
    )
    if cleaning.rejected:
        page.table(["reason", "lines"], [[reason, count] for reason, count in cleaning.rejected.items()])
        rejects = description.data.rejects[:REJECTS_SHOWN]
        page.table(
            ["file", "line", "reason", "text"],
            [[one.file, one.line, one.reason, one.text[:200]] for one in rejects],
            folded=f"The first {len(rejects):,}",
        )
