"""What the tests of the boxes share: a source, a way to write tuples, and the outputs of both engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arterial import Network
from arterial.drawing import StreamHandle
from arterial.testing import check_network, run

ALL = {
    "n": "count(*)", "nx": "count(x)", "su": "sum(x)", "sf": "sum(f)", "lo": "min(f)", "hi": "max(x)", "hs": "max(s)",
    "ls": "min(s)", "fi": "first(s)", "la": "last(x)", "av": "avg(x)", "sd": "stddev(f)",
    "mix": "max(n) + count(*) * 2", "hb": "max(b)", "tf": "first(t)",
}  # fmt: skip
START = {"start": "window_start()", "ap": "approx_percentile(f, 0.3)", "ax": "approx_percentile(x, 1)"}
DISTINCT = {"d": "count(distinct s)", "df": "count(distinct f)"}
PERCENTILES = {"md": "median(f)", "p9": "percentile(x, 0.9)"}

COLUMNS = {"k": int, "time": int, "x": int, "s": str}


def tuples(*rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Tuples from (k, time, x, s); what is missing is null."""
    return [dict(zip(COLUMNS, (*row, None, None, None), strict=False)) for row in rows]


def outputs(
    draw: Callable[[StreamHandle], Any], arrivals: list[dict[str, Any]], disorder: int = 0
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows at each output of what `draw` makes of a source; the same on both engines, in any cut."""
    net = Network("n")
    draw(net.source("s", COLUMNS, disorder=disorder))
    check_network(net, {"s": arrivals}, tries=6)
    return {name: [tuple(row.values()) for row in rows] for name, rows in run(net, {"s": arrivals}).items()}


def one(draw: Callable[[StreamHandle], StreamHandle], arrivals: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The rows that leave by the stream that `draw` makes."""
    return outputs(lambda s: draw(s).output("o"), arrivals)["o"]


def signed(s: StreamHandle) -> StreamHandle:
    """What stands of the stream by a key: rows come and go."""
    return s.latest("signed", "k", "j", timeout=30).filter("stay", "n <> 2")
