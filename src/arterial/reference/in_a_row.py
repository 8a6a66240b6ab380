"""What InARow means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.in_a_row import InARow
from arterial.network.box import IN, OUT
from arterial.reference.stream import Tuples, condition, group_of


def in_a_row(box: InARow, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Count the tuples of each group that hold in a row."""
    stream = box.fed_by[IN]
    test = condition(box.predicate, box.name, stream.schema)
    runs: dict[tuple[Any, ...], int] = {}
    out: Tuples = []
    for values in inputs[IN]:
        group = group_of(values, stream.keyed_by)
        runs[group] = runs.get(group, 0) + 1 if test(values) else 0
        if runs[group] == box.n or (box.further and runs[group] > box.n):
            out.append(values)
    return {OUT: out}
