"""The layouts in which answers are written and read, one a file; a new one is registered in `DIALECTS`.

Others import everything from this package. Begin with `dialect` (what a layout is) and `paper` (the default one);
`writing` and `reading` work for any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from arterial.errors import ArterialError
from arterial.linearroad.formats.dialects.dialect import FLAT_FILE, Dialect
from arterial.linearroad.formats.dialects.files import (
    BYTE_ORDER_MARK,
    chunks_of,
    left_aside,
    output_files,
    read_chunk,
)
from arterial.linearroad.formats.dialects.original import ORIGINAL
from arterial.linearroad.formats.dialects.paper import PAPER
from arterial.linearroad.formats.dialects.reading import KEPT_FAULTS, parse, read_output
from arterial.linearroad.formats.dialects.walmart import WALMART
from arterial.linearroad.formats.dialects.writing import encode, write_output

__all__ = [
    "BYTE_ORDER_MARK",
    "DIALECTS",
    "FLAT_FILE",
    "KEPT_FAULTS",
    "PAPER",
    "Dialect",
    "DialectError",
    "chunks_of",
    "dialect",
    "encode",
    "left_aside",
    "output_files",
    "parse",
    "read_chunk",
    "read_output",
    "write_output",
]

DIALECTS: Mapping[str, Dialect] = MappingProxyType({d.name: d for d in (PAPER, ORIGINAL, WALMART)})


class DialectError(ArterialError):
    """A dialect that does not exist."""


def dialect(name: str) -> Dialect:
    """The dialect of that name."""
    if name not in DIALECTS:
        raise DialectError(f"No dialect {name!r}: there are {', '.join(DIALECTS)}.")
    return DIALECTS[name]
