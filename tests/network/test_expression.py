"""Expressions: types, read columns, and the mistakes that are found when a network is drawn."""

from __future__ import annotations

import pytest

from arterial.errors import NetworkError
from arterial.network.expression.parser import parse, predicate
from arterial.network.expression.tree import reads
from arterial.network.expression.vectorised import evaluate
from arterial.network.schema import Schema, Type
from arterial.reference.scalar import evaluate as evaluate_one
from arterial.testing import frame

SCHEMA = Schema.of({"speed": "int16", "lane": "int8", "x": "int64", "f": "float64", "s": "string", "at": "timestamp"})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("speed", Type.INT16),
        ("speed + 1", Type.INT64),
        ("speed / 2", Type.FLOAT64),
        ("speed // 2", Type.INT64),
        ("speed * f", Type.FLOAT64),
        ("speed > 100 and lane <> 4", Type.BOOL),
        ("case when speed > 1 then lane else speed end", Type.INT64),
        ("coalesce(s, 'none')", Type.STRING),
        ("cast(s as float64)", Type.FLOAT64),
        ("at > '2026-01-01'", Type.BOOL),
        ("at - at", Type.INT64),
        ("length(s) + 1", Type.INT64),
    ],
)
def test_types(text: str, kind: Type) -> None:
    assert parse(text, SCHEMA).type is kind


def test_read_columns_are_known() -> None:
    assert reads(parse("speed > 100 and (lane <> 4 or speed < f)", SCHEMA)) == ("speed", "lane", "f")


@pytest.mark.parametrize(
    ("text", "values", "result"),
    [
        ("x / 2", {"x": 7}, 3.5),
        ("x // 2", {"x": -7}, -4),
        ("x % 3", {"x": -7}, 2),
        ("x / 0", {"x": 7}, None),
        ("x // 0", {"x": 7}, None),
        ("x % 0", {"x": 7}, None),
        ("x + 1", {"x": 2**63 - 1}, -(2**63)),
        ("x * 2", {"x": 2**62}, -(2**63)),
        ("abs(x)", {"x": -(2**63)}, -(2**63)),
        ("x = null", {"x": 1}, None),
        ("x > 1 and false", {"x": None}, False),
        ("x > 1 or true", {"x": None}, True),
        ("x in (1, null)", {"x": 2}, None),
        ("not x is null", {"x": None}, False),
        ("f = f", {"f": float("nan")}, True),
        ("f > 1e300", {"f": float("nan")}, True),
        ("round(f)", {"f": 2.5}, 2.0),
        ("f / 1.5", {"f": 5.0}, 5.0 / 1.5),
        ("cast(f as int8)", {"f": 300.0}, None),
        ("cast(s as int64)", {"s": "12"}, 12),
        ("cast(s as int64)", {"s": "12.0"}, None),
        ("s like 'a_c%'", {"s": "abcd"}, True),
        ("substr(s, 2, 2)", {"s": "Ärger"}, "rg"),
        ("s between 'a' and 'b'", {"s": "b"}, True),
    ],
)
def test_meaning(text: str, values: dict[str, object], result: object) -> None:
    full = {name: values.get(name) for name in SCHEMA.names}
    assert evaluate_one(text, SCHEMA, full) == result
    for rows in (1, 2):  # a single tuple takes other ways through polars
        (column,) = evaluate(frame([full] * rows, SCHEMA), [parse(text, SCHEMA)])
        assert column.to_list() == [result] * rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sped > 1", "did you mean 'speed'"),
        ("SPEED > 1", "did you mean 'speed'"),
        ("s + 1", "needs numbers, got string"),
        ("s > 1", "needs values of one type, got string, int64"),
        ("speed and true", r"expected a condition \(bool\), got int16"),
        ("speed >", "cannot read the expression"),
        ("", "expected an expression as text"),
        ("max(speed)", "only a box with windows"),
        ("sin(f)", "not supported|no function"),
        ("f // 2", "works on integers"),
        ("99999999999999999999", "does not fit into 64 bits"),
        ("cast(f as string)", "cannot turn float64 into string"),
        ("s like s", "must be a constant text"),
        ("at > 'soon'", "expected a timestamp such as"),
        ("(select 1)", "not supported"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        parse(text, SCHEMA)


def test_a_predicate_must_be_true_or_false() -> None:
    with pytest.raises(NetworkError, match="expected a condition"):
        predicate("speed + 1", SCHEMA)


def test_object_is_a_column_like_any_other() -> None:
    assert parse("object < 5 and object > 2", Schema.of({"object": int})).type is Type.BOOL
