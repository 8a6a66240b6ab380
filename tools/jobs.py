"""Makes the tables of the five jobs in docs/peers.md, of what `python -m benchmarks jobs jobs_delay` left.

python -m tools.jobs
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.bench_jobs import ARTERIAL, AT_ONCE, RATES
from benchmarks.bench_jobs_delay import DELAYS

PAGE = Path(__file__).parents[1] / "docs" / "peers.md"
_BEGIN, _END = "<!-- Made by `python -m tools.jobs` from here -->", "<!-- the jobs end here -->"
_DELAYS_BEGIN, _DELAYS_END = "<!-- Delays, made by `python -m tools.jobs` -->", "<!-- the delays end here -->"

Rates = dict[str, dict[str, float]]
Delays = dict[str, dict[str, dict[str, Any]]]


def main() -> None:
    """Put the tables between their marks; without new figures a table stays as it is."""
    rates, delays = (PAGE.parents[1] / file for file in (RATES, DELAYS))
    if rates.exists():
        known = json.loads(rates.read_text())
        about = (
            f"Thousands of tuples in a second of the processor: {known['tuples']:,} tuples in Arterial and Polars, "
            "in the others the difference between so many as the last column says and a tenth of them: without "
            "their start."
        )
        _put(_BEGIN, _END, about, table(known["rates"], known["peer_tuples"]))
    if delays.exists():
        live = json.loads(delays.read_text())
        about = (
            f"Milliseconds, median / 99th percentile, at {_of_all(live, 'rate')} tuples a second: "
            f"{_of_all(live, 'seconds')} s, after {_of_all(live, 'warm')} s to warm up."
        )
        _put(_DELAYS_BEGIN, _DELAYS_END, about, table_of_delays(live))


def _put(begin: str, end: str, *parts: str) -> None:
    before, _, rest = PAGE.read_text().partition(begin)
    PAGE.write_text(before + "\n\n".join([begin, *parts, end]) + rest.partition(end)[2])


def _of_all(delays: Delays, name: str) -> str:
    found = sorted({run[name] for by_system in delays.values() for run in by_system.values()})
    return " or ".join(f"{value:,}" for value in found)


def table_of_delays(delays: Delays) -> str:
    """A row for each job, a column for each system."""
    systems = sorted({name for by_system in delays.values() for name in by_system})
    rows = [["job", *systems]]
    for job, by_system in delays.items():
        rows.append([job, *(_delay(by_system[name]) if name in by_system else "–" for name in systems)])
    return _lines(rows)


def _delay(run: dict[str, Any]) -> str:
    shown = f"{run['p50'] * 1e3:,.0f} / {run['p99'] * 1e3:,.0f}" if run["rows"] else ""
    if run["missing"] or run["wrong"]:
        lost = f"{run['missing'] / run['due']:.1%} missing" + (f", {run['wrong']:,} wrong" if run["wrong"] else "")
        shown = f"{shown} ({lost})" if shown else f"– ({lost})"
    return shown


def table(rates: Rates, peer_tuples: dict[str, int]) -> str:
    """A row for each job, a column for each system, and how far Arterial is ahead."""
    peers = sorted({name for by_system in rates.values() for name in by_system} - {ARTERIAL, AT_ONCE})
    head = ["job", ARTERIAL, *peers, AT_ONCE, "beside the best peer", "share of Polars", "tuples of the peers"]
    rows = [head]
    for job, by_system in rates.items():
        ours, cells = by_system[ARTERIAL], [ARTERIAL, *peers, AT_ONCE]
        streaming = [by_system[name] for name in peers if name in by_system]
        ahead = f"{ours / max(streaming):.1f} ×" if streaming else "–"
        shown = [f"{by_system[name] / 1e3:,.0f}" if name in by_system else "–" for name in cells]
        rows.append([job, *shown, ahead, f"{ours / by_system[AT_ONCE]:.2f}", f"{peer_tuples[job]:,}"])
    return _lines(rows)


def _lines(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


if __name__ == "__main__":
    main()
