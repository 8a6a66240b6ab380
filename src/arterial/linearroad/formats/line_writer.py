"""The kernel that writes the paper's flat file (§3.1.2, table 1): event columns to lines of 15 integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from arterial.linearroad.formats.events import EVENT_SCHEMA

# The longest 64-bit integer with its sign, and a comma or the end of the line.
MAX_FIELD_BYTES = 21
PIECE_ROWS = 65_536


def event_lines(events: pa.Table) -> list[memoryview]:
    """Events as lines, in pieces to be written one after the other.

    >>> request = pa.table({name: [-1] for name in EVENT_SCHEMA.names}, schema=EVENT_SCHEMA)
    >>> b"".join(event_lines(request))
    b'-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1\\n'
    """
    columns = [events[name].to_numpy() for name in EVENT_SCHEMA.names]
    pieces = []
    for start in range(0, events.num_rows, PIECE_ROWS):
        values = np.empty((min(PIECE_ROWS, events.num_rows - start), len(columns)), np.int64)
        for place, column in enumerate(columns):
            values[:, place] = column[start : start + PIECE_ROWS]
        text = np.empty(values.size * MAX_FIELD_BYTES, np.uint8)
        pieces.append(text[: write_lines(values, text)].copy().data)
    return pieces


@njit(cache=True, nogil=True)
def write_lines(values: NDArray[np.int64], text: NDArray[np.uint8]) -> Any:
    """Write each row of `values` as a line into `text`; return how many bytes that took."""
    digits = np.empty(MAX_FIELD_BYTES, np.uint8)
    at = 0
    for row in range(values.shape[0]):
        for place in range(values.shape[1]):
            value = values[row, place]
            if value < 0:
                text[at] = 45
                at += 1
            rest = np.uint64(-value) if value < 0 else np.uint64(value)
            count = 0
            while True:
                quotient = rest // np.uint64(10)
                digits[count] = 48 + np.uint8(rest - quotient * np.uint64(10))
                count += 1
                rest = quotient
                if rest == 0:
                    break
            while count > 0:
                count -= 1
                text[at] = digits[count]
                at += 1
            text[at] = 44
            at += 1
        text[at - 1] = 10
    return at
