"""The boxes, one file each. `process` is the vectorised function; `arterial.reference` defines what each one means."""

from arterial.boxes.filter import Filter
from arterial.boxes.group_by import GroupBy
from arterial.boxes.map import Map
from arterial.boxes.output import Output
from arterial.boxes.source import Source
from arterial.boxes.tumble import Tumble
from arterial.boxes.union import Union

__all__ = ["Filter", "GroupBy", "Map", "Output", "Source", "Tumble", "Union"]
