"""Expressions: SQL text, parsed once into a small typed tree whose types and read columns are known.

The meaning is fixed so that both engines agree to the last bit: `/` always gives float64; `//` is the floor of a
division and `%` its remainder, of integers; integers are 64 bits wide and wrap; division by zero is null; logic is
three-valued; NaN equals itself and is greater than any other number; text is compared by code point.
`arterial.network.expression.vectorised` evaluates a tree over columns, `arterial.reference.scalar` over one tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from arterial.errors import NetworkError
from arterial.network.expression.tree import Call, Column, Literal, Tree, cast, common_type, known_column
from arterial.network.schema import Schema, Type

MIN_INT, MAX_INT = -(2**63), 2**63 - 1


def parse(text: str, schema: Schema, window: Type | None = None) -> Tree:
    """The tree of an expression over tuples of that schema.

    `window` is the type of the time column, where the expression is over a window and may hold aggregates.

    >>> parse("speed > 100", Schema.of({"speed": "int16"})).type
    <Type.BOOL: 'bool'>
    """
    if not isinstance(text, str) or not text.strip():
        raise NetworkError(f"expected an expression as text, got {text!r}")
    return _parse(text, schema, window)


@lru_cache(maxsize=4096)
def _parse(text: str, schema: Schema, window: Type | None) -> Tree:
    try:
        parsed = sqlglot.parse_one(text, read=Dialect)
    except SqlglotError as error:
        reason = str(error).split("\n")[0].removesuffix(".")
        raise NetworkError(f"cannot read the expression {text!r}: {reason}") from None
    return _Binder(text, schema, window).tree(parsed)


def predicate(text: str, schema: Schema) -> Tree:
    """The tree of an expression that must be true or false."""
    tree = parse(text, schema)
    if tree.type not in (Type.BOOL, None):
        raise NetworkError(f"expected a condition (bool), got {tree.type} from {text!r}")
    return cast(tree, Type.BOOL)


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
_TEXT_FUNCTIONS: dict[type[exp.Expression], str] = {exp.Lower: "lower", exp.Upper: "upper", exp.Trim: "trim"}
_TEXT_TESTS: dict[type[exp.Expression], str] = {
    exp.StartsWith: "starts_with", exp.EndsWith: "ends_with", exp.Contains: "contains",
}  # fmt: skip


class _Binder:
    """Turns sqlglot's tree into ours, checking every type on the way."""

    def __init__(self, text: str, schema: Schema, window: Type | None) -> None:
        self.text = text
        self.schema = schema
        self.window = window
        self.inside_aggregate = False

    def tree(self, part: Any) -> Tree:
        kind = type(part)
        if kind in _COMPARISONS:
            return self._comparison(_COMPARISONS[kind], self.tree(part.this), self.tree(part.expression))
        if kind in _ARITHMETIC:
            return self._arithmetic(_ARITHMETIC[kind], self.tree(part.this), self.tree(part.expression))
        if kind in _AGGREGATE_NODES:
            return self._aggregate(_AGGREGATE_NODES[kind], part.this)
        if kind in _TEXT_FUNCTIONS:
            if part.args.get("expression") is not None:
                raise self._error(f"{_TEXT_FUNCTIONS[kind]} takes one text")
            return Call(_TEXT_FUNCTIONS[kind], (self._text(part.this),), Type.STRING)
        if kind in _TEXT_TESTS:
            return Call(_TEXT_TESTS[kind], (self._text(part.this), self._text(part.expression)), Type.BOOL)
        handler: Callable[[Any], Tree] | None = getattr(self, f"_on_{kind.__name__.lower()}", None)
        if handler is None:
            raise self._error(f"{part.sql(dialect='duckdb')!r} is not supported in an expression")
        return handler(part)

    def _error(self, message: str) -> NetworkError:
        return NetworkError(f"expression {self.text!r}: {message}")

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
            return self._integer(int(part.this))
        return Literal(float(part.this), Type.FLOAT64)

    def _integer(self, value: int) -> Tree:
        if not MIN_INT <= value <= MAX_INT:
            raise self._error(f"{value} does not fit into 64 bits")
        return Literal(value, Type.INT64)

    def _on_boolean(self, part: exp.Boolean) -> Tree:
        return Literal(bool(part.this), Type.BOOL)

    def _on_null(self, part: exp.Null) -> Tree:
        return Literal(None, None)

    def _on_neg(self, part: exp.Neg) -> Tree:
        if isinstance(part.this, exp.Literal) and not part.this.is_string and part.this.this.isdigit():
            return self._integer(-int(part.this.this))
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
        low = self._comparison(">=", value, self.tree(part.args["low"]))
        high = self._comparison("<=", value, self.tree(part.args["high"]))
        return Call("and", (low, high), Type.BOOL)

    def _on_in(self, part: exp.In) -> Tree:
        value = self.tree(part.this)
        tests = [self._comparison("=", value, self.tree(option)) for option in part.expressions]
        if not tests:
            raise self._error("expected a list of values after `in`")
        result = tests[0]
        for test in tests[1:]:
            result = Call("or", (result, test), Type.BOOL)
        return result

    def _on_like(self, part: exp.Like) -> Tree:
        pattern = self.tree(part.expression)
        if not (isinstance(pattern, Literal) and pattern.type is Type.STRING):
            raise self._error("the pattern of `like` must be a constant text")
        test = Call("like", (self._text(part.this), pattern), Type.BOOL)
        return Call("not", (test,), Type.BOOL) if part.args.get("negate") else test

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
        subject = None if part.this is None else self.tree(part.this)
        arguments: list[Tree] = []
        for branch in part.args["ifs"]:
            if subject is None:
                arguments.append(self._condition(branch.this))
            else:
                arguments.append(self._comparison("=", subject, self.tree(branch.this)))
            arguments.append(self.tree(branch.args["true"]))
        default = part.args.get("default")
        arguments.append(Literal(None, None) if default is None else self.tree(default))
        return self._choice(arguments)

    def _on_if(self, part: exp.If) -> Tree:
        otherwise = part.args.get("false")
        rest = Literal(None, None) if otherwise is None else self.tree(otherwise)
        return self._choice([self._condition(part.this), self.tree(part.args["true"]), rest])

    def _choice(self, arguments: list[Tree]) -> Tree:
        places = [*range(1, len(arguments) - 1, 2), len(arguments) - 1]
        kind = self._common([arguments[i] for i in places], "case")
        for i in places:
            arguments[i] = arguments[i] if kind is None else cast(arguments[i], kind)
        return Call("case", tuple(arguments), kind)

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

    def _instant(self, text: str) -> int:
        from datetime import UTC, datetime

        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise self._error(f"expected a timestamp such as '2026-11-15 20:00:00', got {text!r}") from None
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds

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

    def _on_abs(self, part: exp.Abs) -> Tree:
        return self._numeric("abs", part.this)

    def _on_floor(self, part: exp.Floor) -> Tree:
        return self._to_whole("floor", part.this)

    def _on_ceil(self, part: exp.Ceil) -> Tree:
        return self._to_whole("ceil", part.this)

    def _to_whole(self, function: str, argument: Any) -> Tree:
        value = self._number(argument)
        return value if value.type is not Type.FLOAT64 else Call(function, (value,), Type.FLOAT64)

    def _on_round(self, part: exp.Round) -> Tree:
        value = self._number(part.this)
        digits = part.args.get("decimals")
        if digits is None:
            return value if value.type is not Type.FLOAT64 else Call("round", (value,), Type.FLOAT64)
        places = self.tree(digits)
        if not (isinstance(places, Literal) and isinstance(places.value, int) and 0 <= places.value <= 15):
            raise self._error("the number of digits of round must be a constant from 0 to 15")
        scale = Literal(float(10**places.value), Type.FLOAT64)
        scaled = Call("*", (cast(value, Type.FLOAT64), scale), Type.FLOAT64)
        return Call("/", (Call("round", (scaled,), Type.FLOAT64), scale), Type.FLOAT64)

    def _on_sqrt(self, part: exp.Sqrt) -> Tree:
        return Call("sqrt", (cast(self._number(part.this), Type.FLOAT64),), Type.FLOAT64)

    def _on_length(self, part: exp.Length) -> Tree:
        return Call("length", (self._text(part.this),), Type.INT64)

    def _on_dpipe(self, part: exp.DPipe) -> Tree:
        return Call("concat", (self._text(part.this), self._text(part.expression)), Type.STRING)

    def _on_substring(self, part: exp.Substring) -> Tree:
        limits = []
        for key, least in (("start", 1), ("length", 0)):
            given = part.args.get(key)
            limit = None if given is None else self.tree(given)
            if limit is not None:
                if not (isinstance(limit, Literal) and isinstance(limit.value, int) and limit.value >= least):
                    raise self._error(f"the {key} of substr must be a constant integer of at least {least}")
                limits.append(limit)
        return Call("substr", (self._text(part.this), *limits), Type.STRING)

    def _on_replace(self, part: exp.Replace) -> Tree:
        old, new = self.tree(part.expression), self.tree(part.args["replacement"])
        if not (isinstance(old, Literal) and isinstance(new, Literal) and old.value and new.type is Type.STRING):
            raise self._error("replace needs constant texts, the first of them not empty")
        return Call("replace", (self._text(part.this), old, new), Type.STRING)

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
        return self._percentile("approx_percentile", part.this, part.args["quantile"])

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
        raise self._error(f"there is no function {part.name!r}")

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

    def _numeric(self, function: str, argument: Any) -> Tree:
        value = self._number(argument)
        kind = Type.FLOAT64 if value.type is Type.FLOAT64 else Type.INT64
        return Call(function, (cast(value, kind),), kind)

    def _arithmetic(self, function: str, left: Tree, right: Tree) -> Tree:
        if function == "-" and left.type is Type.TIMESTAMP and right.type is Type.TIMESTAMP:
            return Call("-", (cast(left, Type.INT64), cast(right, Type.INT64)), Type.INT64)
        for side in (left, right):
            if not (side.type is None or side.type.is_number):
                raise self._error(f"`{function}` needs numbers, got {side.type}")
        kind = Type.FLOAT64 if Type.FLOAT64 in (left.type, right.type) else Type.INT64
        return Call(function, (cast(left, kind), cast(right, kind)), kind)

    def _comparison(self, function: str, left: Tree, right: Tree) -> Tree:
        if Type.TIMESTAMP in (left.type, right.type):
            left, right = self._as_instant(left), self._as_instant(right)
        kind = self._common([left, right], f"`{function}`")
        if kind is not None and kind.is_integer:
            kind = Type.INT64
        if kind is None:
            return Literal(None, Type.BOOL)
        return Call(function, (cast(left, kind), cast(right, kind)), Type.BOOL)

    def _as_instant(self, tree: Tree) -> Tree:
        if isinstance(tree, Literal) and isinstance(tree.value, str):
            return Literal(self._instant(tree.value), Type.TIMESTAMP)
        return tree

    def _common(self, trees: list[Tree], what: str) -> Type | None:
        try:
            return common_type((tree.type for tree in trees), what)
        except NetworkError as mistake:
            raise self._error(str(mistake)) from None

    def _condition(self, part: Any) -> Tree:
        tree = self.tree(part)
        if tree.type is None:
            return Literal(None, Type.BOOL)
        if tree.type is not Type.BOOL:
            raise self._error(f"expected a condition (bool), got {tree.type} from {part.sql(dialect='duckdb')!r}")
        return tree

    def _number(self, part: Any) -> Tree:
        tree = self.tree(part)
        if tree.type is None:
            return cast(tree, Type.INT64)
        if not tree.type.is_number:
            raise self._error(f"expected a number, got {tree.type} from {part.sql(dialect='duckdb')!r}")
        return tree

    def _text(self, part: Any) -> Tree:
        tree = self.tree(part)
        if tree.type is None:
            return cast(tree, Type.STRING)
        if tree.type is not Type.STRING:
            raise self._error(f"expected text, got {tree.type} from {part.sql(dialect='duckdb')!r}")
        return tree


_NUMBERS = [kind for kind in Type if kind.is_number]
_CASTS = (
    {(a, b) for a in _NUMBERS for b in [*_NUMBERS, Type.BOOL]}
    | {(Type.BOOL, b) for b in [*_NUMBERS, Type.STRING]}
    | {(a, Type.STRING) for a in _NUMBERS if a.is_integer}
    | {(Type.STRING, b) for b in _NUMBERS}
    | {(Type.TIMESTAMP, Type.INT64), (Type.INT64, Type.TIMESTAMP)}
    | {(a, a) for a in Type}
)
