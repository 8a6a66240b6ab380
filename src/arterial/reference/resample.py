"""What Resample means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.resample import LINEAR, Resample
from arterial.network.box import IN, OUT
from arterial.network.duration import units
from arterial.reference.scalar import instant_to_value
from arterial.reference.stream import Tuples, by_time, grouped, instant


def resample(box: Resample, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """For each group: its own tuples on the grid, and interpolated ones between neighbours that are near enough."""
    stream = box.fed_by[IN]
    kind = stream.schema[stream.time]
    every, within = units(box.every, kind, "every"), units(box.within, kind, "within")
    made: Tuples = []
    for tuples in grouped(inputs[IN], stream.keyed_by).values():
        at = {instant(values, stream.time): values for values in tuples}  # of several at one instant the last
        times = list(at)
        for i, time in enumerate(times):
            if time % every == 0:
                made.append(_tuple(box, at[time], at[time], time, 0.0))
            if i + 1 < len(times) and times[i + 1] - time <= within:
                for grid in range((time // every + 1) * every, times[i + 1], every):
                    share = (grid - time) / (times[i + 1] - time)
                    made.append(_tuple(box, at[time], at[times[i + 1]], grid, share))
    return {OUT: by_time(made, stream.time)}


def _tuple(box: Resample, before: dict[str, Any], after: dict[str, Any], time: int, share: float) -> dict[str, Any]:
    stream = box.fed_by[IN]
    values = {key: before[key] for key in stream.keyed_by}
    values[stream.time] = instant_to_value(time, stream.schema[stream.time])
    for name, method in box.columns:
        begin, end = before[name], after[name]
        if method == LINEAR and begin is not None:
            if before is after:
                begin = float(begin)
            else:
                begin = None if end is None else float(begin) + (float(end) - float(begin)) * share
        values[name] = begin
    return values
