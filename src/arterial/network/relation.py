"""Relations: named tables with a key, read and updated from anywhere in the network (thesis §5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arterial.errors import NetworkError
from arterial.network.expression.tree import known_column
from arterial.network.schema import Field, Schema, Type

LOADED, DELETED = "loaded", "deleted"
"""The columns that the source of a loaded relation has beside its own: since when, and whether the row is gone."""

_PYTHON: dict[Type, type | tuple[type, ...]] = {
    Type.FLOAT64: (float, int),
    Type.STRING: str,
    Type.BOOL: bool,
    Type.TIMESTAMP: datetime,
}


@dataclass(frozen=True)
class Relation:
    """A table: its columns, the columns of its key, and the rows that it begins with.

    At most one row for each value of the key; no key means a table of one row.
    """

    name: str
    schema: Schema
    key: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...] = ()

    def __post_init__(self) -> None:
        for name in self.key:
            known_column(name, self.schema.names, f"the relation {self.name!r}")
        if not self.values:
            raise NetworkError(f"the relation {self.name!r} needs a column beside its key ({', '.join(self.key)})")
        places = [self.schema.names.index(name) for name in self.key]
        seen = set()
        for row in self.rows:
            if len(row) != len(self.schema.fields):
                raise NetworkError(f"the relation {self.name!r} has the columns {self.schema}, got the row {row}")
            for field, value in zip(self.schema, row, strict=True):
                if value is not None and not isinstance(value, _PYTHON.get(field.type, int)):
                    raise NetworkError(
                        f"the relation {self.name!r} has {field.name!r} as {field.type}, got {value!r} in the row {row}"
                    )
            key = tuple(row[place] for place in places)
            if key in seen:
                raise NetworkError(f"the relation {self.name!r} has two rows for the key {key}")
            seen.add(key)

    @property
    def values(self) -> tuple[Field, ...]:
        """The columns beside the key."""
        return tuple(field for field in self.schema if field.name not in self.key)


def loading_schema(relation: Relation, time: Type) -> Schema:
    """The columns of the source that loads a relation: the key, `deleted`, the values, `loaded`."""
    for name in (LOADED, DELETED):
        if name in relation.schema:
            raise NetworkError(
                f"the relation {relation.name!r} must not have a column {name!r}: its source has it; rename it"
            )
    if time not in (Type.INT64, Type.TIMESTAMP):
        raise NetworkError(
            f"the relation {relation.name!r}: expected int or 'timestamp' as the time of the streams that read it, "
            f"got {time}"
        )
    keys = [Field(name, relation.schema[name]) for name in relation.key]
    return Schema((*keys, Field(DELETED, Type.BOOL), *relation.values, Field(LOADED, time)))


def loaded_columns(schema: Schema, time: str) -> tuple[Schema, tuple[str, ...]] | None:
    """The columns of the table behind a source that loads a relation, and its key; None if it is another source."""
    if time != LOADED or schema.names[-1] != LOADED or DELETED not in schema:
        return None
    key = schema.names[: schema.names.index(DELETED)]
    return Schema(tuple(field for field in schema if field.name not in (LOADED, DELETED))), tuple(key)
