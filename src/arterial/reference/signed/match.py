"""What Match means."""

from __future__ import annotations

from collections.abc import Iterator

from arterial.boxes.joins.join import LEFT, RIGHT, both_sides
from arterial.boxes.signed.match import Match, pair_names
from arterial.network.box import OUT, SIGN
from arterial.network.signed import row_columns
from arterial.reference.parts.causes import Because, Region, so_far
from arterial.reference.parts.signed import Multiset, by_instant, led_through, places_so_far, signed_because, weight
from arterial.reference.parts.stream import Tuples, condition, group_of, instant


def match(box: Match, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """At the end of each instant every left row that stands with every right one, in one group, that fits."""
    return {OUT: led_through(_states(box, inputs), box.streams(box.fed_by)[OUT])}


def _states(box: Match, inputs: dict[str, Tuples]) -> Iterator[tuple[int, Multiset]]:
    left, right, out = box.fed_by[LEFT], box.fed_by[RIGHT], box.streams(box.fed_by)[OUT]
    names = pair_names(left, right)
    test = condition(box.on or "true", box.name, both_sides(left.schema, right.schema))
    sides = {port: Multiset(row_columns(box.fed_by[port])) for port in (LEFT, RIGHT)}
    arrived = {port: by_instant(inputs[port], box.fed_by[port].time) for port in sides}
    for t in sorted(set(arrived[LEFT]) | set(arrived[RIGHT])):
        for port, rows in sides.items():
            for values in arrived[port].get(t, []):
                rows.add(values, weight(values, box.fed_by[port]))
        now = Multiset(row_columns(out))
        for a, times in sides[LEFT].all():
            for b, other_times in sides[RIGHT].all():
                if group_of(a, left.keyed_by) != group_of(b, left.keyed_by):
                    continue
                if test({f"{LEFT}.{k}": v for k, v in a.items()} | {f"{RIGHT}.{k}": v for k, v in b.items()}):
                    now.add(a | {new: b[old] for old, new in names}, times * other_times)
        yield t, now


def because(box: Match, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """All changes of the two partners so far."""
    left, right, out = box.fed_by[LEFT], box.fed_by[RIGHT], box.streams(box.fed_by)[OUT]
    made = outputs[OUT][place]
    now = instant(made, out.time)
    partner = {old: made[new] for old, new in pair_names(left, right)} | {name: made[name] for name in left.keyed_by}
    used = {
        LEFT: places_so_far(inputs[LEFT], left, made, row_columns(left), now),
        RIGHT: places_so_far(inputs[RIGHT], right, partner, row_columns(right), now),
    }
    on = f"{box.on} is true of it and its partner" if box.on else "it has this partner in its group"
    return signed_because(used, made, on if made[SIGN] > 0 else "one of the two partners goes")


def scope(box: Match, port: str, region: Region) -> dict[str, Region]:
    """All of the two partners so far; each pair by itself."""
    left, right = box.fed_by[LEFT], box.fed_by[RIGHT]
    names = [(new, old) for old, new in pair_names(left, right)]
    partner = region.renamed([*names, *((name, name) for name in left.keyed_by)])
    return {LEFT: so_far(region, row_columns(left)), RIGHT: so_far(partner, row_columns(right))}
