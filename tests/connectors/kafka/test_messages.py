"""Messages as rows, and URIs, without a broker."""

from __future__ import annotations

import json
import struct
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from confluent_kafka import KafkaException

from arterial.connectors.kafka.cluster import Cluster
from arterial.connectors.kafka.messages import PROTOBUF, MessageReader
from arterial.connectors.kafka.protobuf import ProtobufLines
from arterial.connectors.kafka.sink import KafkaSink
from arterial.connectors.kafka.source import OPTIONS, KafkaSource
from arterial.connectors.uri import sink_from
from arterial.errors import ArterialError, DataError, RunError
from arterial.network.schema import Schema
from tests.connectors.kafka.test_source import arrow

SCHEMA = Schema.of({"t": int, "name": str, "at": "timestamp"})


@pytest.mark.parametrize("bad", [None, b"", b" ", b"{", b"7", b'{"t": "x"}', b"\xff", b"\0\0\0\0\1x", b"{}\n{}"])
def test_each_message_is_judged_by_itself(bad: bytes | None) -> None:
    good = [json.dumps({"t": n, "name": "a\nb", "at": "2026-03-01T06:00:00Z"}, indent=n).encode() for n in range(3)]
    rows, unfit = MessageReader(SCHEMA).read([good[0], bad, *good[1:]])
    assert (rows["t"].to_list(), rows["name"].to_list()) == ([0, 1, 2], ["a\nb"] * 3)
    assert [one.place for one in unfit] == [1]
    assert unfit[0].reason


@pytest.mark.parametrize("bad", [None, b"", b"1,a", b"x,a,", b"1,a,\n2,b,", b"\0\0\0\0\0001,a,"])
def test_records_of_csv(bad: bytes | None) -> None:
    rows, unfit = MessageReader(SCHEMA, "csv", "t;at;name").read([b"1;;a\r\n", bad, b'2;2026-03-01;"b;c"'])
    assert rows.select("t", "name").rows() == [(1, "a"), (2, "b;c")]
    assert [one.place for one in unfit] == [1]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("others", [[], [None], [b"{\n}"]])
def test_a_line_end_between_values_is_a_blank_and_within_a_text_none(end: bytes, others: list[bytes | None]) -> None:
    good, bad = b'{"t": 1,%s"name": "a"}%s' % (end, end), b'{"t": 2, "name": "a%sb"}' % end
    rows, unfit = MessageReader(Schema.of({"t": int, "name": str})).read([good, bad, *others])
    assert rows.rows()[0] == (1, "a")
    assert (unfit[0].place, "Invalid control character" in unfit[0].reason) == (1, True)


TEXTS = ("a\nb", "a\r\nb", '"', '"\n"', "", None, "a,b", "\n", "\r", "x\n#end\n", " a ", "\u2028")


def test_what_an_output_writes_as_csv_a_source_reads() -> None:
    schema = Schema.of({"t": int, "name": str})
    tuples = pl.DataFrame({"t": range(len(TEXTS)), "name": TEXTS}, schema=dict(schema.polars()))
    sink = KafkaSink(Cluster("127.0.0.1:1", "x"), format="csv")
    rows, unfit = MessageReader(schema, "csv").read([value for _, value in sink._messages(tuples)])
    assert (rows.rows(), unfit) == (tuples.rows(), [])


@pytest.mark.parametrize(
    "bad",
    [b'1,"a', b'1,"a\nb', b'1,"a\nb"\n2,c', b'1,a"\nb', b'1,"a"x\n2,"b"', b'1,"a\nb",2', b'\n1,"a"', b'1,"a"\n\n'],
)
def test_a_quote_reaches_into_no_other_message(bad: bytes) -> None:
    reader = MessageReader(Schema.of({"t": int, "name": str}), "csv")
    rows, unfit = reader.read([b'7,"a\n\nb"', bad, b'8,"c\n"', b'x,"d"', b"9,e"])
    assert rows.rows() == [(7, "a\n\nb"), (8, "c\n"), (9, "e")]
    assert [one.place for one in unfit] == [1, 3]


def test_a_record_is_read_the_same_beside_any_other() -> None:
    reader = MessageReader(Schema.of({"n": str, "x": float, "t": int}), "csv")
    for others in ([], [b'"a"b,2,2'], [b"a,x,2"]):
        rows, _ = reader.read([b"a,\r,1", b'"b\r"\r,1\r,1', *others])
        assert rows.rows()[:2] == [("a", None, 1), ("b\r", 1.0, 1)]


def test_arrow_fits_whole_or_not_at_all() -> None:
    good = pl.DataFrame({"more": [0.5, 1.5], "at": [1_700_000_000_000] * 2, "name": ["a", None], "t": [1, 2]})
    small, other = Schema.of({"t": "int8"}), pl.DataFrame({"t": ["a"]}).to_arrow()
    reader = MessageReader(SCHEMA, "arrow")
    rows, unfit = reader.read([arrow(good.to_arrow()), b"nonsense", arrow(other), None, arrow(good.to_arrow())])
    assert rows.height == 4
    assert rows["at"][0].year == 2023
    assert [one.place for one in unfit] == [1, 2, 3]
    rows, unfit = MessageReader(small, "arrow").read([arrow(pl.DataFrame({"t": [1, 1000]}).to_arrow())])
    assert (rows.height, unfit[0].reason[:6]) == (0, "row 2:")


def test_arrow_that_is_damaged_or_of_other_types() -> None:
    schema = Schema.of({"t": int, "name": str})
    good = pa.table({"t": [1, 2], "name": ["abc", "def"]})
    whole = arrow(good)
    places = [at for at in range(len(whole)) if whole[at : at + 12] == struct.pack("<3i", 0, 3, 6)]
    assert len(places) == 1, "where texts begin"
    # Polars would crash, or take memory of others for the text.
    far = whole[: places[0] + 4] + struct.pack("<2i", 2**30, 2**31 - 1) + whole[places[0] + 12 :]
    no_text, no_name = whole.replace(b"abc", b"\xffbc"), whole.replace(b"name", b"\xffame")
    unknown = arrow(pa.table({"t": pa.array([1]).cast(pa.decimal256(40, 0)), "name": ["a"]}))
    interval = pa.array([pa.MonthDayNano([1, 2, 3])] * 2)
    more = arrow(good.append_column("other", interval))
    rows, unfit = MessageReader(schema, "arrow").read([whole, far, no_text, no_name, unknown, more])
    assert rows.rows() == [(1, "abc"), (2, "def")] * 2
    assert [one.place for one in unfit] == [1, 2, 3, 4]


def test_a_key_of_one_column_or_several() -> None:
    cluster = Cluster("127.0.0.1:1", "x")
    tuples = pl.DataFrame({"t": [1, 2], "name": ["ñ", None], "at": pl.Series([0, 1]).cast(pl.Datetime("us"))})
    assert list(KafkaSink(cluster, ["name"])._keys(tuples)) == ["ñ".encode(), None]
    assert KafkaSink(cluster, ["at"])._keys(tuples)[0] == b"1970-01-01T00:00:00.000000Z"
    assert KafkaSink(cluster, ["t", "name"])._keys(tuples)[1] == b'{"t":2,"name":null}'
    values = [
        value for _, value in KafkaSink(cluster, format="csv")._messages(tuples.with_columns(name=pl.lit("a\nb")))
    ]
    assert values == [b'1,"a\nb",1970-01-01T00:00:00.000000Z', b'2,"a\nb",1970-01-01T00:00:00.000001Z']


class Slow:
    """A producer of which some messages get through each time."""

    def __init__(self, *left: int) -> None:
        self.left = list(left)

    def __len__(self) -> int:
        return self.left[0]

    def flush(self, timeout: float) -> int:
        time.sleep(0.05)
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


def test_brokers_that_are_slow_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arterial.connectors.kafka.sink.ANSWER_SECONDS", 0.2)
    sink: Any = KafkaSink(Cluster("127.0.0.1:1", "x"))
    sink._flush(Slow(*range(12, -1, -1)))  # three times as long as an answer may take
    with pytest.raises(KafkaException):
        sink._flush(Slow(5))


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("kafka://host/topic", "expected kafka://HOST:PORT/TOPIC"),
        ("kafka://host:9092", "expected kafka://HOST:PORT/TOPIC"),
        ("kafka://host:9092/a b", "a topic has letters"),
        ("kafka://me:secret@host:9092/topic", "sasl_password_env"),
        (
            "kafka://host:9092/topic?sasl_password=secret",
            "expected sasl_password_env=VARIABLE or sasl_password_file=PATH",
        ),
        ("kafka://host:9092/topic?sasl_pasword=secret", "unknown option 'sasl_pasword'"),
        ("kafka://host:9092/topic?formt=json", "did you mean 'format'"),
    ],
)
def test_a_uri_that_cannot_be_read(uri: str, message: str) -> None:
    with pytest.raises(RunError, match=message) as caught:
        Cluster.from_uri(uri, OPTIONS)
    assert "secret" not in str(caught.value).replace("client_secret", "").replace("is a secret", "")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("begin=yesterday", "source 's': begin is 'yesterday'; expected earliest, now, or a time such as 2026-"),
        ("format=csv&columns=t,name", "source 's': columns: line 1: the column 'at' is missing; it has: t, name"),
    ],
)
def test_what_a_source_does_not_know(option: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        KafkaSource.from_text(f"kafka://127.0.0.1:1/x?{option}").bind("s", SCHEMA, "t", tmp_path)
    assert message in str(caught.value)


def test_what_a_sink_does_not_know(tmp_path: object) -> None:
    for options in ("format=xml", "transactions=maybe", "format=arrow&key=t", "create=0", "idle=5"):
        with pytest.raises(ArterialError):
            sink_from(f"kafka://127.0.0.1:1/x?{options}", "out", tmp_path)  # type: ignore[arg-type]


def test_secrets_that_are_not_there(tmp_path: object) -> None:
    for way, message in (("env=NO_SUCH_NAME", "NO_SUCH_NAME"), (f"file={tmp_path}/none", "cannot be read")):
        cluster, _ = Cluster.from_uri(f"kafka://127.0.0.1:1/x?sasl_password_{way}", ())
        with pytest.raises(RunError, match=message):
            cluster.producer()


def descriptors(path: Path) -> Any:
    """A file of descriptors with one message, and its class."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

    files = descriptor_pb2.FileDescriptorSet()
    files.file.add().ParseFromString(timestamp_pb2.DESCRIPTOR.serialized_pb)
    uses = ["google/protobuf/timestamp.proto"]
    file = files.file.add(name="road.proto", package="road", syntax="proto3", dependency=uses)
    kind = file.enum_type.add(name="Kind")
    for number, name in enumerate(("CAR", "BUS")):
        kind.value.add(name=name, number=number)
    report = file.message_type.add(name="Report")
    of = descriptor_pb2.FieldDescriptorProto
    numbers = {"t": of.TYPE_INT64, "f": of.TYPE_DOUBLE}
    others = {"kind": of.TYPE_ENUM, "at": of.TYPE_MESSAGE, "raw": of.TYPE_BYTES}
    for number, (name, what) in enumerate({**numbers, **others}.items(), 1):
        named = {of.TYPE_ENUM: ".road.Kind", of.TYPE_MESSAGE: ".google.protobuf.Timestamp"}.get(what)
        report.field.add(name=name, number=number, type=what, type_name=named, label=of.LABEL_OPTIONAL)
    path.write_bytes(files.SerializeToString())
    pool = descriptor_pool.DescriptorPool()
    for one in files.file:
        pool.AddSerializedFile(one.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("road.Report"))


def test_protobuf_by_a_descriptor_file(tmp_path: Path) -> None:
    report = descriptors(tmp_path / "road.bin")
    schema = Schema.of({"t": "int64", "f": "float64", "kind": "string", "at": "timestamp"})
    lines = ProtobufLines(str(tmp_path / "road.bin"), "", schema, "source 's'")
    reader = MessageReader(schema, PROTOBUF, protobuf=lines)
    made = report(t=2**60 + 1, f=0.5, kind=1)
    made.at.FromJsonString("2026-01-02T03:04:05.000006Z")
    whole, empty = made.SerializeToString(), report(t=7).SerializeToString()
    confluent = [b"\0\0\0\0\x09\0" + whole, b"\0\0\0\0\x09\x02\0" + whole]  # the first message, said in two ways
    others = [b"\0\0\0\0\x09\x02\x02" + whole, b"\0\0\0\0\x09\x04\0\x02" + whole]  # the second; one within the first
    rows, unfit = reader.read([whole, None, empty, b"\xff\xff", *confluent, *others])
    at = datetime(2026, 1, 2, 3, 4, 5, 6)
    assert rows.rows() == [(2**60 + 1, 0.5, "BUS", at), (7, 0.0, "CAR", None), *[(2**60 + 1, 0.5, "BUS", at)] * 2]
    assert [(one.place, one.reason.partition(":")[0]) for one in unfit[:2]] == [
        (1, "has no value"),
        (3, "is not a message of Protobuf"),
    ]
    for other, place in zip(unfit[2:], ("2", "1.2"), strict=True):
        assert f"is message {place} of its schema" in other.reason
        assert "road.Report is message 1 of the file" in other.reason


def test_values_of_protobuf_that_mean_nothing(tmp_path: Path) -> None:
    report = descriptors(tmp_path / "road.bin")
    schema = Schema.of({"t": "int64", "kind": "string", "at": "timestamp"})
    reader = MessageReader(schema, PROTOBUF, protobuf=ProtobufLines(str(tmp_path / "road.bin"), "", schema, "s"))
    late, odd = report(t=1), report(t=2)
    late.at.seconds, odd.at.nanos = 2**60, -7
    messages = [late.SerializeToString(), odd.SerializeToString(), b"", report(t=3, kind=7).SerializeToString()]
    rows, unfit = reader.read(messages)
    assert rows.rows() == [(0, "CAR", None), (3, "7", None)]  # no byte: all defaults; an unknown value: its number
    assert [(one.place, one.reason.partition(":")[0]) for one in unfit] == [(0, "at"), (1, "at")]


def test_a_head_that_does_not_end(tmp_path: Path) -> None:
    descriptors(tmp_path / "road.bin")
    lines = ProtobufLines(str(tmp_path / "road.bin"), "", Schema.of({"t": "int64"}), "source 's'")
    for head in (b"\xff" * 1_000_000, b"\xfe\xff\xff\xff\x0f" + b"\x02" * 1_000_000, b""):
        with pytest.raises(DataError, match="is not a message of Protobuf"):
            lines.line(b"\0\0\0\0\x09" + head)


@pytest.mark.parametrize(
    ("file", "message", "column", "said"),
    [
        ("", "", "t", "needs descriptor=FILE"),
        ("none.bin", "", "t", "is not a file of descriptors"),
        ("road.bin", "road.Raport", "t", "did you mean 'road.Report'"),
        ("road.bin", "", "tt", "has no field 'tt'"),
        ("road.bin", "", "raw", "is not a single number"),
    ],
)
def test_what_is_wrong_with_a_descriptor(tmp_path: Path, file: str, message: str, column: str, said: str) -> None:
    descriptors(tmp_path / "road.bin")
    with pytest.raises(DataError, match=said):
        ProtobufLines(str(tmp_path / file) if file else "", message, Schema.of({column: "int64"}), "source 's'")
