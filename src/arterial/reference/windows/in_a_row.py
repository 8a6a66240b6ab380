"""What InARow means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.windows.in_a_row import InARow
from arterial.network.box import IN, OUT
from arterial.reference.parts.causes import Because, condition_text, counted, group_in_words, group_so_far, place_of
from arterial.reference.parts.stream import Tuples, condition, group_of


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


def because(box: InARow, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuples of the run, and the one that ended the run before."""
    stream = box.fed_by[IN]
    test = condition(box.predicate, box.name, stream.schema)
    values = outputs[port][place]
    at = place_of(inputs[IN], values)
    run: list[int] = []
    before: list[int] = []
    for i in range(at, -1, -1):
        one = inputs[IN][i]
        if group_of(one, stream.keyed_by) != group_of(values, stream.keyed_by):
            continue
        if not test(one):
            before = [i]
            break
        run.insert(0, i)
    text = condition_text(box.predicate)
    words = f"{counted(len(run))} in a row{group_in_words(values, stream)} for which {text} is true"
    return Because({IN: (*before, *run)}, words + ("; the first of those given ended the run before" if before else ""))


scope = group_so_far
"""All of the group before it: a run may be as long as the stream."""
