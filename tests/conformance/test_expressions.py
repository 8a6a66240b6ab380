"""Random expressions on random tuples: the vectorised evaluator gives what the interpreter gives, bit by bit."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arterial.network.expression.parser import parse
from arterial.network.expression.vectorised import evaluate
from arterial.network.schema import Type
from arterial.reference.parts.scalar import scalar
from arterial.testing import frame
from tests.conformance.expressions import texts
from tests.conformance.tuples import SCHEMA, values_of

ROWS = st.lists(st.fixed_dictionaries({f.name: values_of(f.type) for f in SCHEMA}), min_size=1, max_size=6)


@pytest.mark.parametrize(
    "kind",
    [Type.INT64, *(pytest.param(one, marks=pytest.mark.thorough) for one in (Type.STRING, Type.FLOAT64, Type.BOOL))],
)
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_both_evaluators_agree(kind: Type, data: st.DataObject) -> None:
    text = data.draw(texts(SCHEMA, kind))
    tree = parse(text, SCHEMA)
    rows = data.draw(ROWS)
    (column,) = evaluate(frame(rows, SCHEMA), [tree])
    assert tree.type is not None
    assert column.dtype == tree.type.polars
    assert [_bits(v) for v in column.to_list()] == [_bits(scalar(tree)(row)) for row in rows], text


def _bits(value: Any) -> Any:
    if isinstance(value, float):
        return (float, "NaN" if math.isnan(value) else value + 0.0)  # a zero has no sign that could be seen
    return (type(value), value)
