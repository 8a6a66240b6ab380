from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from arterial.engine.plan.plan import Channel, Merge, Route, Where
from arterial.engine.state.chunks import pack_chunk, unpack_chunk
from arterial.engine.transport.parcels import Parcel
from arterial.engine.transport.rows import (
    FRAME,
    PIECE_BYTES,
    REPORT,
    address_of,
    cut,
    pack_report,
    unpack_report,
    whole,
)
from arterial.engine.transport.shipments import Shipment, pack, unpack
from arterial.network.box import Stream
from arterial.network.network import Port
from arterial.network.schema import Schema
from arterial.network.train import BEGIN, END, Train

SCHEMA = Schema.of(
    {
        "time": "int64",
        "a": "int8",
        "b": "int16",
        "c": "int32",
        "d": "float64",
        "e": "bool",
        "f": "string",
        "g": "timestamp",
    }
)
FRAME_OF_ALL = pl.DataFrame(
    {
        "time": [1, 2, 3],
        "a": [1, None, -128],
        "b": [None, 2, 3],
        "c": [1, 2, None],
        "d": [1.5, float("nan"), None],
        "e": [True, None, False],
        "f": ["", None, "Größe, die man nicht mehr in zwölf Bytes bekommt"],
        "g": [datetime(2026, 1, 1), None, datetime(1969, 1, 1)],
    },
    schema=SCHEMA.polars(),
)
CHANNELS = {
    7: Channel(7, Port("a", "out"), Stream(SCHEMA, "time"), -1, 0, Where.PIECES, Route.SPLIT, Merge.SEQUENCE, ("time",))
}


def test_a_shipment_comes_back_as_it_was() -> None:
    parcels = (
        Parcel(7, 0, 1, Train(FRAME_OF_ALL, 3)),
        Parcel(7, 1, 1, Train(SCHEMA.empty(), BEGIN)),
        Parcel(7, 2, 1, Train(FRAME_OF_ALL.filter(pl.col("a").is_null()), END)),
    )
    packed = b"".join(pack(Shipment(12, 0, 3.5, parcels), CHANNELS))
    assert address_of(packed) == (0, 1)
    got = unpack(packed, CHANNELS)
    assert (got.step, got.level, got.born) == (12, 0, 3.5)
    for one, other in zip(got.parcels, parcels, strict=True):
        assert (one.channel, one.sender, one.receiver, one.train.through) == (
            other.channel,
            other.sender,
            other.receiver,
            other.train.through,
        )
        assert one.train.tuples.equals(other.train.tuples, null_equal=True)
        assert one.train.tuples.schema == other.train.tuples.schema


def test_columns_in_another_order_are_put_right() -> None:
    parcel = Parcel(7, 0, 0, Train(FRAME_OF_ALL.select(reversed(FRAME_OF_ALL.columns)), 3))
    (got,) = unpack(b"".join(pack(Shipment(1, 0, 0.0, (parcel,)), CHANNELS)), CHANNELS).parcels
    assert got.train.tuples.equals(FRAME_OF_ALL, null_equal=True)


def test_a_few_texts_of_a_large_train_are_small() -> None:
    schema = Schema.of({"time": "int64", "text": "string"})
    channels = {7: Channel(7, Port("a", "out"), Stream(schema, "time"), -1, 0, Where.ONE, Route.FIRST, Merge.SEQUENCE)}
    large = pl.DataFrame(
        {"time": range(10_000), "text": [f"a text that is longer than twelve bytes {i}" for i in range(10_000)]}
    )
    parcel = Parcel(7, 0, 0, Train(large.filter(pl.col("time") % 1000 == 0), 3))
    assert len(b"".join(pack(Shipment(1, 0, 0.0, (parcel,)), channels))) < 3000


@pytest.mark.parametrize(
    "chunk",
    [
        FRAME_OF_ALL,
        FRAME_OF_ALL.clear(),
        {"one": np.arange(5, dtype=np.int16), "two": np.zeros((2, 3)), "none": np.empty(0, np.bool_)},
        {},
    ],
)
def test_a_chunk_comes_back_as_it_was(chunk: pl.DataFrame | dict[str, np.ndarray]) -> None:
    got = unpack_chunk(b"".join(pack_chunk(chunk)))
    if isinstance(chunk, pl.DataFrame):
        assert isinstance(got, pl.DataFrame)
        assert got.equals(chunk, null_equal=True)
        assert got.schema == chunk.schema
    else:
        assert list(got) == list(chunk)
        for name, array in chunk.items():
            assert got[name].dtype == array.dtype
            assert np.array_equal(got[name], array)


def test_reports() -> None:
    for kind in (REPORT, FRAME):
        packed = pack_report({"step": 3}, b"abc", kind)
        assert address_of(packed) == (-1, 0)
        said, payload = unpack_report(packed)
        assert said == {"step": 3}
        assert payload.to_pybytes() == b"abc"


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "timestamp", "float64", "bool", "string"])
@pytest.mark.parametrize("spread", ["little", "some", "much", "all", "one", "null"])
def test_narrow_columns_come_back_wide(kind: str, spread: str) -> None:
    schema = Schema.of({"time": "int64", "value": kind})
    bits = {"int8": 8, "int16": 16, "int32": 32}.get(kind, 64)
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    order = np.arange(1000)
    values: list[int | None] = {
        "little": [int(n) % 200 - 100 for n in order],
        "some": [max(min(int(n) * 60 - 30_000, most), least) for n in order],
        "much": [max(min(int(n) * 4_000_000 - 5, most), least) for n in order],
        "all": [least if n % 2 else most for n in order],
        "one": [7 for _ in order],
        "null": [None if n % 3 else int(n) % 100 for n in order],
    }[spread]
    whole = pl.Series(values, dtype=pl.Int64)
    column = whole != 0 if kind == "bool" else whole.cast(schema["value"].polars)
    tuples = pl.DataFrame({"time": order, "value": column})
    channels = {7: Channel(7, Port("a", "out"), Stream(schema, "time"), -1, 0, Where.ONE, Route.FIRST, Merge.SEQUENCE)}
    packed = b"".join(pack(Shipment(1, 0, 0.0, (Parcel(7, 0, 0, Train(tuples, 3)),)), channels))
    (got,) = unpack(packed, channels).parcels
    assert got.train.tuples.equals(tuples, null_equal=True)
    assert got.train.tuples.schema == tuples.schema
    if spread == "little" and kind in ("int16", "int32", "int64", "timestamp"):
        assert len(packed) < 1000 * (2 + 1) + 1500


def test_long_rows_go_in_pieces() -> None:
    long, other = bytes(range(256)) * 10_000, bytes(3_000_000)
    pieces = [*cut(long, (2, 7), sender=1), *cut(other, (2, 7), sender=4)]
    assert max(map(len, pieces)) < PIECE_BYTES + 64
    assert {address_of(piece) for piece in pieces} == {(2, 7)}
    assert whole([*pieces[::2], b"AC1\nshort", *pieces[1::2]]) == [b"AC1\nshort", long, other]
    with pytest.raises(AssertionError, match="1 pieces from 4 did not arrive"):
        whole(pieces[:-1])
