"""Chunks of state as bytes that name their columns and types; decoding copies nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from arterial.engine.transport.framing import frame, unframe
from arterial.network.state import Chunk

_FRAME, _ARRAYS = b"AF1\n", b"AA1\n"


def pack_chunk(chunk: Chunk) -> list[Any]:
    """A chunk as bytes in several parts, which are not put together yet."""
    if isinstance(chunk, pl.DataFrame):
        table = chunk.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return frame(_FRAME, {"lengths": [len(sink.getvalue())]}, [sink.getvalue()])
    arrays = {name: np.ascontiguousarray(array) for name, array in chunk.items()}
    columns = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    parts = [array.reshape(-1).view(np.uint8) if array.size else b"" for array in arrays.values()]
    return frame(_ARRAYS, {"columns": columns, "lengths": [len(part) for part in parts]}, parts)


def chunk_bytes(chunk: Chunk) -> int:
    """How many bytes a chunk takes in memory, about."""
    if isinstance(chunk, pl.DataFrame):
        return int(chunk.estimated_size())
    return sum(array.nbytes for array in chunk.values())


def unpack_chunk(packed: bytes | pa.Buffer) -> Chunk:
    """The chunk that was packed; its arrays lie in the given bytes and cannot be written to."""
    header, parts = unframe(packed, lambda header: header["lengths"])
    if "columns" not in header:
        tuples = pl.from_arrow(pa.ipc.open_stream(parts[0]).read_all())
        assert isinstance(tuples, pl.DataFrame)
        return tuples
    return {
        name: np.frombuffer(part, dtype=np.dtype(kind)).reshape(shape)
        for (name, kind, shape), part in zip(header["columns"], parts, strict=True)
    }
