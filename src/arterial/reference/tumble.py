"""What Tumble means."""

from __future__ import annotations

from arterial.boxes.tumble import Tumble
from arterial.network.box import IN
from arterial.reference.stream import Tuples
from arterial.reference.windows import by_time_windows, by_tuples


def tumble(box: Tumble, inputs: dict[str, Tuples]) -> dict[str, Tuples]:
    """Disjoint windows are windows that advance by their own length."""
    if box.size is not None:
        return by_tuples(box, box.values, inputs[IN], box.size, box.size)
    return by_time_windows(box, box.values, inputs[IN], box.every, box.every)
