"""A source for `net.loaded_relation`: a table outside, complete from the beginning of time, and looked at again.

The position is the number of a version. Each version is kept in the checkpoint before a step may refer to it, so that a
step that is run again loads the same rows, whatever has become of the table.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from arterial.connectors.csv import read_texts
from arterial.connectors.frames import frame_from, is_frame
from arterial.connectors.memory_source import MemorySource
from arterial.connectors.source import Ask, Part, Progress, Source
from arterial.errors import DataError
from arterial.network.box import Stream
from arterial.network.duration import Duration, units
from arterial.network.keys.slots import pieces
from arterial.network.relation import DELETED, LOADED, loaded_columns
from arterial.network.schema import Schema, Type
from arterial.network.train import BEGIN, END, FURTHEST, Train
from arterial.storage.place import put_in_place

_FIRST_MICROSECOND = -62_135_596_800_000_000
"""The beginning of the year 1, before which no timestamp is."""

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


@dataclass(frozen=True)
class TableSource(Source):
    """A table outside, as the rows of a loaded relation. A subclass says how it is read (`load`).

    - The rows that the run begins with hold from the beginning of time: no tuple is read before they are loaded.
    - With `refresh` the table is looked at again so often. If it changed, its new rows hold from the first instant that
      no step had read when that was seen. What cannot be read then is left for the next time, and the old rows hold.
    - It ends with the other sources.
    """

    refresh: Duration | None = field(default=None, kw_only=True)
    name: str = field(default="", kw_only=True)
    columns: Schema | None = field(default=None, kw_only=True)
    kind: Type = field(default=Type.INT64, kw_only=True)
    key: tuple[str, ...] = field(default=(), kw_only=True)
    folder: str = field(default="", kw_only=True)
    _looked: dict[str, Any] = field(default_factory=dict, kw_only=True, compare=False, repr=False)

    keeps_up: ClassVar[bool] = True

    @abstractmethod
    def load(self, schema: Schema) -> pl.DataFrame:
        """All rows, with these columns. Raises `DataError` if it cannot be read."""

    def mark(self) -> object:
        """What differs if the table may have changed; cheap. None: load it to know."""
        return None

    def bind(self, name: str, schema: Schema, time: str, folder: Path) -> TableSource:
        """Read it once, so that what is wrong with it is said at the start."""
        found = loaded_columns(schema, time)
        if found is None:
            raise DataError(
                f"source {name!r}: a {type(self).__name__} is for a relation; draw it with net.loaded_relation(…)"
            )
        columns, key = found
        if self.refresh is not None:
            units(self.refresh, Type.TIMESTAMP, "refresh")
        kept = folder / "sources" / name
        kept.mkdir(parents=True, exist_ok=True)
        bound = replace(self, name=name, columns=columns, key=key, kind=schema[time], folder=str(kept), _looked={})
        bound.load(columns)
        return bound

    def begin(self) -> Progress:
        """Before the first version."""
        return Progress({"version": 0, "at": BEGIN})

    def plan(self, before: Progress, ask: Ask) -> Progress:
        """As far as the others go; with a new version, if there is one."""
        until = END if ask.until is None else ask.until
        if before.through == END:
            return before
        version = int(before.position["version"])
        rows = self._changed(version, ask.now)
        if rows is not None:
            at = max(before.through + 1, _first(self.kind))
            put_in_place(self._version(version + 1), rows.write_parquet)
            return Progress({"version": version + 1, "at": at}, max(until, at))
        return Progress(before.position, until) if until > before.through else before

    def read(self, before: Progress, after: Progress, part: Part) -> pl.DataFrame:
        """The rows that are new or other than before, and the keys that are gone."""
        assert self.columns is not None
        old, new = (self._rows(progress) for progress in (before, after))
        names, keys = list(self.columns.names), list(self.key)
        stamp = pl.lit(int(after.position["at"]), pl.Int64).cast(self.kind.polars).alias(LOADED)
        came = new.join(old, on=names, how="anti", nulls_equal=True).with_columns(stamp, pl.lit(False).alias(DELETED))
        gone = old.head(0 if new.height else 1) if not keys else old.join(new, on=keys, how="anti", nulls_equal=True)
        gone = gone.with_columns(stamp, pl.lit(True).alias(DELETED))
        order = [*keys, DELETED, *(name for name in names if name not in keys), LOADED]
        return pieces(pl.concat([gone, came]).select(order), part.count)[part.index]

    def _changed(self, version: int, now: float) -> pl.DataFrame | None:
        """The rows, if the table has changed since that version and it is time to look."""
        assert self.columns is not None
        looked = self._looked
        if version > 0:
            if self.refresh is None:
                return None
            if "at" in looked and now < looked["at"] + units(self.refresh, Type.TIMESTAMP, "refresh") / 1e6:
                return None
        looked["at"] = now
        try:
            mark = self.mark()
            if version > 0 and mark is not None and looked.get("mark") == mark:
                return None
            rows = self.load(self.columns)
            if self.mark() != mark:
                return None  # it is being written; look again
        except (DataError, OSError):
            if version == 0:
                raise
            return None
        looked["mark"] = mark
        return None if version > 0 and rows.equals(pl.read_parquet(self._version(version))) else rows

    def _version(self, number: int) -> Path:
        return Path(self.folder) / f"version-{number:06d}.parquet"

    def _rows(self, progress: Progress) -> pl.DataFrame:
        assert self.columns is not None
        version = int(progress.position["version"])
        return pl.read_parquet(self._version(version)) if version else self.columns.empty()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_looked": {}}


def table_from(value: Any, name: str, stream: Stream) -> Source | None:
    """What a user means by a path, a URI of a file, or a frame behind a loaded relation; None for other sources.

    `places.csv?refresh=1 minute` looks again.
    """
    found = loaded_columns(stream.schema, stream.time)
    if found is None:
        return None
    if is_frame(value):
        columns = found[0]
        at = pl.lit(_first(stream.schema[LOADED]), pl.Int64).cast(stream.schema[LOADED].polars).alias(LOADED)
        rows = frame_from(value, columns, f"source {name!r}").with_columns(at, pl.lit(False).alias(DELETED))
        return MemorySource([Train(rows.select(stream.schema.names), END)])
    path, _, option = str(value).partition("?")
    refresh = option.removeprefix("refresh=") if option else None
    if option and refresh == option:
        raise DataError(f"source {name!r}: {value}: expected FILE or FILE?refresh=DURATION")
    return FileTable(path.removeprefix("file://"), refresh=refresh)


def _first(kind: Type) -> int:
    return _FIRST_MICROSECOND if kind is Type.TIMESTAMP else -FURTHEST


@dataclass(frozen=True)
class FileTable(TableSource):
    """A CSV file with a header, or a Parquet file, as a table: `FileTable("places.csv", refresh="1 minute")`.

    A value that does not fit its column, and a key that comes twice, are errors: half a table would give wrong answers.
    """

    path: str | Path = ""

    def load(self, schema: Schema) -> pl.DataFrame:
        """All rows of the file."""
        path = Path(self.path)
        lines: Any
        if not path.is_file():
            raise DataError(f"source {self.name!r}: {path} does not exist; expected a CSV or Parquet file")
        if path.suffix.lower() == ".parquet":
            try:
                rows = frame_from(pl.read_parquet(path), schema, str(path))
            except (pl.exceptions.PolarsError, OSError) as trouble:
                raise DataError(f"{path}: cannot be read as Parquet: {str(trouble).splitlines()[0]}") from None
            what, lines = "row", range(1, rows.height + 1)
        else:
            what, (rows, lines) = "line", _from_csv(path, schema)
        if not self.key:
            if rows.height > 1:
                raise DataError(
                    f"{path}: expected one row, as the relation {self.name!r} has no key; got {rows.height}"
                )
            return rows
        first = rows.select(pl.struct(self.key).is_first_distinct().alias("first"))["first"]
        if not first.all():
            at = int((~first).arg_max() or 0)
            key = ", ".join(str(value) for value in rows.select(self.key).row(at))
            raise DataError(f"{path}: {what} {lines[at]}: the key {key} comes a second time")
        return rows

    def mark(self) -> object:
        """When it was written, and how long it is."""
        found = Path(self.path).stat()
        return found.st_mtime_ns, found.st_size, found.st_ino


def _from_csv(path: Path, schema: Schema) -> tuple[pl.DataFrame, Any]:
    found = read_texts(path)
    if found.rejects:
        raise DataError(f"{path}: line {found.rejects[0].line}: {found.rejects[0].reason}")
    if missing := [name for name in schema.names if name not in found.rows.columns]:
        raise DataError(
            f"{path}: line 1: the column {', '.join(map(repr, missing))} is missing; "
            f"it has: {', '.join(found.rows.columns)}"
        )
    rows = found.rows.select(_typed(column.name, column.type) for column in schema)
    for name in schema.names:
        wrong = (rows[name].is_null() & found.rows[name].is_not_null()).arg_true()
        if len(wrong):
            at = int(wrong[0])
            raise DataError(
                f"{path}: line {found.lines[at]}: {name} is {found.rows[name][at]!r}, expected {schema[name]}"
            )
    return rows, found.lines


def _typed(name: str, kind: Type) -> pl.Expr:
    bare = pl.col(name).str.strip_chars()
    if kind is Type.BOOL:
        lower = bare.str.to_lowercase()
        return pl.when(lower.is_in(_TRUE)).then(True).when(lower.is_in(_FALSE)).then(False).otherwise(None).alias(name)
    if kind is Type.TIMESTAMP:
        return bare.str.to_datetime(time_unit="us", strict=False)
    return pl.col(name) if kind is Type.STRING else bare.cast(kind.polars, strict=False)
