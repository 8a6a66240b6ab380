"""Rates the systems in peers/ and Arterial, and makes docs/peers.md and a page of their ratings.

    python -m tools.peers rate --data city --tolls history [--only NAME] [--start L] [--until S]
    python -m tools.peers write

`rate` leaves a folder for each system in build/peers; an interrupted rating continues. All get the whole of the data in
real time and are judged alike. `write` makes its tables of what is there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from arterial.linearroad.rate.page import PUBLISHED
from arterial.report import Page, plots

ROOT = Path(__file__).parents[1]
RATINGS = ROOT / "build" / "peers"
PAGE = ROOT / "docs" / "peers.md"
ARTERIAL = "arterial"
TITLES = {
    ARTERIAL: "Arterial",
    "duckdb": "DuckDB, polling",
    "postgres": "PostgreSQL, polling",
    "postgres-triggers": "PostgreSQL, triggers",
    "flink": "Apache Flink (Java)",
    "pyflink": "Apache Flink (Python)",
    "structured-streaming": "Spark Structured Streaming",
}
_BEGIN, _END = "<!-- Made by `python -m tools.peers write` from here -->", "<!-- to here -->"

Rating = dict[str, Any]


def main() -> None:
    """Rate, or write what is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    rate = commands.add_parser("rate", help="rate systems, one after the other")
    rate.add_argument("--data", type=Path, required=True, help="a simulated data set, short: it is run in real time")
    rate.add_argument("--tolls", type=Path, required=True, help="its history")
    rate.add_argument("--only", action="append", help="the systems to rate; all by default")
    rate.add_argument("--start", default="1", help="the first L to try")
    rate.add_argument("--highest", default="64", help="the largest L to try")
    rate.add_argument("--until", help="the second before which all runs end; the end of the data by default")
    commands.add_parser("write", help="make docs/peers.md and build/peers/peers.html")
    given = parser.parse_args()
    if given.command == "write":
        write(_ratings())
        return
    for name in given.only or [*peers(), ARTERIAL]:
        words = ["--data", given.data, "--tolls", given.tolls, "--start", given.start, "--highest", given.highest]
        words += ["--mode", "official", "--out", RATINGS / name]
        words += [] if given.until is None else ["--until", given.until]
        words += [] if name == ARTERIAL else ["--system", ROOT / "peers" / name]
        command = [sys.executable, "-m", "arterial", "linear-road", "rate", *map(str, words)]
        subprocess.run(command, check=True, cwd=ROOT)


def peers() -> list[str]:
    """The systems that can be rated."""
    return sorted(file.parent.name for file in (ROOT / "peers").glob("*/command"))


def write(ratings: dict[str, Rating]) -> None:
    """The tables into docs/peers.md, between its marks, and a page with plots."""
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    after = rest.partition(_END)[2]
    worst, rated = worst_table(ratings), rating_table(ratings)
    published = [
        ["system", "L", "hardware, as published"],
        *([name, f"{rung:g}", where] for name, rung, where in PUBLISHED),
    ]
    made = "\n\n".join(
        [
            _BEGIN,
            _about(ratings),
            "## Worst response by L (the paper's table 7)\n\nSeconds; **bold** where the run passed the validator.",
            _markdown(worst),
            "## Ratings (the paper's table 8)",
            _markdown(rated),
            "## Published ratings",
            _markdown(published),
            _END,
        ]
    )
    PAGE.write_text(before + made + after)
    page = Page("Linear Road: peers", "each rated with the same kit and judged by the same validator")
    for title, table in (("Ratings", rated), ("Worst response by L, in seconds", worst), ("Published", published)):
        page.section(title)
        page.table(table[0], [[cell.strip("*") for cell in row] for row in table[1:]])
    with plots.new_figure() as (figure, axes):
        for name, one in ratings.items():
            points = [(t["expressways"], w) for t in one["trials"] if (w := _worst(t)) is not None]
            if points:
                axes.plot(*zip(*sorted(points), strict=True), marker="o", label=TITLES.get(name, name))
        axes.axhline(5, linestyle="--", linewidth=0.7)
        axes.set(xlabel="expressways (L)", ylabel="worst response (s)", xscale="log", yscale="log")
        axes.legend()
        page.plot(figure, "Worst response of notices, alerts and balances; their limit is 5 s")
    page.write(RATINGS / "peers.html")


def worst_table(ratings: dict[str, Rating]) -> list[list[str]]:
    """A row for each system, a column for each L that was tried."""
    tried = sorted({trial["expressways"] for one in ratings.values() for trial in one["trials"]})
    rows = [["system", *(f"L = {rung:g}" for rung in tried)]]
    for name, one in ratings.items():
        by_rung = {trial["expressways"]: trial for trial in one["trials"]}
        rows.append([TITLES.get(name, name), *(_cell(by_rung.get(rung)) for rung in tried)])
    return rows


def rating_table(ratings: dict[str, Rating]) -> list[list[str]]:
    """A row for each system: its L, and what it used for it."""
    rows = [["system", "L", "reports/s", "busy cores", "memory (GiB)", "expressways a busy core", "tried up to"]]
    for name, one in ratings.items():
        best = next((trial for trial in one["trials"] if trial["expressways"] == one["rating"]), None)
        used = ["–"] * 4
        if best:
            share = one["rating"] / max(best["cores"], 0.01)
            memory = best["memory"] / 2**30
            used = [
                f"{best['reports_per_second']:,}",
                f"{best['cores']:.2f}",
                f"{memory:.1f}",
                f"{share:,.0f}" if share >= 10 else f"{share:.2g}",
            ]
        highest = max(trial["expressways"] for trial in one["trials"])
        rows.append([TITLES.get(name, name), f"{one['rating']:g}", *used, f"{highest:g}"])
    return rows


def _ratings() -> dict[str, Rating]:
    found = {name: RATINGS / name / "rating.json" for name in TITLES}
    ratings = {name: json.loads(file.read_text()) for name, file in found.items() if file.exists()}
    if not ratings:
        raise SystemExit(f"{RATINGS}: no ratings there; make them by `python -m tools.peers rate`")
    return ratings


def _about(ratings: dict[str, Rating]) -> str:
    one = next(iter(ratings.values()))
    machine, (begin, until) = one["machine"], one["settings"]["window"]
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB; the seconds {begin} to "
        f"{until} of one simulated expressway at its peak, replicated, in real time; types 0 to 3 (travel times are "
        "answered as unknown by all)."
    )


def _cell(trial: dict[str, Any] | None) -> str:
    if trial is None:
        return ""
    worst = _worst(trial)
    if worst is None:
        return "broke down"
    return f"**{worst:.2f}**" if trial["passed"] else f"{worst:.2f}"


def _worst(trial: dict[str, Any]) -> float | None:
    """Of notices, alerts and balances, which have the same limit."""
    times = [one["worst"] for name, one in trial["responses"].items() if one["answers"] and name in _FIVE_SECONDS]
    return max(times) if times else None


_FIVE_SECONDS = ("notices", "alerts", "balances")


def _markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


if __name__ == "__main__":
    main()
