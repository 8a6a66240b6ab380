"""The report page of a rating."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from arterial.linearroad.formats.answers import TABLE_OF_TYPE
from arterial.linearroad.rate.reasons import reasons
from arterial.linearroad.semantics.profiles import profile as profile_of
from arterial.report.page import Page, Tile

# As their authors published them; tuples per expressway differ between data sets.
PUBLISHED = (
    ("System X (2004)", 0.5, "a relational database, one 3 GHz Pentium"),
    ("Aurora (2004)", 2.5, "one 3 GHz Pentium"),
    ("SCSQ-LR (2007)", 1.5, "a PC"),
    ("SCSQ-PLR (2010)", 64, "cluster"),
    ("SCSQ-PLR (2011)", 512, "cluster, 560 cores"),
    ("SEEP (2013)", 350, "50 cloud machines"),
    ("IBM Streams (2016)", 200, "64 cores; no validation published"),
    ("SQLstream", 60, "4 cores, by its vendor"),
    ("Kafka Streams 3.7 (2026)", 10, "12 cores; fails at 10"),
)


def write_page(told: dict[str, Any], path: Path) -> None:
    """Write the page."""
    settings, machine, trials = (
        told["settings"],
        told["machine"],
        sorted(told["trials"], key=lambda t: t["expressways"]),
    )
    page = Page("Linear Road rating", f"{settings['system']} · profile {settings['profile']} · {settings['mode']} mode")
    hardware = f"{machine['cores']} cores, {machine['memory_gib']} GiB"
    page.verdict(f"L = {told['rating']:g}", good=told["rating"] > 0, detail=_mode(settings))
    best = next((trial for trial in trials if trial["expressways"] == told["rating"]), None)
    tiles = [Tile(str(machine["processor"]), hardware)]
    if best:
        tiles += [
            Tile("reports a second", f"{best.get('reports_per_second', 0):,}"),
            Tile("busy cores", f"{best['cores']:.1f}"),
            Tile("memory", f"{best['memory'] / 2**30:.1f} GiB"),
        ]
    page.tiles(tiles)
    if best:
        page.text(f"L = {told['rating']:g} was made of {best['made_of']}.")
    page.section("Trials")
    page.table(
        [
            "L",
            "verdict",
            "made of",
            "reports/s",
            *(f"{name} worst / p99 (s)" for name in TABLE_OF_TYPE.values()),
            "cores",
        ],
        [_row(trial) for trial in trials],
    )
    failed = [(trial, why) for trial in trials if not trial["passed"] and (why := reasons(trial))]
    if failed:
        page.section("Why trials failed")
        page.table(
            ["L", "why"], [[f"{trial['expressways']:g}", "; ".join(map(str.strip, why))] for trial, why in failed]
        )
    limits = profile_of(settings["profile"]).response_limit
    page.plot(
        responses_by_l(trials, limits), "Worst response of each query by L; the dashed lines are the profile's limits."
    )
    page.section(
        "Published ratings",
        "For comparison, as their authors published them. Data sets differ in tuples per expressway, and most of these "
        "systems left out the travel-time query.",
    )
    page.table(["system", "L", "hardware"], [list(row) for row in PUBLISHED])
    page.write(path)


def _mode(settings: dict[str, Any]) -> str:
    begin, until = settings["window"]
    speed = settings.get("speed", 1.0)
    clock = "in real time" if speed == 1 else f"at {speed:g} times real time"
    if settings["mode"] == "official":
        return f"official: the whole {until:,} seconds {clock}"
    return f"window: the seconds {begin:,} to {until:,} {clock}, after running through what is before"


def _row(trial: dict[str, Any]) -> list[Any]:
    responses = trial.get("responses", {})
    times = [
        f"{r['worst']:.2f} / {r['p99']:.2f}" if (r := responses.get(name)) and r["answers"] else "–"
        for name in TABLE_OF_TYPE.values()
    ]
    verdict = "passes" if trial["passed"] else "breaks down" if "broke_down" in trial else "fails"
    rate = f"{trial.get('reports_per_second', 0):,}"
    return [f"{trial['expressways']:g}", verdict, trial["made_of"], rate, *times, f"{trial.get('cores', 0):.1f}"]


def responses_by_l(trials: list[dict[str, Any]], limits: Mapping[int, int]) -> Figure:
    """The worst response of each type in the trials, beside the limits of the types."""
    figure = Figure(figsize=(8, 4))
    axes = figure.subplots()
    for answer_type, name in TABLE_OF_TYPE.items():
        points = [
            (trial["expressways"], trial["responses"][name]["worst"])
            for trial in trials
            if trial.get("responses") and trial["responses"][name]["answers"]
        ]
        if points:
            (line,) = axes.plot(*zip(*points, strict=True), marker="o", label=name)
            axes.axhline(limits[answer_type], color=line.get_color(), linestyle="--", linewidth=0.7)
    axes.set_xlabel("expressways (L)")
    axes.set_ylabel("worst response (s)")
    axes.set_yscale("log")
    if axes.has_data():
        axes.legend()
    return figure
