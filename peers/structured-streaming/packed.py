"""What flows between the steps: one row for a shard and a second, with its tuples packed into a binary column.

A row of integers costs Spark some 7 microseconds on its way into a stateful step in Python, a packed one next to none.
"""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

SCHEMA = StructType(
    [
        StructField("key", IntegerType()),
        StructField("second", IntegerType()),
        StructField("kind", IntegerType()),
        StructField("payload", BinaryType()),
    ]
)
ANSWERS, REPORTS, CHARGES, REQUESTS = range(4)
"""Kinds: lines of answers, reports for `Road`, charges and balance requests for `Accounts`."""
BLOB = StructType([StructField("blob", BinaryType())])
REPORT = np.dtype([("vid", "i4"), ("unit", "i4"), ("pos", "i4"), ("speed", "i2"), ("lane", "i1"), ("seg", "i1")])
CHARGE = np.dtype([("vid", "i4"), ("amount", "i4")])
REQUEST = np.dtype([("vid", "i4"), ("qid", "i4")])
EMIT = "@"
"""Stands for the time of an answer until it is written."""


class Row(NamedTuple):
    """A row of SCHEMA."""

    key: int
    second: int
    kind: int
    payload: bytes


def frame(rows: list[Row]) -> pd.DataFrame:
    """The rows as a step emits them."""
    return pd.DataFrame(rows, columns=Row._fields).astype({"key": "int32", "second": "int32", "kind": "int32"})


def lines(*columns: int | str | np.ndarray) -> bytes:
    """Lines of CSV; a single value stands in each line."""
    rows = next(len(column) for column in columns if isinstance(column, np.ndarray))
    arrays = [pa.array(one) if isinstance(one, np.ndarray) else pa.repeat(one, rows) for one in columns]
    text = io.BytesIO()
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    csv.write_csv(pa.table(arrays, names=[str(number) for number in range(len(arrays))]), text, options)
    return text.getvalue()


def by_shard(values: np.ndarray, of: np.ndarray, keys: tuple[int, ...]) -> list[tuple[int, np.ndarray]]:
    """Each shard's key with its values, where there are any."""
    shard = of % len(keys)
    parts = [(key, values[shard == number]) for number, key in enumerate(keys)]
    return [(key, part) for key, part in parts if len(part)]
