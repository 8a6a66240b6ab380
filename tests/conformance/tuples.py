"""Streams for the conformance suite: schemas, and tuples with disorder, duplicates, nulls, bursts and gaps."""

from __future__ import annotations

import math
import random
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from arterial.network.schema import Schema, Type

INTEGERS = st.one_of(st.integers(-3, 9), st.sampled_from([0, 2**62, -(2**63), 2**63 - 1, -1]))
FLOATS = st.one_of(
    st.sampled_from([0.0, 0.5, -1.25, 3.0, 1e300, 0.1, 0.2, 0.3]), st.floats(-100, 100, allow_subnormal=False)
)
TEXTS = st.sampled_from(["", "a", "b", "ab", "Ärger", "a%b", "zz", "12", "-7", " x "])


def values_of(kind: Type) -> st.SearchStrategy[Any]:
    """Values of a column, nulls among them."""
    match kind:
        case Type.FLOAT64:
            some = FLOATS
        case Type.STRING:
            some = TEXTS
        case Type.BOOL:
            some = st.booleans()
        case Type.TIMESTAMP:
            some = st.integers(0, 50).map(lambda s: datetime(2026, 1, 1) + timedelta(seconds=s))
        case Type.INT64:
            some = INTEGERS
        case _:
            some = st.integers(-3, 9)
    return st.one_of(st.none(), some, some, some)


SCHEMA = Schema.of(
    {"k": "int64", "j": "string", "t": "int64", "x": "int64", "n": "int16", "f": "float64", "s": "string", "b": "bool"}
)
KEYS = {"k": [1, 2, 3, None], "j": ["a", "b", None]}


@st.composite
def streams(draw: st.DrawFn, schema: Schema = SCHEMA, time: str = "t", longest: int = 24) -> list[dict[str, Any]]:
    """Tuples in the order of arrival: bursts, small steps, gaps; some behind, some without time, some twice.

    One seed decides all values: to draw each by itself would take longer than to run the network.
    """
    length = draw(st.integers(0, longest))
    return arrivals(length, draw(st.integers(0, 2**32)), schema, time)


def arrivals(length: int, seed: int, schema: Schema = SCHEMA, time: str = "t") -> list[dict[str, Any]]:
    """So many tuples of that seed."""
    chance = random.Random(seed)
    now = chance.randint(-5, 100)
    made: list[dict[str, Any]] = []
    for _ in range(length):
        if made and chance.random() < 0.1:
            made.append(dict(chance.choice(made)))
            continue
        now += chance.choice([0, 0, 0, 1, 1, 2, 7, 40])
        values = {f.name: _value(f.name, f.type, chance) for f in schema}
        values[time] = None if chance.random() < 0.03 else now - chance.choice([0, 0, 0, 1, 2, 5])
        if schema[time] is Type.TIMESTAMP and values[time] is not None:
            values[time] = datetime(2026, 1, 1) + timedelta(seconds=values[time])
        made.append(values)
    return made


def _value(name: str, kind: Type, chance: random.Random) -> Any:
    if name in KEYS:
        return chance.choice(KEYS[name])
    if chance.random() < 0.2:
        return None
    match kind:
        case Type.FLOAT64:
            return chance.choice([0.0, 0.5, -1.25, 1e300, 0.1, 0.2, 0.3, -0.0, math.nan, chance.uniform(-9, 9)])
        case Type.STRING:
            return chance.choice(["", "a", "b", "ab", "Ärger", "a%b", "zz"])
        case Type.BOOL:
            return chance.random() < 0.5
        case Type.TIMESTAMP:
            return datetime(2026, 1, 1) + timedelta(seconds=chance.randint(0, 50))
        case Type.INT64:
            return chance.choice([0, 1, 2, 3, 7, -5, 2**62, -(2**63), 2**63 - 1])
    return chance.randint(-3, 9)
