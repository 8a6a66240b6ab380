"""The input stream of Linear Road as columns: the 15 integers of the paper's flat file (§3.1.2, table 1)."""

from __future__ import annotations

import pyarrow as pa

POSITION_REPORT = 0
BALANCE_REQUEST = 2
EXPENDITURE_REQUEST = 3
TRAVEL_TIME_REQUEST = 4

UNUSED = -1

# In the order of the flat file. A field that a type does not define is `UNUSED` in our data, anything in others'.
EVENT_SCHEMA = pa.schema(
    [
        pa.field("type", pa.int8(), nullable=False),
        pa.field("time", pa.int32(), nullable=False),
        pa.field("vid", pa.int64(), nullable=False),
        pa.field("speed", pa.int16(), nullable=False),
        pa.field("xway", pa.int32(), nullable=False),
        pa.field("lane", pa.int8(), nullable=False),
        pa.field("dir", pa.int8(), nullable=False),
        pa.field("seg", pa.int16(), nullable=False),
        pa.field("pos", pa.int32(), nullable=False),
        pa.field("qid", pa.int64(), nullable=False),
        pa.field("sinit", pa.int16(), nullable=False),
        pa.field("send", pa.int16(), nullable=False),
        pa.field("dow", pa.int8(), nullable=False),
        pa.field("tod", pa.int16(), nullable=False),
        pa.field("day", pa.int16(), nullable=False),
    ]
)

# The fields that each type defines; no other may be read.
FIELDS_OF_TYPE = {
    POSITION_REPORT: ("type", "time", "vid", "speed", "xway", "lane", "dir", "seg", "pos"),
    BALANCE_REQUEST: ("type", "time", "vid", "qid"),
    EXPENDITURE_REQUEST: ("type", "time", "vid", "xway", "qid", "day"),
    TRAVEL_TIME_REQUEST: ("type", "time", "vid", "xway", "qid", "sinit", "send", "dow", "tod"),
}
