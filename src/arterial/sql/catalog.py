"""What a query can ask: streams and tables by name, and which of a stream's columns say who, where and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arterial.errors import NetworkError
from arterial.network.expression.tree import known_column
from arterial.network.schema import Schema, SchemaLike, Type

OBJECT_NAMES = ("object", "objectid", "object_id", "oid", "id", "vid", "vehicle", "vehicleid", "vehicle_id", "name")
X_NAMES = ("x", "lon", "lng", "longitude", "long", "pos_x", "xpos")
Y_NAMES = ("y", "lat", "latitude", "pos_y", "ypos")
TIME_NAMES = ("t", "time", "timestamp", "ts", "at", "datetime", "seconds")


@dataclass(frozen=True)
class StreamEntry:
    """A stream. To a query it is a relation: the latest report of each object.

    Without an `object` column every tuple stays in it. `x` and `y` are needed for GPAC clauses only.
    """

    schema: Schema
    time: str
    object: str | None = None
    x: str | None = None
    y: str | None = None

    @classmethod
    def of(
        cls,
        columns: SchemaLike,
        *,
        time: str | None = None,
        object: str | None = None,
        x: str | None = None,
        y: str | None = None,
    ) -> StreamEntry:
        """A stream of these columns; what is not said is found by the usual names, such as `t`, `ObjectID`, `x`, `y`.

        >>> StreamEntry.of({"T": int, "ObjectID": int, "X": float, "Y": float}).object
        'ObjectID'
        """
        schema = Schema.of(columns)
        when = time or column_like(schema, TIME_NAMES)
        if when is None:
            raise NetworkError(
                f"a stream needs a column for the time, named {', '.join(TIME_NAMES[:3])} or as you say; "
                f"it has: {', '.join(schema.names)}. Without a time it is a table."
            )
        for given in (time, object, x, y):
            if given is not None:
                known_column(given, schema.names)
        return cls(
            schema,
            when,
            object or column_like(schema, OBJECT_NAMES),
            x or column_like(schema, X_NAMES, numbers=True),
            y or column_like(schema, Y_NAMES, numbers=True),
        )


@dataclass(frozen=True)
class TableEntry:
    """A table: rows that are there from the beginning and stay."""

    schema: Schema

    @classmethod
    def of(cls, columns: SchemaLike) -> TableEntry:
        """A table of these columns."""
        return cls(Schema.of(columns))


@dataclass(frozen=True)
class Catalog:
    """The streams and tables by name, and named areas: `{"MyArea": "0, 10, 10, 0"}` for `GPAC-IN MyArea`."""

    entries: Mapping[str, StreamEntry | TableEntry]
    areas: Mapping[str, str] = field(default_factory=dict)


def column_like(schema: Schema, names: tuple[str, ...], numbers: bool = False) -> str | None:
    """The column that has the first of these names, however it is capitalised."""
    known = {field.name.lower(): field for field in reversed(schema.fields)}
    for name in names:
        if name in known and (not numbers or known[name].type.is_number):
            return known[name].name
    return None


def counts_alike(first: Type, second: Type) -> bool:
    """Whether two time columns count in the same unit."""
    return (first is Type.TIMESTAMP) == (second is Type.TIMESTAMP)
