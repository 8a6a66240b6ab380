"""What the boxes' `add` functions choose from, to draw random networks."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from arterial.drawing import Network, StreamHandle
from arterial.errors import NetworkError
from arterial.network.schema import Schema, Type
from tests.conformance.expressions import texts

Draw = st.DrawFn
Add = Callable[[Draw, Network, str, StreamHandle, list[StreamHandle]], StreamHandle]
"""Adds a box of that name to the network, fed by the stream, and perhaps by others; gives the stream that leaves it."""


def condition(draw: Draw, schema: Schema) -> str:
    """A predicate."""
    return draw(texts(schema, Type.BOOL, 1))


def columns(stream: StreamHandle, *but: str) -> list[str]:
    """The stream's columns, without its time and those. A box that needs one does not fit where there is none."""
    names = [name for name in stream.schema.names if name not in (stream.type.time, *but)]
    if not names:
        raise NetworkError("the stream has no column but its time")
    return names


def values_over(draw: Draw, stream: StreamHandle, holistic: bool, start: bool = True) -> dict[str, str]:
    """Some aggregates, by name."""
    names = [f.name for f in stream.schema]
    numbers = [f.name for f in stream.schema if f.type.is_number]
    options = ["count(*)", *(f"{a}({n})" for n in names for a in ("count", "min", "max", "first", "last"))]
    options += [f"{a}({n})" for n in numbers for a in ("sum", "avg", "stddev")]
    options += [f"max({n}) + count(*)" for n in numbers]
    options += ["window_start()", *(f"approx_percentile({n}, 0.9)" for n in numbers)] if start else []
    if holistic:
        options += [f"count(distinct {n})" for n in names] + [f"percentile({n}, 0.3)" for n in numbers]
    chosen = draw(st.lists(st.sampled_from(options), min_size=1, max_size=4))
    return {f"v{i}": text for i, text in enumerate(chosen)}


def like(stream: StreamHandle, others: list[StreamHandle]) -> list[StreamHandle]:
    """The streams of the same type."""
    return [other for other in others if other.type == stream.type]


def grouped_like(stream: StreamHandle, others: list[StreamHandle]) -> list[StreamHandle]:
    """The streams with the same groups."""
    return [other for other in others if other.type.keyed_by == stream.type.keyed_by]
