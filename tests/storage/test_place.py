"""Files and folders that are there whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from arterial.errors import MachineError
from arterial.storage.place import (
    PRIVATE,
    draft_folder,
    make_folder,
    put_if_absent,
    put_in_place,
    remove,
    remove_drafts,
    rename,
    write_parts,
)


@pytest.mark.parametrize(
    "content", ["né", "né".encode(), memoryview("né".encode()), [b"n", "é".encode(), b""], lambda file: _write(file)]
)
def test_any_content_replaces_what_is_there(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "file"
    path.write_text("old and longer")
    put_in_place(path, content)
    assert path.read_text(encoding="utf-8") == "né"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("fault", [OSError("full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path: Path, fault: BaseException) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise fault

    with pytest.raises(type(fault)):
        put_in_place(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"new", lambda file: _write(file)])
def test_an_error_names_the_file_and_not_its_draft(tmp_path: Path, content: bytes | Callable[[BinaryIO], None]) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        put_in_place(tmp_path / "missing" / "file", content)
    assert raised.value.filename == str(tmp_path / "missing" / "file")


def test_modes(tmp_path: Path) -> None:
    put_in_place(tmp_path / "secret", b"", mode=PRIVATE)
    put_in_place(tmp_path / "script", lambda file: _write(file), mode=0o700)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o700


def test_of_several_writers_the_first_wins(tmp_path: Path) -> None:
    put_if_absent(tmp_path / "clock", "1")
    put_if_absent(tmp_path / "clock", "2")
    assert (tmp_path / "clock").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["clock"]


def test_parts_never_overwrite(tmp_path: Path) -> None:
    write_parts(tmp_path / "file", [b"a", b"", b"bc"])
    with pytest.raises(FileExistsError):
        write_parts(tmp_path / "file", [b"d"])
    assert (tmp_path / "file").read_bytes() == b"abc"
    remove(tmp_path / "file")
    remove(tmp_path / "file")


def test_a_folder_replaces_an_old_one_only_when_it_is_finished(tmp_path: Path) -> None:
    target = tmp_path / "data"
    for content in ("old", "new"):
        with draft_folder(target) as draft:
            (draft / "file").write_text(content)
            rename(draft, target)
        assert (target / "file").read_text() == content
    with pytest.raises(FileExistsError), draft_folder(target) as draft:
        draft.mkdir()  # fails halfway
    assert (target / "file").read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    drafts: list[Path] = []

    def look(file: BinaryIO) -> None:
        drafts.extend(tmp_path.iterdir())

    put_in_place(tmp_path / "file", look)
    drafts[0].write_text("a process was killed here")
    with draft_folder(tmp_path / "data") as folder:
        name = folder.name
    (tmp_path / name).mkdir()
    (tmp_path / name / "half").touch()
    remove_drafts(tmp_path, "dat")
    assert len(list(tmp_path.iterdir())) == 3
    remove_drafts(tmp_path, "data")
    assert not (tmp_path / name).exists()
    remove_drafts(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def _write(file: BinaryIO) -> None:
    file.write("né".encode())


def test_a_uri_does_not_become_a_local_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (Path("s3a://bucket/out"), Path("hdfs:"), tmp_path / "abfs:" / "deep" / "er"):
        with pytest.raises(MachineError, match="looks like a URI"):
            make_folder(path)
    assert list(tmp_path.iterdir()) == []
    make_folder(tmp_path / "c:d" / "e")
