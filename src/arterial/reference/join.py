"""What Join means."""

from __future__ import annotations

from arterial.boxes.join import LEFT, RIGHT, Join, both_sides, right_names
from arterial.network.box import OUT
from arterial.network.duration import units
from arterial.reference.scalar import instant_to_value
from arterial.reference.stream import Tuples, by_time, condition, group_of, instant


def join(box: Join, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Every left tuple with every right one, of one group, near in time, for which the predicate is true."""
    left, right = box.fed_by[LEFT], box.fed_by[RIGHT]
    within = units(box.within, left.schema[left.time], "within", least=0)
    test = condition(box.on or "true", box.name, both_sides(left.schema, right.schema))
    names = right_names(left, right)
    pairs: Tuples = []
    for a in inputs[LEFT]:
        for b in inputs[RIGHT]:
            times = instant(a, left.time), instant(b, right.time)
            if group_of(a, left.keyed_by) != group_of(b, left.keyed_by) or abs(times[0] - times[1]) > within:
                continue
            sides = {f"{LEFT}.{k}": v for k, v in a.items()} | {f"{RIGHT}.{k}": v for k, v in b.items()}
            if test(sides):
                time = instant_to_value(max(times), left.schema[left.time])
                pairs.append(a | {new: b[old] for old, new in names} | {box.time: time})
    return {OUT: by_time(pairs, box.time)}
