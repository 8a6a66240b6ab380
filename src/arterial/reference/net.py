"""What Net means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.net import Net
from arterial.network.box import IN, OUT, SIGN
from arterial.network.signed import row_columns
from arterial.reference.stream import Tuples, group_of, instant, value_order


def net(box: Net, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Each row at each instant with the sum of its signs, reported so many times."""
    stream = box.fed_by[IN]
    columns = row_columns(stream)
    sums: dict[Any, int] = {}
    rows: dict[Any, dict[str, Any]] = {}
    for values in inputs[IN]:
        row = (instant(values, stream.time), group_of(values, columns))
        rows.setdefault(row, values)
        sums[row] = sums.get(row, 0) + ((values[SIGN] or 0) if stream.signed else 1)
    made = []
    for row, total in sums.items():
        made += [{**rows[row], SIGN: 1 if total > 0 else -1}] * abs(total)
    made.sort(key=lambda one: (instant(one, stream.time), one[SIGN], [value_order(one[name]) for name in columns]))
    return {OUT: made}
