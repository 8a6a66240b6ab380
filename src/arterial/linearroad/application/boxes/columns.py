"""Between trains and kernels: the columns of a train as arrays, arrays as a train, and the types of the streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from arterial.arrays import Array
from arterial.errors import NetworkError
from arterial.linearroad.application.feed import REPORT_SCHEMA
from arterial.linearroad.application.kernels.base.reports import Reports
from arterial.linearroad.application.kernels.trips import Followed
from arterial.linearroad.application.kernels.uneven import Uneven
from arterial.linearroad.semantics.city import SEGMENTS
from arterial.network.box import Stream
from arterial.network.schema import Schema, Type
from arterial.network.train import Train

VEHICLE_KEY = ("vid",)
CELLS_OF_XWAY = 2 * SEGMENTS

FOLLOWED_SCHEMA = Schema.of(
    {
        **{column.name: column.type for column in REPORT_SCHEMA},
        "cell": "int32",
        "place": "int32",
        "pred": "int32",
        "prev_seg": "int8",
        "prev_speed": "int8",
        "stopped": "bool",
    }
)
"""Reports with what their predecessors say. `cell`, `place` and `pred` are numbers that hold within a shard."""

NOTICE_SCHEMA = Schema.of(
    {"vid": int, "time": "int32", "lav": "int16", "toll": "int32", "xway": "int32", "dir": "int8"}
)
ALERT_SCHEMA = Schema.of({"time": "int32", "vid": int, "xway": "int32", "seg": "int8", "dir": "int8"})
CHARGE_SCHEMA = Schema.of({"vid": int, "time": "int32", "toll": "int32", "xway": "int32", "dir": "int8"})
BALANCE_SCHEMA = Schema.of({"time": "int32", "result_time": "int32", "qid": int, "balance": int, "vid": int})
EXPENDITURE_SCHEMA = Schema.of({"time": "int32", "qid": int, "balance": int})
TRAVEL_SCHEMA = Schema.of({"time": "int32", "qid": int, "travel_time": int, "toll": int})

_REPORT_NAMES = ("time", "vid", "speed", "xway", "lane", "dir", "seg", "pos")


def arrays(tuples: pl.DataFrame) -> dict[str, Array]:
    """The columns of a train; without a copy where they lie in one piece."""
    return {name: tuples[name].to_numpy() for name in tuples.columns}


def frame(schema: Schema, columns: Mapping[str, Array]) -> pl.DataFrame:
    """A train's tuples from arrays, each brought to the type that the schema says."""
    made = {}
    for field in schema:
        values = columns[field.name]
        wanted = _NUMPY[field.type]
        if values.dtype != wanted:
            # Same width means same bits: places are packed into all 32 of them.
            same_width = values.dtype.itemsize == wanted.itemsize and values.dtype.kind == "u"
            values = values.view(wanted) if same_width else values.astype(wanted)
        made[field.name] = pl.Series(field.name, values)
    return pl.DataFrame(made)


def reports_of(columns: Mapping[str, Array]) -> Reports:
    """The position reports in these columns."""
    return Reports.of({name: columns[name] for name in _REPORT_NAMES})


def followed_of(columns: Mapping[str, Array], rows: slice, uneven: Uneven | None = None) -> Followed:
    """The followed reports in these rows, all of one minute."""
    part = {name: values[rows] for name, values in columns.items()}
    return Followed.of(
        reports_of(part),
        part["cell"],
        part["place"].view(np.uint32),
        part["pred"],
        part["prev_seg"],
        part["prev_speed"].view(np.uint8),
        uneven,
    )


def meet(trains: Mapping[str, Train]) -> None:
    """Check that the trains of a box are of the same span: their tuples refer to each other by number."""
    through = {port: train.through for port, train in trains.items()}
    assert len(set(through.values())) == 1, f"the trains that meet are of different spans of time: {through}"


def require(stream: Stream, schema: Schema, key: tuple[str, ...]) -> None:
    """Refuse a stream that is not grouped by the key or lacks a column."""
    if stream.keyed_by != key:
        raise NetworkError(
            f"expected a stream grouped by {', '.join(key)}, got one grouped by {stream.keyed_by or 'nothing'}"
        )
    for field in schema:
        if field.name not in stream.schema or stream.schema[field.name] is not field.type:
            raise NetworkError(f"expected the columns {schema}, got {stream.schema}")


_NUMPY: dict[Type, np.dtype[Any]] = {
    Type.INT8: np.dtype(np.int8),
    Type.INT16: np.dtype(np.int16),
    Type.INT32: np.dtype(np.int32),
    Type.INT64: np.dtype(np.int64),
    Type.BOOL: np.dtype(np.bool_),
}
