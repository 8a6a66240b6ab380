"""Lines set aside: counts, examples, and the file in its two formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arterial.connectors.rejects import FULL, SEVERAL_FILES, Reject, Rejects, read_rejects
from arterial.errors import DataError, MachineError
from arterial.storage.remote import path_of
from tests.stores import MemoryStore

BAD = [Reject(2, "no number", 'a "b", c', "x.csv"), Reject(9, "no number", "d\re", "x.csv"), Reject(11, "empty", "")]


def test_counts_and_a_few_examples_stay_in_memory(tmp_path: Path) -> None:
    rejects = Rejects(tmp_path / "r.csv", examples=2)
    assert not rejects
    rejects.add(BAD[:1])
    rejects.add(BAD[1:])
    assert len(rejects) == 3
    assert rejects.counts == {"no number": 2, "empty": 1}
    assert rejects.examples == BAD[:2]


def test_csv_keeps_any_text(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    Rejects(path, SEVERAL_FILES).add(BAD)
    assert path.read_bytes().startswith(b'file,line,reason,text\n"x.csv",2,"no number","a ""b"", c"\n')
    assert read_rejects(path) == BAD
    Rejects(path).add(BAD)
    assert path.read_bytes().startswith(b"line,reason,text\n2,")
    assert read_rejects(path) == [reject._replace(file="") for reject in BAD]


def test_json_lines(tmp_path: Path) -> None:
    Rejects(tmp_path / "r.jsonl").add(BAD)
    lines = (tmp_path / "r.jsonl").read_text().split("\n")
    assert json.loads(lines[0]) == {"line": 2, "reason": "no number", "text": 'a "b", c'}
    assert len(lines) == 4


def test_there_is_a_file_only_if_something_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("old")
    Rejects(path).add([])
    assert not path.exists()
    assert read_rejects(path) == []


def test_a_file_in_a_store_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written again with every line."""
    store = MemoryStore.in_place(monkeypatch)
    rejects = Rejects(path_of("s3://city/run/rejects.jsonl"))
    for number in range(20):
        rejects.add([Reject(number, "no number", "x" * 100_000)])
    assert len(rejects) == 20
    assert FULL in store.files["city/run/rejects.jsonl"].decode().splitlines()[-1]
    assert store.written < 8 << 20


def test_a_file_is_resumed_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    first = Rejects(path, resume_at=0)
    assert path.read_text() == "line,reason,text\n"
    first.add(BAD[:1])
    kept = first.size
    first.add(BAD[1:])
    again = Rejects(path, resume_at=kept)
    assert again.size == kept
    again.add(BAD[2:])
    assert [reject.line for reject in read_rejects(path)] == [2, 11]


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl"])
def test_a_file_has_a_bound(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rejects = Rejects(path, most_bytes=500)
    for number in range(100):
        rejects.add([Reject(number, "no number", "x" * 20), Reject(number, "no number", "y" * 20)])
    assert len(rejects) == 200
    assert 500 <= path.stat().st_size < 500 + 200
    *kept, last = path.read_text().splitlines()
    assert FULL in last
    assert FULL not in kept[-1]
    assert sum("no number" in line for line in kept) > 4
    if path.suffix == ".csv":
        assert [reject.line for reject in read_rejects(path)][:5] == [0, 0, 1, 1, 2]
    else:
        assert json.loads(last)["line"] == 0
    # Who goes on after the file was full keeps to the bound; who finds it gone begins one again.
    again = Rejects(path, resume_at=rejects.size, most_bytes=500)
    again.add(BAD)
    assert path.read_text().splitlines()[-1] == last
    path.unlink()
    again.add(BAD)
    assert "d" in path.read_text()


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"r\.csv: cannot be written"):
        Rejects(tmp_path / "no folder" / "r.csv").add(BAD)
    (tmp_path / "r.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="cannot be read as a file of lines that were set aside"):
        read_rejects(tmp_path / "r.csv")
