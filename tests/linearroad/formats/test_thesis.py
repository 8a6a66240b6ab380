"""The thesis' layouts: its tuples become events wherever events are read, and answers become its tuples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arterial.linearroad.data.dataset import open_data
from arterial.linearroad.formats.thesis import ThesisLines, thesis_output
from arterial.linearroad.reference import answer
from arterial.linearroad.reference.interpreter import Expected
from tests.linearroad.outputs import answers_of

REPORTS = (
    "0,0,5,40,1,10,0,7,1\n0,0,6,40,1,10,0,0,0\n0,30,5,50,1,10,1759,6,1\n"
    "0,60,5,30,1,11,100,7,1\n0,90,5,10,1,11,120,7,1\n"
)


def rows_of(path: Path, text: str, name: str = "thesis.csv") -> list[dict[str, Any]]:
    (path / name).write_text(text)
    data = open_data(path / name)
    return data.read(0, 10_000).to_pylist()


def test_reports_become_events(tmp_path: Path) -> None:
    """Vehicle 5 enters eastbound by ramp 7, drives in lane 6 and leaves by ramp 7; lane 6 is beside it."""
    rows = rows_of(tmp_path, REPORTS)
    assert [(row["vid"], row["lane"], row["dir"], row["seg"], row["pos"]) for row in rows] == [
        (5, 0, 0, 10, 52_800),
        (6, 0, 1, 10, 52_800),
        (5, 1, 0, 10, 52_800 + 5277),
        (5, 4, 0, 11, 58_080 + 300),
        (5, 4, 0, 11, 58_080 + 360),
    ]
    assert [row[:2] for row in answer(open_data(tmp_path / "thesis.csv").read(0, 100)).notices] == [(5, 0), (6, 0)]


@pytest.mark.parametrize(
    "text",
    [
        "1,91,5,70\n2,92,5,71,1\n3,93,5,72,1,10,12,0,0\n",
        "2,91,5,70\n3,92,5,71,1\n4,93,5,72,1,10,12,0,0\n",
        "1,91,5,70,0,0,0,0,0\n2,92,5,71,1,0,0,0,0\n3,93,5,72,1,10,12,0,0\n",
        "2,91,5,70,0,0,0,0,0\n3,92,5,71,1,0,0,0,0\n4,93,5,72,1,10,12,0,0\n",
        "1,91,5,70\r\n2,92,5,71,1\r\n4,93,5,72,1,10,12,0,0",
    ],
    ids=["tables", "text", "tables, padded", "text, padded", "both, without a last end"],
)
def test_requests_become_events(tmp_path: Path, text: str) -> None:
    rows = rows_of(tmp_path, REPORTS + text)[5:]
    assert [(row["type"], row["time"], row["vid"], row["qid"]) for row in rows] == [
        (2, 91, 5, 70),
        (3, 92, 5, 71),
        (4, 93, 5, 72),
    ]
    assert (rows[1]["xway"], rows[1]["day"]) == (1, 1)
    assert [rows[2][name] for name in ("xway", "sinit", "send", "dow", "tod")] == [1, 10, 12, 1, 1]


def test_a_line_that_is_no_tuple_is_set_aside_as_it_stands(tmp_path: Path) -> None:
    bad = {
        "0,91,2": "not 15 fields",
        "x": "not 15 fields",
        "0,91,5,40,1,100,0,7,1": "seg is not in 0..99",
        "0,91,5,40,1,10,1760,7,1": "pos is not in 0..527999",
        "0,91,5,40,1,10,0,8,1": "lane is not in 0..4",
        "0,91,5,40,1,10,0,7,2": "dir is not in 0..1",
        "3,91,2,3,4,5,6": "not 15 fields",
        "4,91,5,72,1,10,12,7,0": "dow is not in 1..7",
    }
    (tmp_path / "thesis.csv").write_text(REPORTS + "\n".join(bad) + "\n2,92,5,70\n")
    data = open_data(tmp_path / "thesis.csv")
    assert data.events == 6
    assert [(reject.line, reject.text, reject.reason) for reject in data.rejects] == [
        (line, text, reason) for line, (text, reason) in enumerate(bad.items(), start=6)
    ]


def test_pieces_of_a_file_may_end_anywhere() -> None:
    text = (REPORTS * 3 + "1,91,5,70\nx\n").encode()
    whole = ThesisLines.of(text)
    assert whole is not None
    expected = whole.translate(text)
    for size in (1, 7, 50):
        cut = ThesisLines.of(text)
        assert cut is not None
        assert b"".join(cut.translate(text[at : at + size]) for at in range(0, len(text), size)) == expected


def test_our_own_lines_are_not_taken_for_the_thesis() -> None:
    assert ThesisLines.of(b"0,30,7,55,0,1,0,20,105700,-1,-1,-1,-1,-1,-1\n") is None
    assert ThesisLines.of(b"") is None


def test_answers_become_output_tuples() -> None:
    answers = answers_of(
        Expected([(5, 30, 38, 2)], [(90, 5, 1, 12, 0)], [(91, 90, 70, -100)], [(92, 71, 30)], [(93, 72, 180, 4)])
    )
    assert [thesis_output(t, answers.of_type(t)).decode() for t in range(5)] == [
        "0,5,2,38,0\n",
        "1,5,1,12,1\n",
        "2,70,-100,0,0\n",
        "3,71,30,0,0\n",
        "4,72,180,4,0\n",
    ]
