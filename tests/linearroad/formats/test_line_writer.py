"""Lines are those that Python would write."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arterial.linearroad.formats.line_writer import MAX_FIELD_BYTES, PIECE_ROWS, event_lines, write_lines
from tests.linearroad.traffic import report, table_of, text_of


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3), max_size=20))
def test_any_integers(rows: list[list[int]]) -> None:
    values = np.array(rows, np.int64).reshape(-1, 3)
    text = np.empty(values.size * MAX_FIELD_BYTES, np.uint8)
    expected = "".join(",".join(map(str, row)) + "\n" for row in rows)
    assert text[: write_lines(values, text)].tobytes().decode() == expected


@pytest.mark.thorough
def test_more_events_than_a_piece() -> None:
    rows = [report(second, second % 7) for second in range(PIECE_ROWS + 3)]
    assert b"".join(event_lines(table_of(rows))) == text_of(rows)
