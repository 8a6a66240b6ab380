"""What Join means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.joins.join import LEFT, RIGHT, Join, both_sides, right_names
from arterial.network.box import OUT
from arterial.network.duration import units
from arterial.reference.parts.causes import Because, Region, condition_text, group_in_words, shown_instant
from arterial.reference.parts.scalar import instant_to_value
from arterial.reference.parts.stream import Tuples, condition, group_of, instant


def join(box: Join, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Every left tuple with every right one, of one group, near in time, for which the predicate is true."""
    return {OUT: [pair for pair, _, _ in _pairs(box, inputs)]}


def because(box: Join, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The two partners."""
    left, right = box.fed_by[LEFT], box.fed_by[RIGHT]
    _, i, j = _pairs(box, inputs)[place]
    times = instant(inputs[LEFT][i], left.time), instant(inputs[RIGHT][j], right.time)
    on = f"; {condition_text(box.on)} is true" if box.on else ""
    words = (
        f"the left tuple of {shown_instant(times[0], left)} with the right one of {shown_instant(times[1], right)}"
        f"{group_in_words(inputs[LEFT][i], left)}{on}"
    )
    return Because({LEFT: (i,), RIGHT: (j,)}, words)


def scope(box: Join, port: str, region: Region) -> dict[str, Region]:
    """Whoever is near enough in time; each pair by itself."""
    left, right = box.fed_by[LEFT], box.fed_by[RIGHT]
    within, after = _reach(box)
    own = [name for name in left.schema.names if name != box.time]
    partners = region.renamed(
        [*((new, old) for old, new in right_names(left, right)), *zip(left.keyed_by, left.keyed_by, strict=True)]
    )
    return {
        LEFT: region.between(region.begin - after, region.end, own),
        RIGHT: Region(region.begin - within, region.end, {n: v for n, v in partners.where.items() if n != box.time}),
    }


def _reach(box: Join) -> tuple[int, int]:
    left = box.fed_by[LEFT]
    within = units(box.within, left.schema[left.time], "within", least=0)
    return within, within if box.after is None else units(box.after, left.schema[left.time], "after", least=0)


def _pairs(box: Join, inputs: dict[str, Tuples]) -> list[tuple[dict[str, Any], int, int]]:
    """Each pair, and the places of its partners."""
    left, right = box.fed_by[LEFT], box.fed_by[RIGHT]
    within, after = _reach(box)
    test = condition(box.on or "true", box.name, both_sides(left.schema, right.schema))
    names = right_names(left, right)
    pairs = []
    for i, a in enumerate(inputs[LEFT]):
        for j, b in enumerate(inputs[RIGHT]):
            times = instant(a, left.time), instant(b, right.time)
            if group_of(a, left.keyed_by) != group_of(b, left.keyed_by):
                continue
            if times[0] - times[1] > within or times[1] - times[0] > after:
                continue
            sides = {f"{LEFT}.{k}": v for k, v in a.items()} | {f"{RIGHT}.{k}": v for k, v in b.items()}
            if test(sides):
                time = instant_to_value(max(times), left.schema[left.time])
                pairs.append((a | {new: b[old] for old, new in names} | {box.time: time}, i, j))
    return sorted(pairs, key=lambda pair: instant(pair[0], box.time))
