"""CSV block by block: records, fields, quotes; what does not fit."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arterial.connectors import csv as blocks
from arterial.connectors.csv import read_header, read_texts, record_blocks
from arterial.connectors.rejects import Reject
from arterial.errors import DataError


def texts(tmp_path: Path, text: str | bytes) -> blocks.Texts:
    (tmp_path / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_texts(tmp_path / "a.csv", aside=True)


def test_rows_with_the_numbers_of_their_lines(tmp_path: Path) -> None:
    found = texts(tmp_path, 'n, name\r\n1,a\r\n\r\n2,"b\nb, ""c"""\r\n3,\r\n')
    assert found.rows.rows() == [("1", "a"), ("2", 'b\nb, "c"'), ("3", None)]
    assert list(found.lines) == [2, 4, 6]


def test_too_many_and_too_few_fields(tmp_path: Path) -> None:
    found = texts(tmp_path, "a,b\n1,2\n1\n1,2,3\n4,5")
    assert found.rows.rows() == [("1", "2"), ("4", "5")]
    assert found.rejects == [Reject(3, "1 field(s), expected 2", "1"), Reject(4, "3 field(s), expected 2", "1,2,3")]


def test_quotes_that_open_nothing(tmp_path: Path) -> None:
    found = texts(tmp_path, 'a,b\n5" pipe,x\n"open,1\n2,3\n')
    assert found.rows.rows() == [('5" pipe', "x"), ("2", "3")]
    assert found.rejects == [Reject(3, "a quoted field is not closed", '"open,1')]


def test_other_delimiters(tmp_path: Path) -> None:
    assert texts(tmp_path, "a;b\n1,5;2\n").rows.rows() == [("1,5", "2")]
    assert texts(tmp_path, "a\tb\n1\t2\n").rows.rows() == [("1", "2")]


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is empty"):
        texts(tmp_path, "")
    with pytest.raises(DataError, match="two columns are named 'n'"):
        texts(tmp_path, "n,n\n1,2,3\n")
    with pytest.raises(DataError, match=r"none\.csv: cannot be read"):
        read_texts(tmp_path / "none.csv")


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"n,name\n1\n2,caf\xe9\n3,caf\xc3\xa9\n4,caf\xe8\n")
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read_texts(tmp_path / "a.csv")
    found = read_texts(tmp_path / "a.csv", aside=True)
    assert (found.rows.rows(), list(found.lines)) == ([("3", "caf\u00e9")], [4])
    assert [(reject.line, reject.reason) for reject in found.rejects] == [
        (2, "1 field(s), expected 2"),
        (3, "is not UTF-8"),
        (5, "is not UTF-8"),
    ]


FIELD = st.text(st.sampled_from('ab,"\n\r 1'), max_size=5)


@pytest.mark.thorough
@given(st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=8), st.integers(1, 40))
def test_as_python_writes_it_however_it_is_cut(rows: list[tuple[str, str]], size: int) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([("a", "b"), *rows])
    file = io.BytesIO(text.getvalue().encode())
    header = read_header(file, "x")
    got = []
    before, blocks.BLOCK_BYTES = blocks.BLOCK_BYTES, size
    try:
        for records, bad, _, _ in record_blocks(file, header):
            assert not bad
            got += [records.text(place) for place in range(len(records.starts))]
    finally:
        blocks.BLOCK_BYTES = before
    assert [tuple(next(csv.reader(io.StringIO(one, newline="")))) for one in got] == rows
