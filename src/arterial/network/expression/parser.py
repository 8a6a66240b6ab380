"""Expressions: SQL text, parsed once into a small typed tree whose types and read columns are known.

The meaning is fixed so that both engines agree to the last bit: `/` always gives float64; `//` is the floor of a
division and `%` its remainder, of integers; integers are 64 bits wide and wrap; division by zero is null; logic is
three-valued; NaN equals itself and is greater than any other number; text is compared by code point.
`arterial.network.expression.vectorised` evaluates a tree over columns, `arterial.reference.parts.scalar` over a tuple.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from arterial.errors import NetworkError
from arterial.network.expression.binder import MAX_INT, MIN_INT, shortened
from arterial.network.expression.chains import longest_or
from arterial.network.expression.numbers import NAMES as OF_NUMBERS
from arterial.network.expression.numbers import OF_FLOATS, Numbers
from arterial.network.expression.texts import NAMES as OF_TEXTS
from arterial.network.expression.texts import OF_TEXT, TESTS, Texts
from arterial.network.expression.times import NAMES as OF_TIMES
from arterial.network.expression.times import OF_MINUTES, PARTS, Times
from arterial.network.expression.tree import Call, Column, Literal, Tree, cast, known_column
from arterial.network.schema import Schema, Type

MOST_LEVELS = 250
"""How deep an expression may be nested; a chain of `and` nests once for each."""

MOST_BRANCHES = 1_000
"""How many branches a `case` may have: polars takes a time for them that grows with their square."""

MOST_PARTS = 100_000
"""How many parts an expression may have, with those that are computed several times."""

MOST_SIGNS = 100_000
"""How long an expression may be."""


_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]+\.(\w+)'>")


class TooLargeError(NetworkError):
    """An expression is longer, deeper or wider than is computed; no part of it is wrong by itself."""


def parse(text: str, schema: Schema, window: Type | None = None) -> Tree:
    """The tree of an expression over tuples of that schema.

    `window` is the type of the time column, where the expression is over a window and may hold aggregates.

    >>> parse("speed > 100", Schema.of({"speed": "int16"})).type
    <Type.BOOL: 'bool'>
    """
    if not isinstance(text, str) or not text.strip():
        raise NetworkError(f"expected an expression as text, got {text!r}")
    if len(text) > MOST_SIGNS:
        raise TooLargeError(
            f"the expression {shortened(text)} has {len(text):,} signs; expected at most {MOST_SIGNS:,}"
        )
    if longest_or(text) > MOST_LEVELS:
        raise _too_deep(text)
    try:
        return _parse(text, schema, window)
    except RecursionError:  # raised by sqlglot, before our own count of levels
        raise _too_deep(text) from None


@lru_cache(maxsize=4096)
def _parse(text: str, schema: Schema, window: Type | None) -> Tree:
    try:
        parsed = sqlglot.parse_one(text, read=_Expression)
    except SqlglotError as error:
        reason = str(error).split("\n")[0].removesuffix(".")
        if missing := _MISSING.match(reason):
            kind = getattr(exp, missing[1], None)
            name = kind.sql_name().lower() if isinstance(kind, type) and issubclass(kind, exp.Func) else missing[1]
            reason = f"{name} needs more values"
        raise NetworkError(f"cannot read the expression {shortened(text)}: {reason}{_hint(text, schema)}") from None
    if _levels(parsed) > MOST_LEVELS:
        raise _too_deep(text)
    tree = _Parser(text, schema, window).tree(parsed)
    levels, parts = _size(tree, {})
    if levels > MOST_LEVELS:
        raise _too_deep(text)
    if parts > MOST_PARTS:
        raise TooLargeError(
            f"the expression {shortened(text)} has {parts:,} parts, with those that are computed several times; "
            f"expected at most {MOST_PARTS:,}; divide it over several boxes, or read a long list from a relation"
        )
    return tree


def _hint(text: str, schema: Schema) -> str:
    """What to do about a column that is named like a word of SQL."""
    words = {word for word in re.findall(r'(?<!")\b\w+\b(?!")', text) if word.upper() in _Expression.Tokenizer.KEYWORDS}
    named = sorted(words & set(schema.names))
    return f"; write a column named like a word of SQL in double quotes: {quoted(named[0])}" if named else ""


def _levels(parsed: Any) -> int:
    deepest, left = 0, [(parsed, 1)]
    while left:
        part, level = left.pop()
        deepest = max(deepest, level)
        left += [(inner, level + 1) for inner in part.iter_expressions()]
    return deepest


def _size(tree: Tree, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """How many levels a tree has, and how many parts; one that is there twice is visited once, and counted twice."""
    if not isinstance(tree, Call):
        return 1, 1
    if id(tree) not in known:
        sizes = [_size(argument, known) for argument in tree.arguments] or [(0, 0)]
        times = _REPEATED.get(tree.function, 1)
        if tree.function == "cast" and tree.arguments[0].type is not Type.STRING:
            times = 1
        known[id(tree)] = 1 + max(size[0] for size in sizes), 1 + times * sum(size[1] for size in sizes)
    return known[id(tree)]


def _too_deep(text: str) -> TooLargeError:
    return TooLargeError(
        f"the expression {shortened(text)} is nested more than {MOST_LEVELS} levels deep; divide it over several "
        "boxes, or use `in (…)` instead of many `or`"
    )


def predicate(text: str, schema: Schema) -> Tree:
    """The tree of an expression that must be true or false."""
    tree = parse(text, schema)
    if tree.type not in (Type.BOOL, None):
        raise NetworkError(f"expected a condition (bool), got {tree.type} from {text!r}")
    return cast(tree, Type.BOOL)


def quoted(column: str) -> str:
    """A column as an expression."""
    return exp.column(column, quoted=True).sql(dialect=Dialect)


class Dialect(DuckDB):
    """Our own names of types beside those of SQL: int8 is eight bits wide here, not eight bytes; object is a column."""

    class Tokenizer(DuckDB.Tokenizer):
        KEYWORDS = {  # noqa: RUF012
            **{word: kind for word, kind in DuckDB.Tokenizer.KEYWORDS.items() if word != "OBJECT"},
            "INT8": TokenType.TINYINT,
            "INT16": TokenType.SMALLINT,
            "INT32": TokenType.INT,
            "INT64": TokenType.BIGINT,
            "FLOAT64": TokenType.DOUBLE,
        }


_STATEMENTS = (
    "ALTER ANALYZE ATTACH BEGIN CACHE CALL COMMENT COMMIT CONNECT COPY CREATE CROSS DELETE DESC DESCRIBE DETACH "
    "DISCONNECT DROP EXECUTE EXPLAIN FETCH FOR FORCE GRANT INNER INSERT INSTALL INTO KILL LATERAL LOAD LOCALTIME "
    "LOCALTIMESTAMP MERGE ON ONLY OPTIMIZE OUTER PIVOT POSITIONAL PRAGMA PREPARE QUALIFY RENAME RESET RETURNING "
    "REVOKE ROLLBACK SET SHOW SUMMARIZE TABLESAMPLE TRUNCATE UNCACHE UNPIVOT UPDATE USE USING VACUUM"
)
_OF_STATEMENTS = frozenset(_STATEMENTS.split())


class _Expression(Dialect):
    """Words that mean something in statements only are columns."""

    class Tokenizer(Dialect.Tokenizer):
        KEYWORDS = {  # noqa: RUF012
            word: kind for word, kind in Dialect.Tokenizer.KEYWORDS.items() if word not in _OF_STATEMENTS
        }


_TYPES = {
    exp.DataType.Type.TINYINT: Type.INT8,
    exp.DataType.Type.SMALLINT: Type.INT16,
    exp.DataType.Type.INT: Type.INT32,
    exp.DataType.Type.BIGINT: Type.INT64,
    exp.DataType.Type.DOUBLE: Type.FLOAT64,
    exp.DataType.Type.FLOAT: Type.FLOAT64,
    exp.DataType.Type.BOOLEAN: Type.BOOL,
    exp.DataType.Type.TEXT: Type.STRING,
    exp.DataType.Type.VARCHAR: Type.STRING,
    exp.DataType.Type.TIMESTAMP: Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPNTZ: Type.TIMESTAMP,
}
_COMPARISONS: dict[type[exp.Expression], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_ARITHMETIC: dict[type[exp.Expression], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_AGGREGATE_NODES: dict[type[exp.Expression], str] = {
    exp.Sum: "sum", exp.Min: "min", exp.Max: "max", exp.Avg: "avg", exp.First: "first", exp.Last: "last",
    exp.FirstValue: "first", exp.LastValue: "last", exp.Stddev: "stddev", exp.StddevSamp: "stddev",
}  # fmt: skip

_REPEATED = {"sqrt": 3, "least": 4, "greatest": 4, "regexp_extract": 3, "substr": 6, "cast": 40}
"""Functions that polars computes of several copies of what they are given: what each costs, in copies."""

FUNCTIONS = (
    *f"{OF_NUMBERS} {OF_TEXTS} {OF_TIMES}".split(),
    *[
        "count",
        "sum",
        "min",
        "max",
        "avg",
        "first",
        "last",
        "stddev",
        "median",
        "percentile",
        "approx_percentile",
        "window_start",
    ],
)
"""The names of all functions, for the message about one that there is not."""


class _Parser(Numbers, Texts, Times):
    """Turns sqlglot's tree into ours, checking every type on the way."""

    def tree(self, part: Any) -> Tree:
        if part is None:
            raise self._error("a value is missing")
        kind = type(part)
        if kind in _COMPARISONS:
            return self._comparison(_COMPARISONS[kind], self.tree(part.this), self.tree(part.expression))
        if kind in (exp.Add, exp.Sub) and isinstance(part.expression, exp.Interval):
            return self._shifted(1 if kind is exp.Add else -1, part.this, part.expression)
        if kind in _ARITHMETIC:
            return self._arithmetic(_ARITHMETIC[kind], self.tree(part.this), self.tree(part.expression))
        if kind in _AGGREGATE_NODES:
            return self._aggregate(_AGGREGATE_NODES[kind], part.this)
        if kind in OF_FLOATS:
            return self._of_floats(part)
        if kind in OF_TEXT:
            return self._of_text(part)
        if kind in TESTS:
            return self._test(part)
        if kind in PARTS:
            return self._part(PARTS[kind], part.this)
        handler: Callable[[Any], Tree] | None = getattr(self, f"_on_{kind.__name__.lower()}", None)
        if handler is None and isinstance(part, exp.Func):
            raise self._unknown(part.sql_name())
        if handler is None:
            raise self._error(f"{part.sql(dialect='duckdb')!r} is not supported in an expression")
        return handler(part)

    def _on_paren(self, part: exp.Paren) -> Tree:
        return self.tree(part.this)

    def _on_column(self, part: exp.Column) -> Tree:
        name = ".".join(p.name for p in part.parts)
        try:
            known_column(name, self.schema.names)
        except NetworkError as mistake:
            raise self._error(str(mistake)) from None
        return Column(name, self.schema[name])

    def _on_literal(self, part: exp.Literal) -> Tree:
        if part.is_string:
            return Literal(part.this, Type.STRING)
        if part.this.isdigit():
            return self._integer(part.this)
        try:
            return Literal(float(part.this), Type.FLOAT64)
        except ValueError:
            raise self._error(f"{part.this} is not a number") from None

    def _integer(self, digits: str, sign: int = 1) -> Tree:
        # Python refuses to read thousands of digits, and 20 are too many already.
        value = sign * int(digits.lstrip("0")[:20] or "0")
        if not MIN_INT <= value <= MAX_INT:
            raise self._error(f"{'-' if sign < 0 else ''}{digits[:40]} does not fit into 64 bits")
        return Literal(value, Type.INT64)

    def _on_boolean(self, part: exp.Boolean) -> Tree:
        return Literal(bool(part.this), Type.BOOL)

    def _on_null(self, part: exp.Null) -> Tree:
        return Literal(None, None)

    def _on_neg(self, part: exp.Neg) -> Tree:
        if isinstance(part.this, exp.Literal) and not part.this.is_string and part.this.this.isdigit():
            return self._integer(part.this.this, -1)
        return self._numeric("neg", part.this)

    def _on_not(self, part: exp.Not) -> Tree:
        return Call("not", (self._condition(part.this),), Type.BOOL)

    def _on_and(self, part: exp.And) -> Tree:
        return Call("and", (self._condition(part.this), self._condition(part.expression)), Type.BOOL)

    def _on_or(self, part: exp.Or) -> Tree:
        return Call("or", (self._condition(part.this), self._condition(part.expression)), Type.BOOL)

    def _on_is(self, part: exp.Is) -> Tree:
        if isinstance(part.expression, exp.Null):
            return Call("is_null", (self.tree(part.this),), Type.BOOL)
        if isinstance(part.expression, exp.Boolean):
            equal = self._comparison("=", self._condition(part.this), self.tree(part.expression))
            return Call("coalesce", (equal, Literal(False, Type.BOOL)), Type.BOOL)
        raise self._error("after `is` expected null, true or false")

    def _on_between(self, part: exp.Between) -> Tree:
        value = self.tree(part.this)
        low = self._comparison(">=", value, self.tree(part.args.get("low")))
        high = self._comparison("<=", value, self.tree(part.args.get("high")))
        return Call("and", (low, high), Type.BOOL)

    def _on_in(self, part: exp.In) -> Tree:
        value = self.tree(part.this)
        tests = [self._comparison("=", value, self.tree(option)) for option in part.expressions]
        if not tests:
            raise self._error("expected a list of values after `in`")
        while len(tests) > 1:  # in pairs, so that a long list is not nested deeply
            pairs = [tests[at : at + 2] for at in range(0, len(tests), 2)]
            tests = [Call("or", tuple(pair), Type.BOOL) if len(pair) > 1 else pair[0] for pair in pairs]
        return tests[0]

    def _on_div(self, part: exp.Div) -> Tree:
        sides = (self._number(part.this), self._number(part.expression))
        return Call("/", tuple(cast(side, Type.FLOAT64) for side in sides), Type.FLOAT64)

    def _on_intdiv(self, part: exp.IntDiv) -> Tree:
        return self._whole("//", part)

    def _on_mod(self, part: exp.Mod) -> Tree:
        return self._whole("%", part)

    def _whole(self, function: str, part: Any) -> Tree:
        sides = (self._number(part.this), self._number(part.expression))
        for side in sides:
            if side.type is Type.FLOAT64:
                raise self._error(f"`{function}` works on integers, got float64; use floor(a / b)")
        return Call(function, tuple(cast(side, Type.INT64) for side in sides), Type.INT64)

    def _on_case(self, part: exp.Case) -> Tree:
        if len(part.args["ifs"]) > MOST_BRANCHES:
            raise self._error(f"a case has {len(part.args['ifs']):,} branches; expected at most {MOST_BRANCHES:,}")
        subject = None if part.this is None else self.tree(part.this)
        arguments: list[Tree] = []
        for branch in part.args["ifs"]:
            if subject is None:
                arguments.append(self._condition(branch.this))
            else:
                arguments.append(self._comparison("=", subject, self.tree(branch.this)))
            arguments.append(self.tree(branch.args.get("true")))
        default = part.args.get("default")
        arguments.append(Literal(None, None) if default is None else self.tree(default))
        return self._choice(arguments)

    def _on_if(self, part: exp.If) -> Tree:
        otherwise = part.args.get("false")
        rest = Literal(None, None) if otherwise is None else self.tree(otherwise)
        return self._choice([self._condition(part.this), self.tree(part.args.get("true")), rest])

    def _on_cast(self, part: exp.Cast) -> Tree:
        to = _TYPES.get(part.to.this)
        if to is None:
            raise self._error(f"unknown type {part.to.sql()!r}; expected one of {', '.join(Type)}")
        if to is Type.TIMESTAMP and isinstance(part.this, exp.Literal) and part.this.is_string:
            return Literal(self._instant(part.this.this), to)
        value = self.tree(part.this)
        if value.type is not None and (value.type, to) not in _CASTS:
            raise self._error(f"cannot turn {value.type} into {to}")
        return cast(value, to)

    def _on_trycast(self, part: exp.TryCast) -> Tree:
        return self._on_cast(part)

    def _on_coalesce(self, part: exp.Coalesce) -> Tree:
        return self._variadic("coalesce", part)

    def _on_least(self, part: exp.Least) -> Tree:
        return self._variadic("least", part)

    def _on_greatest(self, part: exp.Greatest) -> Tree:
        return self._variadic("greatest", part)

    def _variadic(self, function: str, part: Any) -> Tree:
        arguments = [self.tree(argument) for argument in (part.this, *part.expressions)]
        kind = self._common(arguments, function)
        return Call(function, tuple(a if kind is None else cast(a, kind) for a in arguments), kind)

    def _on_count(self, part: exp.Count) -> Tree:
        if isinstance(part.this, exp.Distinct):
            if len(part.this.expressions) != 1:
                raise self._error("count(distinct …) takes one expression")
            return self._aggregate("count_distinct", part.this.expressions[0])
        return self._aggregate("count", None if isinstance(part.this, exp.Star) else part.this)

    def _on_median(self, part: exp.Median) -> Tree:
        return self._percentile("percentile", part.this, exp.Literal.number("0.5"))

    def _on_percentilecont(self, part: exp.PercentileCont) -> Tree:
        return self._percentile("percentile", part.this, part.expression)

    def _on_approxquantile(self, part: exp.ApproxQuantile) -> Tree:
        return self._percentile("approx_percentile", part.this, part.args.get("quantile"))

    def _percentile(self, function: str, value: Any, share: Any) -> Tree:
        place = self.tree(share)
        if not (isinstance(place, Literal) and isinstance(place.value, int | float) and 0 <= place.value <= 1):
            raise self._error(f"the second value of {function} must be a constant from 0 to 1, such as 0.95")
        call = self._aggregate(function, value)
        assert isinstance(call, Call)
        return Call(function, (*call.arguments, Literal(float(place.value), Type.FLOAT64)), Type.FLOAT64)

    def _on_anonymous(self, part: exp.Anonymous) -> Tree:
        if part.name.lower() == "window_start" and not part.expressions:
            return self._aggregate("window_start", None)
        if part.name.lower() in ("percentile", "approx_percentile") and len(part.expressions) == 2:
            return self._percentile(part.name.lower(), *part.expressions)
        if part.name.lower() in ("weekday", *OF_MINUTES) and len(part.expressions) == 1:
            return self._part(part.name.lower(), part.expressions[0])
        if part.name.lower() == "date_part" and len(part.expressions) == 2:
            return self._part(self._text_constant(part.expressions[0], "the part").lower(), part.expressions[1])
        raise self._unknown(part.name)

    def _unknown(self, name: str) -> NetworkError:
        close = difflib.get_close_matches(name.lower(), FUNCTIONS, 4, 0.5)
        hint = f"; near it: {', '.join(close)}" if close else "; docs/expressions.md lists those there are"
        return self._error(f"there is no function {name.lower()!r}{hint}")

    def _aggregate(self, function: str, argument: Any) -> Tree:
        if self.window is None:
            raise self._error(f"{function}(…) is over a window; only a box with windows can compute it")
        if self.inside_aggregate:
            raise self._error(f"{function}(…) is inside another function over the window")
        self.inside_aggregate = True
        arguments = () if argument is None else (self.tree(argument),)
        self.inside_aggregate = False
        of = arguments[0].type if arguments else None
        if function in ("sum", "avg", "stddev", "percentile", "approx_percentile"):
            if not (of is None or of.is_number):
                raise self._error(f"{function} needs a number, got {of}")
            whole = Type.INT64 if function in ("sum", "avg") and of is not Type.FLOAT64 else Type.FLOAT64
            kind = whole if function == "sum" else Type.FLOAT64
            return Call(function, tuple(cast(a, whole) for a in arguments), kind)
        if function in ("min", "max", "first", "last"):
            if of is None:
                raise self._error(f"{function} needs a value with a type; write cast(null as …)")
            return Call(function, arguments, of)
        return Call(function, arguments, self.window if function == "window_start" else Type.INT64)


_NUMBERS = [kind for kind in Type if kind.is_number]
_CASTS = (
    {(a, b) for a in _NUMBERS for b in [*_NUMBERS, Type.BOOL]}
    | {(Type.BOOL, b) for b in [*_NUMBERS, Type.STRING]}
    | {(a, Type.STRING) for a in _NUMBERS if a.is_integer}
    | {(Type.STRING, b) for b in _NUMBERS}
    | {(Type.STRING, Type.BOOL), (Type.STRING, Type.TIMESTAMP), (Type.TIMESTAMP, Type.STRING)}
    | {(Type.TIMESTAMP, Type.INT64), (Type.INT64, Type.TIMESTAMP)}
    | {(a, a) for a in Type}
)
