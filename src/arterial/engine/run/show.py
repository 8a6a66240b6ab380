"""What a notebook shows of a run: its state, a small table of tuples and rates, and the picture of its plan."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from arterial.engine.plan.picture import svg
from arterial.engine.plan.plan import Plan

_COLUMNS = ("box", "kind", "in", "out", "selectivity", "µs/tuple")


def html(plan: Plan, figures: Mapping[str, Any], state: str) -> str:
    """A run as HTML: `figures` are those of `Statistics.describe`."""
    title = (
        f"<b>{escape(plan.network.name)}</b>: {state}, step {figures['step']}, {figures['tuples_in']:,} tuples in, "
        f"{figures['tuples_out']:,} out, {figures['tuples_per_second']:,}/s, delay {figures['delay']:.2f} s"
    )
    head = "".join(f"<th>{column}</th>" for column in _COLUMNS)
    rows = "".join(f"<tr>{_row(name, box)}</tr>" for name, box in figures["boxes"].items())
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<div><p>{title}</p>{svg(plan)}{table}</div>"


def _row(name: str, box: Mapping[str, Any]) -> str:
    selectivity, cost = box["selectivity"], box["microseconds_per_tuple"]
    cells = (
        escape(name),
        escape(box["kind"]),
        f"{box['in']:,}",
        f"{box['out']:,}",
        "" if selectivity is None else f"{selectivity:.3g}",
        "" if cost is None else f"{cost:.3g}",
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)
