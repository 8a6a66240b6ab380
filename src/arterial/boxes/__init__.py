"""The boxes, one file each. `process` is the vectorised function; `arterial.reference` defines what each one means."""

from arterial.boxes.aggregate import Aggregate
from arterial.boxes.bsort import BSort
from arterial.boxes.connection_point import ConnectionPoint
from arterial.boxes.distinct import Distinct
from arterial.boxes.drop import Drop
from arterial.boxes.filter import Filter
from arterial.boxes.group_by import GroupBy
from arterial.boxes.join import Join
from arterial.boxes.latch import Latch
from arterial.boxes.latest import Latest
from arterial.boxes.map import Map
from arterial.boxes.match import Match
from arterial.boxes.net import Net
from arterial.boxes.output import Output
from arterial.boxes.read_relation import ReadRelation
from arterial.boxes.resample import Resample
from arterial.boxes.slide import Slide
from arterial.boxes.source import Source
from arterial.boxes.tumble import Tumble
from arterial.boxes.union import Union
from arterial.boxes.update_relation import UpdateRelation
from arterial.boxes.wait_for import WaitFor

__all__ = [
    "Aggregate", "BSort", "ConnectionPoint", "Distinct", "Drop", "Filter", "GroupBy", "Join", "Latch", "Latest", "Map",
    "Match", "Net", "Output", "ReadRelation", "Resample", "Slide", "Source", "Tumble", "Union", "UpdateRelation",
    "WaitFor",
]  # fmt: skip
