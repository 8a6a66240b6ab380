"""Messages of Protobuf as lines of JSON, by a descriptor file: `protoc --include_imports --descriptor_set_out=FILE`.

Each column of the source is a field of the message with the same name. An enumeration is the name of its value, or in a
column of integers its number; a `google.protobuf.Timestamp` is a time. A field that can be absent, and is, is null.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arterial.errors import DataError, near
from arterial.network.schema import Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

TIMESTAMP = "google.protobuf.Timestamp"
_HEAD = 5
"""The length of what Confluent's serializers write first; then they say which message of the schema follows."""
_DEEPEST, _MOST_SHIFT = 32, 63
_TOO_LONG = "its place in its schema is too long"
"""More can only be there by mistake, or to keep a reader busy."""


class ProtobufLines:
    """Makes a line of each message; `message` is its full name, and may be left out where the file has only one."""

    def __init__(self, descriptor: str, message: str, schema: Schema, where: str) -> None:
        from google.protobuf.message_factory import GetMessageClass

        kind, self._place = _message(descriptor, message, where)
        self._class = GetMessageClass(kind)
        self._fields: list[tuple[str, FieldDescriptor, bool]] = []
        for column in schema:
            field = kind.fields_by_name.get(column.name)
            if field is None:
                raise DataError(
                    f"{where}: the message {kind.full_name} has no field {column.name!r}"
                    + near(column.name, kind.fields_by_name)
                )
            if field.is_repeated or field.type == field.TYPE_BYTES or not _is_value(field):
                raise DataError(
                    f"{where}: the field {column.name!r} of {kind.full_name} is not a single number, text, truth "
                    f"value, enumeration or {TIMESTAMP}; leave the column out of the source"
                )
            self._fields.append((column.name, field, column.type.is_integer))

    def line(self, value: bytes) -> bytes:
        """A message as an object of JSON; raises `DataError` if it is none. One without a byte has all its defaults."""
        from google.protobuf.message import DecodeError

        try:
            place, content = _without_head(value)
            message = self._class.FromString(content)
        except (DecodeError, IndexError) as fault:
            raise DataError(f"is not a message of Protobuf: {fault}") from None
        if place is not None and place != self._place:
            # What another message means would be read into the fields of this one.
            raise DataError(
                f"is message {_counted(place)} of its schema (Confluent's registry format), and "
                f"{self._class.DESCRIPTOR.full_name} is message {_counted(self._place)} of the file of descriptors"
            )
        said = {}
        for name, field, as_number in self._fields:
            try:
                said[name] = _plain(message, field, as_number)
            except ValueError as fault:  # such as a time of no year
                raise DataError(f"{name}: {fault}") from None
        return json.dumps(said, separators=(",", ":")).encode()


def _message(descriptor: str, message: str, where: str) -> tuple[Descriptor, list[int]]:
    """The message, and its place among those of its file."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError

    if not descriptor:
        raise DataError(
            f"{where}: format=protobuf needs descriptor=FILE, which protoc --include_imports --descriptor_set_out=FILE "
            "writes; and message=NAME, if it has several"
        )
    try:
        files = FileDescriptorSet.FromString(Path(descriptor).read_bytes())
        pool = DescriptorPool()
        for file in files.file:
            pool.AddSerializedFile(file.SerializeToString())
    except (OSError, DecodeError, TypeError) as fault:
        raise DataError(
            f"{where}: {descriptor} is not a file of descriptors ({fault}); write it with protoc --include_imports "
            "--descriptor_set_out=FILE"
        ) from None
    names = {
        f"{file.package}.{one.name}".lstrip("."): [place]
        for file in files.file
        if file.package != "google.protobuf"
        for place, one in enumerate(file.message_type)
    }
    if not message and len(names) == 1:
        message = next(iter(names))
    if message not in names:
        got = f"message is {message!r}" if message else "there is no message="
        raise DataError(f"{where}: {got}; {descriptor} has: {', '.join(names) or 'none'}{near(message, names)}")
    return pool.FindMessageTypeByName(message), names[message]


def _is_value(field: FieldDescriptor) -> bool:
    return field.message_type is None or field.message_type.full_name == TIMESTAMP


def _plain(message: Any, field: FieldDescriptor, as_number: bool) -> Any:
    if field.has_presence and not message.HasField(field.name):
        return None
    value = getattr(message, field.name)
    if field.message_type is not None:
        return value.ToJsonString()
    if field.enum_type is not None and not as_number:
        named = field.enum_type.values_by_number.get(value)
        return named.name if named else str(value)
    return value


def _without_head(value: bytes) -> tuple[list[int] | None, bytes]:
    """The place of the message in its schema, and the rest, where Confluent's serializers wrote that first; None for
    the place where they did not. No message of Protobuf begins with a zero byte."""
    if value[:1] != b"\0":
        return None, value
    count, at = _varint(value, _HEAD)
    if count > _DEEPEST:
        raise IndexError(_TOO_LONG)
    place = []
    for _ in range(count):
        index, at = _varint(value, at)
        place.append(index)
    return place or [0], value[at:]


def _counted(place: list[int]) -> str:
    """A place as people count; a message within another one has several."""
    return ".".join(str(index + 1) for index in place)


def _varint(value: bytes, at: int) -> tuple[int, int]:
    """A number of the list that says which message it is, in Protobuf's zigzag, and where the next byte is."""
    number = shift = 0
    while True:
        byte = value[at]
        if shift > _MOST_SHIFT:
            raise IndexError(_TOO_LONG)
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
