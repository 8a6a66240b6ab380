"""The network that is being drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from arterial.boxes.ends.source import Source
from arterial.drawing.relation import RelationHandle
from arterial.drawing.stream import StreamHandle
from arterial.errors import NetworkError
from arterial.network.box import OUT, Box
from arterial.network.drawn_at import names_the_line
from arterial.network.duration import Duration
from arterial.network.expression.tree import known_column
from arterial.network.network import Arc, NetworkValue, Port
from arterial.network.picture import svg
from arterial.network.relation import DELETED, LOADED, Relation, loading_schema
from arterial.network.schema import Schema, SchemaLike
from arterial.network.serial import from_json, to_json


@names_the_line
class Network:
    """A network that is being drawn. `value` is what was drawn so far."""

    def __init__(self, name: str) -> None:
        self.value = NetworkValue(name)

    @property
    def name(self) -> str:
        """The name of the network."""
        return self.value.name

    @classmethod
    def of(cls, value: NetworkValue) -> Network:
        """A network to draw on, that begins with that value."""
        network = cls(value.name)
        network.value = value
        return network

    @classmethod
    def from_json(cls, text: str, modules: Iterable[str] = ()) -> Network:
        """The network that the text describes; boxes of your own and functions are imported only from `modules`."""
        return cls.of(from_json(text, modules))

    def to_json(self) -> str:
        """The network as JSON text."""
        return to_json(self.value)

    def source(
        self, name: str, schema: SchemaLike, time: str = "time", disorder: Duration = 0, *, signed: bool = False
    ) -> StreamHandle:
        """A stream from outside, with tuples of that schema and the column that is their time.

        A tuple may come up to `disorder` behind the highest time before it; what is later leaves by `.late`. A `signed`
        stream has a column `sign`, int8, that is 1 where a row comes and -1 where it goes.
        """
        return self.box(Source(name, Schema.of(schema), time, disorder, signed))

    def relation(
        self,
        name: str,
        schema: SchemaLike,
        key: str | Sequence[str] = (),
        rows: Sequence[Sequence[Any] | Mapping[str, Any]] = (),
    ) -> RelationHandle:
        """A named table with a key, for `update_relation` and `read_relation`, and the rows that it begins with."""
        columns = Schema.of(schema)
        keys = (key,) if isinstance(key, str) else tuple(key)
        tuples = []
        for row in rows:
            if isinstance(row, Mapping):
                for column in row:
                    known_column(column, columns.names, f"the relation {name!r}")
                row = [row.get(column) for column in columns.names]
            tuples.append(tuple(row))
        try:
            return RelationHandle(Relation(name, columns, keys, tuple(tuples)))
        except NetworkError as mistake:
            raise NetworkError(f"network {self.name!r}: {mistake}") from None

    def loaded_relation(
        self, name: str, schema: SchemaLike, key: str | Sequence[str], time: Any = int
    ) -> RelationHandle:
        """A relation whose rows are those of a file or table outside: `run(net, places="places.csv")`.

        Its name is that of a source: a path of a CSV or Parquet file, a frame, `sqlite:///city.db?table=places`,
        `postgresql://…`, or a `TableSource`. With `refresh=1 minute` a file or table is looked at again.
        `time` is the type of the time of the streams that read it. The first rows hold from the beginning of time.
        """
        relation = self.relation(name, schema, key)
        kind = Schema.of({LOADED: time})[LOADED]
        try:
            columns = loading_schema(relation.relation, kind)
        except NetworkError as mistake:
            raise NetworkError(f"network {self.name!r}: {mistake}") from None
        key_name = self.free_name(f"{name}_by_key")
        rows = self.source(name, columns, LOADED).group_by(*relation.relation.key, name=key_name)
        values = {field.name: f'"{field.name}"' for field in relation.relation.values}
        rows.update_relation(self.free_name(f"load_{name}"), relation, values, delete=DELETED)
        return relation

    @contextmanager
    def composed(self, name: str) -> Iterator[None]:
        """Let the boxes that are drawn inside of the `with` be parts of one composed box."""
        before = len(self.value.boxes)
        yield
        self.group(name, [box.name for box in self.value.boxes[before:]])

    def box(self, box: Box, **inputs: StreamHandle) -> StreamHandle:
        """Add any box, with the stream for each of its inputs by the name of the port."""
        for port, stream in inputs.items():
            if not isinstance(stream, StreamHandle):
                raise NetworkError(
                    f"network {self.name!r}, box {box.name!r}: expected a stream for input {port!r}, got {stream!r}"
                )
            if stream.network is not self:
                raise NetworkError(
                    f"network {self.name!r}, box {box.name!r}: the stream for input {port!r} "
                    f"is of another network, {stream.network.name!r}"
                )
        arcs = tuple(Arc(stream.port, Port(box.name, port)) for port, stream in inputs.items())
        old = self.value
        self.value = NetworkValue(old.name, (*old.boxes, box), (*old.arcs, *arcs), old.groups)
        return StreamHandle(self, Port(box.name, box.outputs[0] if box.outputs else ""))

    def stream(self, box: str, port: str = OUT) -> StreamHandle:
        """The stream that leaves a box that was drawn before."""
        return StreamHandle(self, Port(box, OUT)).port_named(port)

    def group(self, name: str, boxes: Sequence[str]) -> None:
        """Let these boxes be shown and spoken of as one composed box."""
        if name in self.value.groups:
            raise NetworkError(f"network {self.name!r}: two groups are named {name!r}; give one another name")
        for box in boxes:
            self.value.box(box)
        old = self.value
        self.value = NetworkValue(old.name, old.boxes, old.arcs, {**old.groups, name: tuple(boxes)})

    def _repr_html_(self) -> str:
        """The picture that a notebook shows."""
        return svg(self.value)

    def free_name(self, base: str) -> str:
        """The base, or the base with a number, so that no box has it."""
        names = {box.name for box in self.value.boxes}
        number = 2
        name = base
        while name in names:
            name, number = f"{base}_{number}", number + 1
        return name
