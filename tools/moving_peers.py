"""Makes the tables of moving queries in docs/peers.md, of the figures that `python -m benchmarks moving_peers` left.

python -m tools.moving_peers
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.bench_moving import OBJECTS
from benchmarks.bench_moving_peers import ARTERIAL, FENCED, FENCES, FIGURES

PAGE = Path(__file__).parents[1] / "docs" / "peers.md"
_BEGIN, _END = "<!-- Made by `python -m tools.moving_peers` from here -->", "<!-- moving queries end here -->"


def main() -> None:
    """Put the tables between their marks."""
    known = json.loads((PAGE.parents[1] / FIGURES).read_text())
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    after = rest.partition(_END)[2]
    PAGE.write_text(before + "\n\n".join([_BEGIN, held(known["held"]), fenced(known["fences"]), _END]) + after)


def held(by_queries: dict[str, dict[str, float]]) -> str:
    """Updates a second, by the number of queries."""
    systems = list(next(iter(by_queries.values())))
    head = ["queries", *systems, "beside the best other"]
    rows = [head]
    for queries, rates in by_queries.items():
        best = max(rate for name, rate in rates.items() if name != ARTERIAL)
        shown = [f"{1e-3 * rates[name]:,.0f}" if name in rates else "–" for name in systems]
        rows.append([f"{int(queries):,}", *shown, f"{rates[ARTERIAL] / best:.1f} ×"])
    return f"Thousands of updates a second that are held, of {OBJECTS:,} objects:\n\n" + _table(rows)


def fenced(by_updates: dict[str, float]) -> str:
    """What a second of data takes, by the updates in it."""
    rows = [["updates a second", "time for a second of data"]]
    rows += [[f"{int(updates):,}", f"{1e3 * seconds:,.0f} ms"] for updates, seconds in by_updates.items()]
    return f"Fences, with {FENCED:,} objects and {FENCES:,} fences, one core:\n\n" + _table(rows)


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


if __name__ == "__main__":
    main()
