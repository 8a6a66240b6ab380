"""Expressions for the conformance suite: random text of a wanted type over a schema."""

from __future__ import annotations

from functools import lru_cache

from hypothesis import strategies as st

from arterial.network.schema import Schema, Type


@lru_cache
def texts(schema: Schema, kind: Type, depth: int = 2) -> st.SearchStrategy[str]:
    """Expressions of that type (integers: any width) over the columns of a schema."""
    fitting = [f.name for f in schema if f.type is kind or (kind.is_integer and f.type.is_integer)]
    leaves: list[st.SearchStrategy[str]] = [st.sampled_from(_LITERALS[Type.INT64 if kind.is_integer else kind])]
    if fitting:
        leaves += [st.sampled_from(fitting)] * 3
    if depth == 0:
        return st.one_of(leaves)

    def sub(of: Type) -> st.SearchStrategy[str]:
        return texts(schema, of, depth - 1)

    return st.one_of([*leaves, *_calls(kind, sub)])


_DATE = "to_timestamp((x % 2000000) * 41111 + 7)"
"""A time in any month of some centuries."""
_UNITS = ["second", "hour", "day", "week", "month", "quarter", "year"]
_LITERALS = {
    Type.INT64: ["0", "1", "-2", "3", "9223372036854775807", "cast(null as int64)"],
    Type.FLOAT64: ["0.0", "1.5", "-2.25", "1e300", "cast(null as float64)"],
    Type.STRING: ["'a'", "''", "'it''s'", "cast(null as string)"],
    Type.BOOL: ["true", "false", "cast(null as bool)"],
    Type.TIMESTAMP: ["timestamp '2026-01-01 00:00:10'"],
}


def _calls(kind: Type, sub):  # type: ignore[no-untyped-def]
    integer, number, text, truth = sub(Type.INT64), sub(Type.FLOAT64), sub(Type.STRING), sub(Type.BOOL)
    either = st.one_of(integer, number)
    own = sub(kind)
    common = [
        st.builds("case when {} then {} else {} end".format, truth, own, own),
        st.builds("coalesce({}, {})".format, own, own),
        st.builds("least({}, {})".format, own, own),
        st.builds("greatest({}, {})".format, own, own),
    ]
    if kind.is_integer:
        return [
            *common,
            st.builds("({} {} {})".format, integer, st.sampled_from(["+", "-", "*", "//", "%"]), integer),
            st.builds("abs({})".format, integer),
            st.builds("-({})".format, integer),
            st.builds("length({})".format, text),
            st.builds("strpos({}, {})".format, text, text),
            st.builds("sign({})".format, either),
            st.builds("nullif({}, {})".format, integer, integer),
            st.builds("{}({})".format, st.sampled_from(["year", "month", "day", "hour", "dayofweek"]), st.just(_DATE)),
            st.builds("{}({})".format, st.sampled_from(["week", "millisecond", "epoch_ms"]), st.just(_DATE)),
            st.builds("date_diff('{}', {}, to_timestamp(7))".format, st.sampled_from(_UNITS), st.just(_DATE)),
            st.builds("cast({} as int64)".format, st.one_of(number, text, truth)),
            st.builds("cast({} as int8)".format, either),
        ]
    match kind:
        case Type.FLOAT64:
            return [
                *common,
                st.builds("({} {} {})".format, number, st.sampled_from(["+", "-", "*"]), either),
                st.builds("({} / {})".format, either, either),
                st.builds("{}({})".format, st.sampled_from(["floor", "ceil", "round", "abs", "sqrt"]), number),
                st.builds("round({}, {})".format, number, st.integers(-3, 3)),
                st.builds(
                    "{}({})".format,
                    st.sampled_from(
                        [
                            *[
                                "sin",
                                "cos",
                                "tan",
                                "asin",
                                "acos",
                                "atan",
                                "exp",
                                "ln",
                                "log10",
                                "log2",
                                "trunc",
                                "radians",
                                "sinh",
                                "cosh",
                                "tanh",
                            ]
                        ]
                    ),
                    either,
                ),
                st.builds("{}({}, {})".format, st.sampled_from(["pow", "atan2"]), number, either),
                st.builds("epoch({})".format, st.just(_DATE)),
                st.builds("cast({} as float64)".format, st.one_of(integer, text, truth)),
            ]
        case Type.STRING:
            return [
                *common,
                st.builds("{}({})".format, st.sampled_from(["lower", "upper", "trim", "ltrim", "reverse"]), text),
                st.builds("{}({}, {}, {})".format, st.sampled_from(["lpad", "rpad"]), text, st.integers(0, 5), text),
                st.builds("{}({}, {})".format, st.sampled_from(["left", "right", "repeat"]), text, st.integers(0, 3)),
                st.builds("split_part({}, 'a', {})".format, text, st.integers(-3, 3)),
                st.builds("replace({}, {}, {})".format, text, text, text),
                st.builds("concat({}, {})".format, text, text),
                st.builds("regexp_replace({}, '([ab])(.)', '<\\2\\1$>')".format, text),
                st.builds("regexp_extract({}, {})".format, text, st.sampled_from(["'b+'", "'(a)|b', 1", "'.$'"])),
                st.builds("cast(date_trunc('{}', {}) as string)".format, st.sampled_from(_UNITS), st.just(_DATE)),
                st.builds("strftime({}, '%Y %j %a')".format, st.just(_DATE)),
                st.builds("{}({})".format, st.sampled_from(["dayname", "monthname"]), st.just(_DATE)),
                st.builds("({} || {})".format, text, text),
                st.builds("substr({}, {}, {})".format, text, st.integers(-4, 3), st.integers(0, 3)),
                st.builds("replace({}, 'a', 'bb')".format, text),
                st.builds("cast({} as string)".format, st.one_of(integer, truth)),
            ]
        case Type.BOOL:
            signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
            pairs = st.one_of(st.tuples(either, either), st.tuples(text, text), st.tuples(truth, truth))
            return [
                st.builds(lambda sign, pair: f"({pair[0]} {sign} {pair[1]})", signs, pairs),
                st.builds("({} and {})".format, truth, truth),
                st.builds("({} or {})".format, truth, truth),
                st.builds("(not {})".format, truth),
                st.builds("({} is null)".format, st.one_of(integer, number, text, truth)),
                st.builds("({} is not true)".format, truth),
                st.builds("({} between {} and {})".format, either, either, either),
                st.builds("({} in ({}, null, {}))".format, integer, integer, integer),
                st.builds("({} not in ({}, {}))".format, text, text, text),
                st.builds(
                    "({} like {})".format, text, st.sampled_from(["'a%'", "'_'", "'%b'", "'a\\%b'", "''", "'.*'"])
                ),
                st.builds("cast({} as bool)".format, text),
                st.builds("isnan({})".format, number),
                st.builds("regexp_matches({}, {})".format, text, st.sampled_from(["'^a'", "'b$'", "'[^a]'", "'\\d'"])),
                st.builds("(cast({} || '01-02' as timestamp) is null)".format, st.sampled_from(["'2026-'", "s"])),
                st.builds("{}({}, {})".format, st.sampled_from(["starts_with", "contains", "ends_with"]), text, text),
            ]
    return common
