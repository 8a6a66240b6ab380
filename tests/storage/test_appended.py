"""Files that grow step by step, each piece once."""

from __future__ import annotations

from pathlib import Path

import pytest

from arterial.errors import RunError
from arterial.storage.appended import AppendedFiles


def test_what_was_not_noted_is_cut_off(tmp_path: Path) -> None:
    one, two, journal = tmp_path / "one.csv", tmp_path / "two.csv", tmp_path / "journal.json"
    files = AppendedFiles([one, two], journal)
    assert files.step == -1
    a, b, c, d = (_piece(tmp_path, name) for name in "abcd")
    files.append(4, [(one, a), (two, b), (one, c)], {"lines": 3})
    with one.open("ab") as file:
        file.write(b"half of a st")  # and then the process was killed
    files = AppendedFiles([one, two], journal)
    assert (files.step, files.kept) == (4, {"lines": 3})
    files.append(5, [(two, d)])
    assert (one.read_text(), two.read_text()) == ("a\nc\n", "b\nd\n")


def test_a_file_that_lost_lines_is_refused(tmp_path: Path) -> None:
    file, journal = tmp_path / "out.csv", tmp_path / "journal.json"
    AppendedFiles([file], journal).append(1, [(file, _piece(tmp_path, "a line"))])
    file.unlink()
    with pytest.raises(RunError, match="shorter than the run left it"):
        AppendedFiles([file], journal)


def _piece(folder: Path, line: str) -> Path:
    piece = folder / f"{line}.part"
    piece.write_text(f"{line}\n")
    return piece
