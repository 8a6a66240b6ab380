"""Signed streams: the changes of a multiset of rows, each with a sign 1 or -1 (GPAC §5, negative tuples).

A row is all columns but the time and the sign. What stands at an instant is the sum of all signs of
each row up to and including that instant. A stream without signs counts as one in which every row comes and none goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from arterial.errors import NetworkError
from arterial.network.box import SIGN, Stream
from arterial.network.schema import Field, Schema, Type


def require_sign(stream: Stream, port: str) -> None:
    """Raise unless a stream that is said to be signed has a sign."""
    if stream.signed and (SIGN not in stream.schema or stream.schema[SIGN] is not Type.INT8):
        raise NetworkError(f"the signed stream {port!r} needs an int8 column {SIGN!r}, got {stream.schema}")


def lifted(stream: Stream) -> Stream:
    """The stream with a sign; one that has none gets it as its last column."""
    if stream.signed:
        return stream
    if SIGN in stream.schema:
        raise NetworkError(
            f"the stream has a column {SIGN!r} but is not signed, and would get another one; rename it in a Map"
        )
    return replace(stream, schema=Schema((*stream.schema.fields, Field(SIGN, Type.INT8))), signed=True)


def row_columns(stream: Stream) -> tuple[str, ...]:
    """The columns that make a row of the multiset: all but the time and the sign."""
    return tuple(name for name in stream.schema.names if name != stream.time and not (stream.signed and name == SIGN))


def require_rows_only(stream: Stream, read: Iterable[str], what: str) -> None:
    """Raise if something reads the time or the sign of a signed stream: a plus and its minus differ in both."""
    if not stream.signed:
        return
    for name in read:
        if name in (stream.time, SIGN):
            word = "sign" if name == SIGN else "time"
            raise NetworkError(
                f"{what} reads {name!r}, the {word} of a signed stream; a row that comes and the same row that goes "
                f"differ in it, so they would not cancel; read other columns, or compute the column before the box "
                "that makes the signs"
            )
