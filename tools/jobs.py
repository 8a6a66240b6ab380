"""Makes the table of the five jobs in docs/peers.md, of the rates that `python -m benchmarks jobs` left.

python -m tools.jobs
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.bench_jobs import ARTERIAL, AT_ONCE, RATES

PAGE = Path(__file__).parents[1] / "docs" / "peers.md"
_BEGIN, _END = "<!-- Made by `python -m tools.jobs` from here -->", "<!-- the jobs end here -->"

Rates = dict[str, dict[str, float]]


def main() -> None:
    """Put the table between its marks."""
    known = json.loads((PAGE.parents[1] / RATES).read_text())
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    after = rest.partition(_END)[2]
    about = (
        f"Thousands of tuples in a second of the processor: {known['tuples']:,} tuples in Arterial and Polars, in the "
        "others the difference between so many as the last column says and a tenth of them: without their start."
    )
    made = table(known["rates"], known["peer_tuples"])
    PAGE.write_text(before + "\n\n".join([_BEGIN, about, made, _END]) + after)


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
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


if __name__ == "__main__":
    main()
