"""Messages as rows, and URIs, without a broker."""

from __future__ import annotations

import json

import polars as pl
import pytest

from arterial.connectors.kafka.cluster import Cluster
from arterial.connectors.kafka.messages import MessageReader
from arterial.connectors.kafka.sink import KafkaSink
from arterial.connectors.kafka.source import OPTIONS
from arterial.connectors.uri import sink_from
from arterial.errors import ArterialError, RunError
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


def test_what_a_sink_does_not_know(tmp_path: object) -> None:
    for options in ("format=xml", "transactions=maybe", "format=arrow&key=t", "create=0", "idle=5"):
        with pytest.raises(ArterialError):
            sink_from(f"kafka://127.0.0.1:1/x?{options}", "out", tmp_path)  # type: ignore[arg-type]


def test_secrets_that_are_not_there(tmp_path: object) -> None:
    for way, message in (("env=NO_SUCH_NAME", "NO_SUCH_NAME"), (f"file={tmp_path}/none", "cannot be read")):
        cluster, _ = Cluster.from_uri(f"kafka://127.0.0.1:1/x?sasl_password_{way}", ())
        with pytest.raises(RunError, match=message):
            cluster.producer()
