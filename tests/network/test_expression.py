"""Expressions: types, read columns, and the mistakes that are found when a network is drawn."""

from __future__ import annotations

import math
from datetime import datetime

import pytest

from arterial.errors import NetworkError
from arterial.network.expression.chains import longest_or
from arterial.network.expression.parser import parse, predicate
from arterial.network.expression.tree import reads
from arterial.network.expression.vectorised import evaluate
from arterial.network.schema import Schema, Type
from arterial.reference.parts.scalar import evaluate as evaluate_one
from arterial.testing import frame

NOON = datetime(2026, 11, 15, 12, 34, 56, 500000)
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
        ("cast(s as bool)", {"s": "Yes"}, True),
        ("cast(s as bool)", {"s": "f"}, False),
        ("cast(s as bool)", {"s": "maybe"}, None),
        ("cast(at as string)", {"at": datetime(2026, 1, 2, 3, 4, 5)}, "2026-01-02 03:04:05"),
        ("cast(at as string)", {"at": datetime(2026, 1, 2, 3, 4, 5, 120000)}, "2026-01-02 03:04:05.12"),
        ("cast(s as timestamp)", {"s": "2026-01-02T03:04:05.5Z"}, datetime(2026, 1, 2, 3, 4, 5, 500000)),
        ("cast(s as timestamp)", {"s": "2026-01-02 03:04"}, datetime(2026, 1, 2, 3, 4)),
        ("try_cast(s as timestamp)", {"s": "2026-02-30"}, None),
        ("cast(s as timestamp)", {"s": "2026-02-03 24:00"}, None),
        ("cast(s as timestamp)", {"s": "2026-02-03"}, datetime(2026, 2, 3)),
        ("substr(s, 0, 2)", {"s": "hello"}, "h"),
        ("substr(s, -2)", {"s": "hello"}, "lo"),
        ("substr(s, -7, 3)", {"s": "hello"}, "h"),
        ("substr(s, -7)", {"s": "hello"}, "hello"),
        ("replace(s, substr(s, 1, 1), 'x')", {"s": "aba"}, "xbx"),
        ("replace(s, '', 'x')", {"s": "aba"}, "aba"),
        ("round(f, -2)", {"f": 1234.5}, 1200.0),
        ("left(s, 2) || right(s, 1) || right(s, 0)", {"s": "hello"}, "heo"),
        ("lpad(s, 5, 'xy') || rpad(s, 2, 'x') || rpad(s, 5)", {"s": "abc"}, "xyabcababc  "),
        ("split_part(s, ',', 2) || split_part(s, ',', -1) || split_part(s, ',', 9)", {"s": "a,b,c"}, "bc"),
        ("strpos(s, 'l') + strpos(s, 'z')", {"s": "hello"}, 3),
        ("repeat(reverse(s), 2)", {"s": "ab"}, "baba"),
        ("ltrim(s) || '|' || rtrim(s) || '|' || trim(s, ' a')", {"s": " ab "}, "ab | ab|b"),
        ("concat(s, null, 'b')", {"s": "a"}, "ab"),
        ("s ilike 'A%'", {"s": "abc"}, True),
        ("regexp_matches(s, '^h.*o$')", {"s": "hello"}, True),
        ("regexp_matches(s, 'o$')", {"s": "hello\n"}, False),
        ("regexp_full_match(s, 'h|hello')", {"s": "hello"}, True),
        ("regexp_replace(s, '(l)(.)', '[\\2$1\\1]')", {"s": "hello"}, "he[l$1l]o"),
        ("regexp_replace(s, 'l', 'x', 'g')", {"s": "hello"}, "hexxo"),
        ("regexp_extract(s, 'l+') || regexp_extract(s, '(e)(l)', 2) || regexp_extract(s, 'z')", {"s": "hello"}, "lll"),
        ("nullif(x, 3)", {"x": 3}, None),
        ("sign(f) + sign(x)", {"f": -2.5, "x": 7}, 0),
        ("trunc(f)", {"f": -2.7}, -2.0),
        ("log(f) + log2(f) + log(10, f)", {"f": 1.0}, 0.0),
        ("ln(f)", {"f": 0.0}, None),
        ("exp(f)", {"f": 1000.0}, float("inf")),
        ("pow(f, 3)", {"f": -2.0}, -8.0),
        ("degrees(pi()) + radians(f)", {"f": 0.0}, 180.0),
        ("isnan(f) or isinf(f)", {"f": float("inf")}, True),
        ("atan2(f, 2)", {"f": 1.0}, 0.4636476090008061),
        ("hour(at) * 10000 + minute(at) * 100 + second(at)", {"at": NOON}, 123456),
        ("year(at) * 10000 + month(at) * 100 + day(at)", {"at": NOON}, 20261115),
        ("dayofweek(at) + isodow(at) + weekday(at)", {"at": NOON}, 7),
        ("dayofyear(at) + quarter(at)", {"at": NOON}, 323),
        ("extract(hour from at) + date_part('minute', at)", {"at": NOON}, 46),
        ("epoch(at)", {"at": NOON}, 1794746096.5),
        ("to_timestamp(x)", {"x": 1}, datetime(1970, 1, 1, 0, 0, 1)),
        ("to_timestamp(f)", {"f": 1.5}, datetime(1970, 1, 1, 0, 0, 1, 500000)),
        ("at + interval '1 day' - interval '1 hour'", {"at": NOON}, datetime(2026, 11, 16, 11, 34, 56, 500000)),
        ("date_trunc('hour', at)", {"at": NOON}, datetime(2026, 11, 15, 12)),
        ("date_trunc('week', at)", {"at": NOON}, datetime(2026, 11, 9)),
        ("date_trunc('month', at)", {"at": NOON}, datetime(2026, 11, 1)),
        ("date_trunc('quarter', at)", {"at": NOON}, datetime(2026, 10, 1)),
        ("date_trunc('quarter', at)", {"at": datetime(2024, 3, 31)}, datetime(2024, 1, 1)),
        ("date_trunc('year', at)", {"at": NOON}, datetime(2026, 1, 1)),
        ("week(at) * 100 + millisecond(at)", {"at": datetime(2027, 1, 1, 0, 0, 2)}, 7300),
        ("dayname(at) || monthname(at)", {"at": NOON}, "SundayNovember"),
        ("date_diff('week', timestamp '2024-12-29', timestamp '2024-12-31')", {}, 0),
        ("date_diff('days', at, at - interval '36 hours')", {"at": NOON}, -1),
        ("epoch_ms(at) - 1000 * cast(epoch(at) as int64)", {"at": NOON}, 500),
        ("epoch_ms(1500)", {}, datetime(1970, 1, 1, 0, 0, 1, 500_000)),
        ("date_diff('day', at, null)", {"at": NOON}, None),
        ("to_timestamp(x)", {"x": 1_700_000_000_000_000_000}, None),
        ("to_timestamp(f)", {"f": 1.7e18}, None),
        ("to_timestamp(x)", {"x": 253_402_300_799}, datetime(9999, 12, 31, 23, 59, 59)),
        ("to_timestamp(x)", {"x": 253_402_300_800}, None),
        ("to_timestamp(x)", {"x": -62_135_596_800}, datetime(1, 1, 1)),
        ("epoch_ms(x)", {"x": 253_402_300_799_999}, datetime(9999, 12, 31, 23, 59, 59, 999_000)),
        ("epoch_ms(x)", {"x": -62_135_596_800_001}, None),
        ("epoch_ms(x)", {"x": -(2**63)}, None),
        ("cast(x as timestamp)", {"x": 2**63 - 1}, None),
        ("cast(x as timestamp)", {"x": -62_135_596_800_000_001}, None),
        ("year(at + interval '1 hour')", {"at": datetime(9999, 12, 31, 23)}, None),
        ("at - interval '1 s'", {"at": datetime(1, 1, 1)}, None),
        ("sinh(-1000)", {}, -math.inf),
        ("date_trunc('day', at)", {"at": datetime(1969, 12, 31, 23)}, datetime(1969, 12, 31)),
        ("strftime(at, '%Y-%m-%d %H:%M:%S.%f %j %a %b %%')", {"at": NOON}, "2026-11-15 12:34:56.500000 319 Sun Nov %"),
        ("strftime(at, '%Y %%Y %y')", {"at": datetime(7, 1, 2)}, "0007 %Y 07"),
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
        ("sinn(f)", "there is no function 'sinn'; near it: sin"),
        ("soundex(s)", "there is no function 'soundex'"),
        ("hour(x)", "needs a timestamp, got int64; .*to_timestamp"),
        ("date_trunc('hours', at)", "did you mean 'hour'"),
        ("date_diff('fortnight', at, at)", "date_diff knows microsecond, millisecond, second.*got 'fortnight'"),
        ("date_diff('day', at)", "datediff needs more values"),
        ("epoch_ms(1.5)", "epoch_ms needs a timestamp, or milliseconds as an integer, got float64"),
        ("strftime(at, '%Q')", "strftime knows"),
        ("regexp_matches(s, '(')", "cannot use the regular expression"),
        ("regexp_matches(s, '(?=a)')", "cannot use the regular expression .*: look-around, .* is not supported"),
        ("regexp_replace(s, 'a*', 'b')", "must not match the empty text"),
        ("regexp_replace(s, 'a', '\\1')", "names a group"),
        ("split_part(s, '', 1)", "must not be empty"),
        ("substr(s, x)", "must be a constant integer"),
        ("round(f, 16)", "must be a constant integer from -15 to 15"),
        ("date_part('era', at)", "there is no part 'era'"),
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(" * 5000 + "x > 1" + ")" * 5000, "nested more than 250 levels deep"),
        (" and ".join(["x > 1"] * 5000), "nested more than 250 levels deep"),
        ("x = 0" + " or x = 1 and x = 2" * 2500, "nested more than 250 levels deep"),
        ("not " * 5000 + "x > 1", "nested more than 250 levels deep"),
        ("x > " + "9" * 5000, "does not fit into 64 bits"),
        ("x > -" + "9" * 5000, "does not fit into 64 bits"),
        ("x > 1 " * 50_000, "expected at most 100,000"),
        ("case " + "when x > 1 then 1 " * 4000 + "end", "4,000 branches; expected at most 1,000"),
        (f"concat({', '.join(['cast(x as string)'] * 400)})", "nested more than 250 levels deep"),
        (f"x in ({', '.join(['1'] * 30_000)})", "parts, with those that are computed several times"),
        ("sqrt(" * 20 + "x" + ")" * 20, "parts, with those that are computed several times"),
        ("true" + " in (true, false)" * 40, "parts, with those that are computed several times"),
    ],
    ids=[
        "parentheses",
        "ands",
        "ands and ors",
        "nots",
        "digits",
        "negative digits",
        "long",
        "branches",
        "texts",
        "list",
        "roots",
        "ins",
    ],
)
def test_huge_expressions_are_clear_errors(text: str, said: str) -> None:
    with pytest.raises(NetworkError, match=said) as raised:
        parse(text, Schema.of({"x": "int64"}))
    assert len(str(raised.value)) < 600


def test_a_chain_that_is_too_long_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arterial.network.expression.parser._parse", None)
    with pytest.raises(NetworkError, match="nested more than 250 levels deep"):
        parse("x = 0" + " or x = 1 and x = 2" * 251, Schema.of({"x": "int64"}))


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("a or b or c", 2),
        ("a or (b or c or d) or e", 2),
        ("f(a or b, c or d, e or g)", 1),
        ("case when a or b then c or d else e or f end or g", 1),
        ("x = 'a or b or c' or \"p or q or r\" -- or z or z\n or /* or or */ y", 2),
        ("for or before", 1),
        ("a) or b) or c", 2),
        ("x = e'it\\'s or or or' or y", 0),
    ],
)
def test_chains_of_or_are_counted_without_reading(text: str, most: int) -> None:
    assert longest_or(text) == most


def test_a_long_chain_of_conditions_is_read() -> None:
    assert parse(" and ".join(["x > 1"] * 200), Schema.of({"x": "int64"})).type is Type.BOOL


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (f"x in ({', '.join(map(str, range(2000)))})", True),
        (f"x in ({', '.join(map(str, range(2000, 4000)))}, null)", None),
        (f"least({', '.join(f'x + {n}' for n in range(300))})", 7),
        (f"greatest(null, {', '.join(f'x + {n}' for n in range(300))}, null)", 306),
    ],
    ids=["in", "in with null", "least", "greatest"],
)
def test_a_long_list_is_computed(text: str, result: object) -> None:
    schema = Schema.of({"x": "int64"})
    tree = parse(text, schema)
    assert evaluate(frame([{"x": 7}] * 2, schema), [tree])[0].to_list() == [result, result]
    assert evaluate_one(text, schema, {"x": 7}) == result


def test_leading_zeros_are_read() -> None:
    assert parse("0" * 5000 + "7", Schema.of({"x": "int64"})) == parse("7", Schema.of({"x": "int64"}))


@pytest.mark.parametrize("word", ["load", "force", "set", "on", "copy", "update", "drop", "call", "Show"])
def test_words_of_statements_are_columns(word: str) -> None:
    schema = Schema.of({word: "int64"})
    for text in (f"{word} >= 25", f"25 <= {word}", f"({word} + 1) * 2 > {word}"):
        assert parse(text, schema).type is Type.BOOL


@pytest.mark.parametrize("word", ["case", "from", "like", "map", "select"])
def test_a_column_named_like_a_word_of_sql_is_quoted(word: str) -> None:
    schema = Schema.of({word: "int64"})
    with pytest.raises(NetworkError, match=f'in double quotes: "{word}"'):
        parse(f"25 <= {word}", schema)
    assert parse(f'25 <= "{word}"', schema).type is Type.BOOL
