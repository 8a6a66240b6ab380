"""Draws networks: each call adds a box and gives the stream that leaves it. What was drawn is an immutable value.

`network` has the network that is drawn on, `stream` a method for each box; both are imported from here. Begin with
`stream`.

net = Network("speeding")
reports = net.source("reports", {"vehicle": int, "time": int, "speed": int}, time="time")
reports.filter("fast", "speed > 100").group_by("vehicle").tumble(
    "per_minute", every="1 minute", peak="max(speed)"
).output("alerts")
"""

from arterial.drawing.network import Network
from arterial.drawing.relation import RelationHandle
from arterial.drawing.stream import StreamHandle

__all__ = ["Network", "RelationHandle", "StreamHandle"]
