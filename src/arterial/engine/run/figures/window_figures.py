"""A window of steps as plain data: what `status.json` has of it, and `arterial status` and `top` show."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from arterial.engine.plan.plan import Plan
from arterial.figures.bottlenecks import bottlenecks
from arterial.figures.window import Window, percentile
from arterial.network.network import NetworkValue, Port
from arterial.network.schema import Type
from arterial.service.utility import total, utilities
from arterial.service.values import Histogram


def describe_window(
    window: Window,
    plan: Plan,
    histograms: Mapping[str, Histogram] | None = None,
    usual: Window | None = None,
    overdue: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """A window of steps as plain data: rates, delays, costs, where the time goes, what waits, is shed and held.

    `histograms` say how the values of outputs are distributed when no predicate leaves any out, `usual` steps in which
    none did what boxes let through, `overdue` how many tuples of outputs wait beyond their good zones.
    """
    if not window.steps:
        return {}
    last, span = window.steps[-1], window.span or 1e-9
    network = plan.network
    utility = utilities(window, network, histograms, usual, overdue)
    return {
        "utility": round(total(network, utility), 4),
        "steps": len(window.steps),
        "seconds": round(window.seconds, 4),
        "span": round(span, 4),
        "until": round(last.born + last.seconds, 3),
        "sources": {
            box.name: {
                "rate": round(sum(window.box(box.name).tuples_out.values()) / span, 1),
                "waiting": source.waiting,
                "waited": round(source.waited, 4),
                "event_time": None if source.through is None else shown_time(network, box.name, source.through),
                "lag": _lag(network, box.name, source.through, last.born),
                "share": source.share,
            }
            for box in plan.sources
            if (source := last.sources.get(box.name)) is not None
        },
        "outputs": {
            box.name: {
                "rate": round(sum(window.box(box.name).tuples_in.values()) / span, 1),
                "delay": _rounded(delays[-1][0] if delays else None),
                "p50": _rounded(percentile(delays, 0.5)),
                "p99": _rounded(percentile(delays, 0.99)),
                "utility": round(utility[box.name], 4) if box.name in utility else None,
                "graph": [list(point) for point in getattr(box, "delay", ())],
            }
            for box in plan.outputs
            for delays in [window.delays(box.name)]
        },
        "boxes": {
            box.name: {
                "in": sum(figures.tuples_in.values()),
                "out": sum(figures.tuples_out.values()),
                "seconds": round(figures.seconds, 6),
            }
            for box in network.boxes
            for figures in [window.box(box.name)]
        },
        "bottlenecks": bottlenecks(window),
        "state": {
            "bytes": sum(slot.state_bytes for slot in last.slots),
            "read": window.state_read,
            "written": window.state_written,
        },
        "shed": {arc: number for arc, number in window.shed.items() if number},
        "held": dict(last.held),
        "set_aside": sum(step.rejects for step in window.steps),
    }


def shown_time(network: NetworkValue, source: str, through: int) -> int | str:
    """A time of a source's stream as its time column has it: a number, or a timestamp as text."""
    stream = network.streams[Port(source, network.box(source).outputs[0])]
    if stream.schema[stream.time] is not Type.TIMESTAMP:
        return through
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=through)
    except OverflowError:
        return through
    return at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")


def _lag(network: NetworkValue, source: str, through: int | None, now: float) -> float | None:
    """How far a source's complete time is behind the clock, where its times are timestamps."""
    stream = network.streams[Port(source, network.box(source).outputs[0])]
    if through is None or stream.schema[stream.time] is not Type.TIMESTAMP:
        return None
    return round(now - through / 1e6, 3)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
