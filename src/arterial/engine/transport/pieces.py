"""Long rows in pieces: on its way through Spark a row is copied a dozen times, and short copies stay in the cache."""

from __future__ import annotations

import struct
from collections.abc import Iterable

PIECE = b"AP1\n"
PIECE_BYTES = 1 << 20

_LABEL = struct.Struct("<4siiqii")  # magic, level, version, sender, index, how many


def cut(packed: bytes, level: int, version: int, sender: int) -> list[bytes]:
    """A packed consignment to a level as rows; the sender is one of a kind among those that send there in a step.

    >>> [len(row) for row in cut(bytes(2 * PIECE_BYTES + 5), level=0, version=1, sender=3)] == [
    ...     _LABEL.size + PIECE_BYTES, _LABEL.size + PIECE_BYTES, _LABEL.size + 5]
    True
    """
    if len(packed) <= PIECE_BYTES:
        return [packed]
    view = memoryview(packed)
    begins = range(0, len(packed), PIECE_BYTES)
    return [
        b"".join([_LABEL.pack(PIECE, level, version, sender, n, len(begins)), view[begin : begin + PIECE_BYTES]])
        for n, begin in enumerate(begins)
    ]


def address_of_piece(row: bytes) -> tuple[int, int]:
    """The level and the version of the network that a piece is for."""
    _, level, version, *_ = _LABEL.unpack_from(row)
    return level, version


def whole(rows: Iterable[bytes]) -> list[bytes]:
    """The rows with their pieces put together, in whatever order they come.

    >>> long = bytes(range(256)) * 9000
    >>> whole([b"short", *reversed(cut(long, 0, 1, 3))]) == [b"short", long]
    True
    """
    found: list[bytes] = []
    pieces: dict[int, dict[int, bytes]] = {}
    counts: dict[int, int] = {}
    for row in rows:
        if row[:4] != PIECE:
            found.append(row)
            continue
        _, _, _, sender, index, counts[sender] = _LABEL.unpack_from(row)
        pieces.setdefault(sender, {})[index] = row
    for sender, some in pieces.items():
        assert len(some) == counts[sender], f"{counts[sender] - len(some)} pieces from {sender} did not arrive"
        found.append(b"".join(memoryview(some[n])[_LABEL.size :] for n in range(len(some))))
    return found
