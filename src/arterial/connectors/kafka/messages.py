"""Messages as rows: an object of JSON, a record of CSV or a message of Protobuf each, or an Arrow stream of any number.

A message that does not fit is set aside with its topic, partition and offset; the others are read as if it were not
there. Confluent's serializers write a zero and the number of a schema before the value: JSON is read, without a look at
its schema; so is Protobuf, by its own descriptor. Avro is set aside with a reason that says so.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from arterial.connectors.csv import Header, read_header, split_records
from arterial.connectors.files.blocks import (
    Block,
    Place,
    Reading,
    check_names,
    read_csv_lines,
    read_frame,
    read_json_lines,
)
from arterial.connectors.files.json_lines import is_blank
from arterial.connectors.kafka.protobuf import ProtobufLines
from arterial.connectors.values import TimeOptions
from arterial.errors import DataError
from arterial.network.schema import Schema

JSON, CSV, ARROW, PROTOBUF = "json", "csv", "arrow", "protobuf"
FORMATS = (JSON, CSV, ARROW)
"""What an output writes; a source reads Protobuf too."""
COLUMNS = ("topic", "partition", "offset", "reason", "text")
_SHOWN = 1000
_HEAD = 5
"""The length of what Confluent's serializers write before the value."""

Value = bytes | None


class MessageReject(NamedTuple):
    """A message that is set aside."""

    topic: str
    partition: int
    offset: int
    reason: str
    text: str


class _Unfit(NamedTuple):
    """A message that does not fit, by its place among those that were read together."""

    place: int
    reason: str


@dataclass
class MessageReader:
    """Reads messages of a topic as rows; `columns` are the names in CSV, in their order, by default the schema's."""

    schema: Schema
    format: str = JSON
    columns: str | None = None
    times: TimeOptions = field(default_factory=TimeOptions)
    protobuf: ProtobufLines | None = None
    """What makes lines of JSON of messages of Protobuf."""
    units: dict[str, str] = field(default_factory=dict)
    """The units of numbers that were recognised in columns of timestamps."""
    where: str = ""
    """Whose messages they are, for errors."""

    def __post_init__(self) -> None:
        names = self.columns or ",".join(self.schema.names)
        header = read_header(io.BytesIO(names.encode() + b"\n"), f"{self.where}: columns")
        assert header is not None
        if self.format == CSV:
            check_names(f"{self.where}: columns", header.names, self.schema)
        self._header: Header = header

    def read(self, values: Sequence[Value]) -> tuple[pl.DataFrame, list[_Unfit]]:
        """The rows of some messages, in their order, and those that do not fit."""
        if self.format == ARROW:
            return self._read_arrow(values)
        if self.protobuf is None and all(values):  # usually each is a line
            data = b"\n".join(values) + b"\n"  # type: ignore[arg-type]
            if b"\0" not in data and data.count(b"\n") == len(values):
                block = self._read_lines(data)
                if block.rows.height + len(block.rejects) == len(values):  # none is blank
                    return block.rows, [_Unfit(one.line - 1, one.reason) for one in block.rejects]
        return self._read_one_by_one(values)

    def _line(self, value: Value) -> tuple[bytes, str]:
        if self.protobuf is None:
            line, fault = _line(value, self.format)
            is_bare = fault or self.format != CSV or b'"' not in line
            return (line, fault) if is_bare else (line, self._record_fault(line))
        if value is None:
            return b"", _NO_VALUE
        try:
            return self.protobuf.line(value), ""
        except DataError as fault:
            return b"", str(fault)

    def _record_fault(self, value: bytes) -> str:
        """Why a message with quotes is not one record of CSV: what is not closed would reach into the next message."""
        records, rejects, *_ = split_records(value + b"\n", self._header, final=True)
        if not rejects and len(records.starts) == 1 and records.ends[0] == len(value):  # all of it, so no blank lines
            return ""
        return _SEVERAL if b"\n" in value else rejects[0].reason

    def _read_lines(self, data: bytes, *, by_line: bool = True) -> Block:
        """The rows of some lines. Not `by_line`: a field in quotes may hold line ends."""
        place, reading = Place(units=self.units), Reading(self.schema, self.times)
        if self.format in (JSON, PROTOBUF):
            return read_json_lines(data, reading, place)
        return read_csv_lines(data, self._header, reading, place, by_line=by_line)

    def _read_one_by_one(self, values: Sequence[Value]) -> tuple[pl.DataFrame, list[_Unfit]]:
        lines, places, unfit = [], {}, []
        passed = 1
        for place, value in enumerate(values):
            line, fault = self._line(value)
            if fault:
                unfit.append(_Unfit(place, fault))
            else:
                lines.append(line)
                places[passed] = place
                passed += 1 + line.count(b"\n")
        if not places:
            return self.schema.empty(), unfit
        block = self._read_lines(b"\n".join(lines) + b"\n", by_line=False)
        unfit += [_Unfit(places[one.line], one.reason) for one in block.rejects]
        return block.rows, sorted(unfit)

    def _read_arrow(self, values: Sequence[Value]) -> tuple[pl.DataFrame, list[_Unfit]]:
        frames, unfit = [], []
        for place, value in enumerate(values):
            try:
                frames.append(self._rows(value))
            except DataError as fault:
                unfit.append(_Unfit(place, str(fault)))
        return pl.concat(frames) if frames else self.schema.empty(), unfit

    def _rows(self, value: Value) -> pl.DataFrame:
        if not value:
            raise DataError(_NOTHING)
        try:
            table = pa.ipc.open_stream(value).read_all()
            if not set(self.schema.names) - set(table.column_names):
                table = table.select([at for at, name in enumerate(table.column_names) if name in self.schema])
            table.validate(full=True)  # Polars believes what is said of the lengths of texts, and crashes
            rows = pl.DataFrame(pl.from_arrow(table))
        except (
            pa.ArrowException,
            OSError,
            ValueError,
            pl.exceptions.PolarsError,
            pl.exceptions.PanicException,
        ) as fault:
            raise DataError(f"is not a stream of Arrow: {str(fault).splitlines()[0]}") from None
        block = read_frame(rows, "the message", Reading(self.schema, self.times), Place(units=self.units))
        if block.rejects:
            raise DataError(f"row {block.rejects[0].line}: {block.rejects[0].reason}")
        return block.rows


def shown(value: Value) -> str:
    """The beginning of a message, for people."""
    return (value or b"")[:_SHOWN].decode("utf-8", errors="replace")


_NO_VALUE = "has no value: it deletes its key (a tombstone)"
_NOTHING = f"{_NO_VALUE}, or is empty"
_SEVERAL = "has several lines; expected one record, with line ends only within quotes"


def _line(value: Value, form: str) -> tuple[bytes, str]:
    """A message as one line; or why it is none."""
    if value is None or is_blank(value):
        return b"", _NOTHING
    if value[0] == 0 and len(value) > _HEAD:
        number = int.from_bytes(value[1:_HEAD], "big")
        value = value[_HEAD:]
        if form != JSON or not value.lstrip().startswith(b"{"):
            return b"", (
                f"has Confluent's registry format (schema {number}), and what follows is not JSON: Avro is not "
                "read, and Protobuf with format=protobuf. Let the producer write JSON, or convert the topic"
            )
    if form == JSON:  # between values a tab is as good as a line end, and within a text neither may stand as it is
        return value.replace(b"\n", b"\t"), ""
    value = value.removesuffix(b"\n").removesuffix(b"\r")
    is_record = b"\n" not in value or b'"' in value  # in quotes, a line end belongs to a field
    return (value, "") if is_record else (b"", _SEVERAL)
