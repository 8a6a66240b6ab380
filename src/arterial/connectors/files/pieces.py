"""The pieces into which a source's rows are put, and the file in the checkpoint that says which there are."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from arterial.connectors.files.columnar.reading import read_rows
from arterial.connectors.files.find import ARROW
from arterial.connectors.files.fingerprint import Fingerprint, what_changed
from arterial.connectors.source import Part
from arterial.errors import DataError
from arterial.network.keys.slots import of_slot, slots
from arterial.network.schema import Schema
from arterial.storage.damage import read_parquet
from arterial.storage.place import put_in_place
from arterial.storage.remote import path_of, stamp

NAME = "intake.json"
_ROW = "@row"
"""The number of a row within a piece whose rows lie by slot."""


@dataclass(frozen=True)
class Piece:
    """Rows in the order of their time, in a file of ours or, if they are in order there, of the user."""

    path: str
    kind: str
    first: int
    """The number of its first row among all rows of the source."""
    rows: int
    print: Fingerprint | None = None
    """Of a file of the user, so that a change is seen."""
    key: tuple[str, ...] = ()
    """If its rows lie by slot: the columns that slots are made by."""
    ends: tuple[int, ...] = ()
    """And where the rows of each slot end."""

    @property
    def end(self) -> int:
        """The number of the row behind its last."""
        return self.first + self.rows

    def read(self, begin: int, end: int, schema: Schema) -> pl.DataFrame:
        """Its rows between two numbers of the source's rows."""
        lower, upper = max(begin, self.first) - self.first, min(end, self.end) - self.first
        if self.print is not None and (difference := what_changed(path_of(self.path), self.print)):
            raise DataError(
                f"{self.path}: changed while it was read: it {difference}. Restore it, or begin again with another "
                "checkpoint"
            )
        if self.key:
            rows = read_rows(path_of(self.path), self.kind, 0, self.rows, (*schema.names, _ROW))
            return rows.sort(_ROW).slice(lower, upper - lower).drop(_ROW)
        rows = read_rows(path_of(self.path), self.kind, lower, upper - lower, schema.names)
        return rows if self.print is None else rows.cast(pl.Schema(schema.polars()))

    def read_slot(self, begin: int, end: int, schema: Schema, part: Part) -> pl.DataFrame:
        """Of these rows those of a slot."""
        assert part.key is not None
        if self.key != part.key or len(self.ends) != part.count:
            return of_slot(self.read(begin, end, schema), part.key, part.count, part.index)
        first, last = (0, *self.ends)[part.index], self.ends[part.index]
        rows = read_rows(path_of(self.path), self.kind, first, last - first, (*schema.names, _ROW))
        lower, upper = np.searchsorted(rows[_ROW].to_numpy(), [begin - self.first, end - self.first]).tolist()
        return rows.slice(lower, upper - lower).drop(_ROW)


@dataclass(frozen=True)
class LatePiece:
    """Rows that came too late; `at` is how many rows in order were there by then."""

    path: str
    number: int
    rows: int
    at: int


@dataclass(frozen=True)
class Pieces:
    """All pieces that tasks may still read."""

    in_order: tuple[Piece, ...]
    late: tuple[LatePiece, ...]

    @property
    def in_place(self) -> bool:
        """Whether they are files of the user."""
        return any(piece.print for piece in self.in_order)

    def read(self, begin: int, end: int, schema: Schema, part: Part | None = None) -> pl.DataFrame:
        """Rows in order, between two numbers; all, or those of a slot."""
        wanted = [piece for piece in self.in_order if piece.first < end and begin < piece.end]
        if sum(min(end, piece.end) - max(begin, piece.first) for piece in wanted) != max(0, end - begin):
            raise DataError(
                f"rows {begin:,} to {end:,} are not in the checkpoint any more; expected the position of its last steps"
            )
        frames = [
            piece.read(begin, end, schema) if part is None else piece.read_slot(begin, end, schema, part)
            for piece in wanted
        ]
        return pl.concat(frames) if frames else schema.empty()

    def read_late(self, begin: int, end: int) -> pl.DataFrame:
        """Late rows of the pieces between two numbers."""
        return pl.concat([read_parquet(path_of(piece.path)) for piece in self.late if begin <= piece.number < end])


@dataclass(frozen=True)
class SlotKey:
    """By which columns and in how many slots tasks will ask for rows."""

    key: tuple[str, ...]
    shards: int


def write_piece(path: Path, rows: pl.DataFrame, first: int, by: SlotKey | None) -> Piece:
    """Put rows into a file of ours; by slot if tasks will ask for them so, and within each in their order."""
    ends: tuple[int, ...] = ()
    if by is not None:
        owner = slots(rows, by.key, by.shards)
        ends = tuple(np.cumsum(np.bincount(owner, minlength=by.shards)).tolist())
        rows = rows.with_row_index(_ROW)[np.argsort(owner, kind="stable")]
    # Not compressed: it is read once, soon, and mostly out of the system's memory.
    put_in_place(path, lambda file: rows.write_ipc(file, compat_level=pl.CompatLevel.oldest()))
    return Piece(str(path), ARROW, first, rows.height, None, by.key if by else (), ends)


def write_late(path: Path, rows: pl.DataFrame) -> None:
    """Put rows that came too late into a file of ours."""
    put_in_place(path, lambda file: rows.write_parquet(file, compression="lz4", statistics=False))


def read_kept(folder: Path) -> dict[str, Any]:
    """What an intake kept for a restart."""
    try:
        content: dict[str, Any] = json.loads((folder / NAME).read_text())
        return content
    except (OSError, ValueError) as fault:
        raise DataError(
            f"{folder / NAME}: cannot be read: {fault}. Restore the checkpoint, or begin again with another"
        ) from None


def pieces_in(folder: Path) -> Pieces:
    """The pieces in a folder, for tasks; read again only when they changed."""
    return _pieces_in(folder, stamp(folder / NAME))


def pieces_from(content: dict[str, Any]) -> Pieces:
    """The pieces out of what was kept."""
    prints = [Fingerprint(**one["print"]) if one["print"] else None for one in content["pieces"]]
    in_order = [
        Piece(**{**one, "print": p, "key": tuple(one.get("key", ())), "ends": tuple(one.get("ends", ()))})
        for one, p in zip(content["pieces"], prints, strict=True)
    ]
    return Pieces(tuple(in_order), tuple(LatePiece(**one) for one in content["late"]))


@lru_cache(maxsize=32)
def _pieces_in(folder: Path, changed: tuple[int, int, int]) -> Pieces:
    return pieces_from(read_kept(folder))
