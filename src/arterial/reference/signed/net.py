"""What Net means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.signed.net import Net
from arterial.network.box import IN, OUT, SIGN
from arterial.network.signed import row_columns
from arterial.reference.parts.causes import Because, Region
from arterial.reference.parts.stream import Tuples, group_of, instant, value_order


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


def because(box: Net, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """All changes of the row at the instant."""
    stream, made = box.fed_by[IN], outputs[OUT][place]
    columns = (*row_columns(stream), stream.time)
    same = group_of(made, columns)
    used = tuple(i for i, one in enumerate(inputs[IN]) if group_of(one, columns) == same)
    return Because(
        {IN: used}, f"the signs of the row at this instant add up to {'a plus' if made[SIGN] > 0 else 'a minus'}"
    )


def scope(box: Net, port: str, region: Region) -> dict[str, Region]:
    """The same row at the same instant."""
    return {IN: region.only(row_columns(box.fed_by[IN]))}
