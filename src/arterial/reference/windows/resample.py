"""What Resample means."""

from __future__ import annotations

from typing import Any

from arterial.boxes.windows.resample import LINEAR, Resample
from arterial.network.box import IN, OUT
from arterial.network.duration import units
from arterial.reference.parts.causes import Because, Region, shown_instant
from arterial.reference.parts.scalar import instant_to_value
from arterial.reference.parts.stream import Tuples, instant
from arterial.reference.parts.windows import grouped_places


def resample(box: Resample, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """For each group: its own tuples on the grid, and interpolated ones between neighbours that are near enough."""
    tuples = inputs[IN]
    return {OUT: [_tuple(box, tuples[i], tuples[j], grid, share) for i, j, grid, share in _points(box, tuples)]}


def because(box: Resample, inputs: dict[str, Tuples], outputs: dict[str, Tuples], port: str, place: int) -> Because:
    """The tuple on the grid, or its two neighbours."""
    stream = box.fed_by[IN]
    i, j, grid, share = _points(box, inputs[IN])[place]
    at = shown_instant(grid, stream)
    if i == j:
        return Because({IN: (i,)}, f"is on the grid, at {at}")
    return Because({IN: (i, j)}, f"{at} is {share:.0%} of the way from the one of these tuples to the other")


def scope(box: Resample, port: str, region: Region) -> dict[str, Region]:
    """The neighbours of the group that are near enough."""
    stream = box.fed_by[IN]
    within = units(box.within, stream.schema[stream.time], "within")
    return {IN: region.between(region.begin - within, region.end + within, stream.keyed_by)}


def _points(box: Resample, tuples: Tuples) -> list[tuple[int, int, int, float]]:
    """The places of the neighbours, the instant between them, and its share of the way."""
    stream = box.fed_by[IN]
    kind = stream.schema[stream.time]
    every, within = units(box.every, kind, "every"), units(box.within, kind, "within")
    made: list[tuple[int, int, int, float]] = []
    for places in grouped_places(tuples, stream.keyed_by):
        at = {instant(tuples[i], stream.time): i for i in places}  # of several at one instant the last
        times = list(at)
        for i, time in enumerate(times):
            if time % every == 0:
                made.append((at[time], at[time], time, 0.0))
            if i + 1 < len(times) and times[i + 1] - time <= within:
                for grid in range((time // every + 1) * every, times[i + 1], every):
                    made.append((at[time], at[times[i + 1]], grid, (grid - time) / (times[i + 1] - time)))
    return sorted(made, key=lambda point: point[2])


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
