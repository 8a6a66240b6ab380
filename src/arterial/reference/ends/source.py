"""What Source means: order by time, with what is too late set apart."""

from __future__ import annotations

from arterial.boxes.ends.source import ARRIVALS, LATE, Source
from arterial.network.box import OUT, SIGN
from arterial.network.duration import units
from arterial.network.train import FURTHEST
from arterial.reference.parts.stream import Tuples, by_time, instant


def source(box: Source, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """The arrivals in the order of their time, and those that came too late."""
    return in_order(
        inputs[ARRIVALS], box.time, units(box.disorder, box.schema[box.time], "disorder", least=0), box.signed
    )


def in_order(arrivals: Tuples, time: str, disorder: int, signed: bool = False) -> dict[str, Tuples]:
    """A tuple without a usable time or sign, or more than `disorder` behind the highest time before it, is late."""
    taken: Tuples = []
    late: Tuples = []
    highest = None
    for values in arrivals:
        usable = values[time] is not None and abs(instant(values, time)) <= FURTHEST
        usable = usable and (not signed or values[SIGN] in (1, -1))
        if not usable or (highest is not None and instant(values, time) < highest - disorder):
            late.append(values)
            continue
        taken.append(values)
        highest = instant(values, time) if highest is None else max(highest, instant(values, time))
    return {OUT: by_time(taken, time), LATE: late}
