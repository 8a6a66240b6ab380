"""The thesis' layouts: its tuples become events and answers become its tuples."""

from __future__ import annotations

from pathlib import Path

import pytest

from arterial.errors import DataError
from arterial.linearroad.events import EVENT_SCHEMA
from arterial.linearroad.reference import answer
from arterial.linearroad.reference.interpreter import Expected
from arterial.linearroad.thesis import read_thesis_input, thesis_output_lines
from tests.linearroad.outputs import answers_of


def test_input_tuples_become_events(tmp_path: Path) -> None:
    """Vehicle 5 enters eastbound by ramp 7, drives in lane 6 and leaves by ramp 7; lane 6 is beside it."""
    file = tmp_path / "thesis.csv"
    file.write_text(
        "0,0,5,40,1,10,0,7,1\n0,30,5,50,1,10,1759,6,1\n0,60,5,30,1,11,100,7,1\n0,90,5,10,1,11,120,7,1\n"
        "0,0,6,40,1,10,0,0,0\n1,91,5,70\n2,92,5,71,1\n4,93,5,72,1,10,12,0,0\n"
    )
    table = read_thesis_input(file)
    assert table.schema == EVENT_SCHEMA
    rows = table.to_pylist()
    assert [(row["lane"], row["dir"], row["seg"], row["pos"]) for row in rows[:5]] == [
        (0, 0, 10, 52_800),
        (1, 0, 10, 52_800 + 5277),
        (4, 0, 11, 58_080 + 300),
        (4, 0, 11, 58_080 + 360),
        (0, 1, 10, 52_800),
    ]
    assert [(row["type"], row["time"], row["qid"]) for row in rows[5:]] == [(2, 91, 70), (3, 92, 71), (4, 93, 72)]
    assert (rows[7]["sinit"], rows[7]["send"], rows[7]["dow"], rows[7]["tod"]) == (10, 12, 1, 1)
    assert [row[:2] for row in answer(table).notices] == [(5, 0), (6, 0)]


def test_answers_become_output_tuples() -> None:
    answers = answers_of(
        Expected([(5, 30, 38, 2)], [(90, 5, 1, 12, 0)], [(91, 90, 70, -100)], [(92, 71, 30)], [(93, 72, 180, 4)])
    )
    assert list(thesis_output_lines(answers)) == [
        "0,5,2,38,0",
        "1,5,1,12,1",
        "2,70,-100,0,0",
        "3,71,30,0,0",
        "4,72,180,4,0",
    ]


@pytest.mark.parametrize("line", ["0,1,2", "x", "0,0,5,40,1,100,0,7,1", "0,0,5,40,1,10,0,8,1", "3,1,2,3,4,5,6"])
def test_a_line_that_is_no_tuple_is_told_by_its_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "thesis.csv"
    file.write_text(f"1,91,5,70\n{line}\n")
    with pytest.raises(DataError, match=r"thesis\.csv:2"):
        read_thesis_input(file)
