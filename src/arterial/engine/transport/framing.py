"""A header and several buffers as one run of bytes, which is taken apart without copying.

Four bytes that say what it is, the length of the header, the header as JSON, then each buffer at a multiple of 64.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

_ALIGN = 64
_LENGTH = struct.Struct("<I")

Header = dict[str, Any]


def frame(kind: bytes, header: Mapping[str, Any], parts: Sequence[Any]) -> list[Any]:
    """The bytes in several parts, which are not put together yet."""
    text = json.dumps(header, separators=(",", ":")).encode()
    framed: list[Any] = [kind, _LENGTH.pack(len(text)), text]
    at = 8 + len(text)
    for part in parts:
        framed += [bytes(-at % _ALIGN), part]
        at += -at % _ALIGN + len(part)
    return framed


def read_header(packed: bytes | memoryview) -> tuple[Header, int]:
    """The header, and where it ends."""
    at = 8 + _LENGTH.unpack_from(packed, 4)[0]
    return json.loads(bytes(packed[8:at])), at


def unframe(packed: bytes | pa.Buffer, lengths: Callable[[Header], Sequence[int]]) -> tuple[Header, list[pa.Buffer]]:
    """The header and the buffers, where they lie; `lengths` finds in the header how long each is."""
    buffer = packed if isinstance(packed, pa.Buffer) else pa.py_buffer(packed)
    header, at = read_header(memoryview(buffer))
    parts = []
    for length in lengths(header):
        at += -at % _ALIGN
        parts.append(buffer.slice(at, length))
        at += length
    return header, parts
