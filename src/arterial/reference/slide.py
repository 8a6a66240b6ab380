"""What Slide means."""

from __future__ import annotations

from arterial.boxes.slide import Slide
from arterial.network.box import IN
from arterial.reference.stream import Tuples
from arterial.reference.windows import by_time_windows, by_tuples


def slide(box: Slide, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Windows that may overlap."""
    if box.size is not None:
        return by_tuples(box, box.values, inputs[IN], box.size, box.advance or 1)
    return by_time_windows(box, box.values, inputs[IN], box.over, box.every)
