"""MovingQueries on the streams of the conformance suite; `tests/moving/boxes` has its own streams."""

from __future__ import annotations

from arterial.boxes.ends.output import Output
from arterial.drawing import StreamHandle
from arterial.moving.boxes.moving_queries import MovingQueries

_KINDS = ("range", "movingrange", "knn", "movingknn", "drop")
_KIND = f"case n {' '.join(f'when {i} then {kind!r}' for i, kind in enumerate(_KINDS))} else s end"


def case(s: StreamHandle) -> None:
    asked = {"query": "coalesce(x % 3, 0)", "kind": _KIND, "focal": "k", "k": "n % 3 + 1"}
    corners = {"x1": "f", "y1": "n * 1.0", "x2": "f + 3", "y2": "n + 4.0"}
    queries = s.filter("asks", "b").map("queries", asked | corners, keep=["t"])
    box = MovingQueries("box", object="k", x="n", y="f", timeout=30.0)
    made = s.network.box(box, objects=s, queries=queries)
    for port in ("out", "rejects"):
        s.network.box(Output(port), **{"in": made.port_named(port)})
    spread = MovingQueries("spread", object="k", x="n", y="f")
    s.network.box(spread, objects=s, queries=queries.group_by("query")).output("spread out")
