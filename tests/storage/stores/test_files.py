"""What `place` and `appended` promise of a local disk holds on S3 and HDFS too."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest

from arterial.errors import MachineError, RunError
from arterial.storage.appended import AppendedFiles, append_to, cut_back
from arterial.storage.damage import read_json
from arterial.storage.epoch import check_epoch, take_over
from arterial.storage.mapped import map_file
from arterial.storage.place import (
    copy_file,
    copy_folder,
    draft_folder,
    make_folder,
    put_if_absent,
    put_in_place,
    remove,
    remove_drafts,
    remove_folder,
    rename,
    write_parts,
)
from arterial.storage.remote import path_of, renames_folders, stamp
from tests.stores import RunningStore

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(store: RunningStore) -> Iterator[Path]:
    folder = store.folder()
    make_folder(folder)
    yield folder
    remove_folder(folder)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_file_is_replaced_whole(folder: Path) -> None:
    path = folder / "a" / "status.json"
    make_folder(path.parent)
    put_in_place(path, '{"step": 1}')
    before = stamp(path)
    put_in_place(path, '{"step": 2}')
    assert read_json(path) == {"step": 2}
    assert stamp(path) != before
    assert path.stat().st_size == 11
    assert names(folder) == ["a/status.json"], "no draft is left"
    assert path.is_file()
    assert path.parent.is_dir()
    assert not (folder / "b").exists()


def test_content_of_every_kind(folder: Path) -> None:
    put_in_place(folder / "text", "ä")
    put_in_place(folder / "empty", b"")
    put_in_place(folder / "packed.gz", b"as it is")
    put_in_place(folder / "written", lambda file: file.write(b"by a function"))
    write_parts(folder / "parts", [b"12", memoryview(b""), memoryview(b"34"), pa.py_buffer(b"5")])
    assert (folder / "text").read_text() == "ä"
    assert (folder / "empty").read_bytes() == b""
    assert (folder / "packed.gz").read_bytes() == b"as it is"
    assert (folder / "written").read_bytes() == b"by a function"
    assert map_file(folder / "parts").to_pybytes() == b"12345"


def test_what_fails_leaves_the_old_file(folder: Path) -> None:
    put_in_place(folder / "file", "old")

    def fails(file: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        put_in_place(folder / "file", fails)
    assert (folder / "file").read_text() == "old"
    assert names(folder) == ["file"]


def test_only_if_there_is_none(folder: Path) -> None:
    put_if_absent(folder / "run-number", "first")
    put_if_absent(folder / "run-number", "second")
    assert (folder / "run-number").read_text() == "first"
    assert names(folder) == ["run-number"]


def test_files_that_are_not_there(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        (folder / "none").read_bytes()
    with pytest.raises(FileNotFoundError):
        (folder / "none").stat()
    with pytest.raises(FileNotFoundError):
        list((folder / "none").iterdir())
    assert list((folder / "none").glob("*")) == []
    remove(folder / "none")
    remove_folder(folder / "none")


def test_patterns(folder: Path) -> None:
    for name in ("part-1.csv", "part-2.csv", "a/part-3.csv", "a/b/part-4.csv", "a/b/other"):
        make_folder((folder / name).parent)
        put_in_place(folder / name, name)
    assert [path.name for path in folder.glob("part-*.csv")] == ["part-1.csv", "part-2.csv"]
    assert [path.name for path in folder.glob("*/*/part-*")] == ["part-4.csv"]
    assert [path.name for path in folder.glob("a/b/other")] == ["other"]
    assert sorted(path.name for path in folder.rglob("part-*")) == [f"part-{n}.csv" for n in (1, 2, 3, 4)]
    assert {path.name for path in folder.iterdir()} == {"part-1.csv", "part-2.csv", "a"}


def test_appended_and_cut(folder: Path) -> None:
    append_to(folder / "rejects.csv", BytesIO(b"line 1\n"))
    append_to(folder / "rejects.csv", BytesIO(b"line 2\n"))
    assert (folder / "rejects.csv").read_bytes() == b"line 1\nline 2\n"
    cut_back(folder / "rejects.csv", 7)
    assert (folder / "rejects.csv").read_bytes() == b"line 1\n"


def test_parts_of_a_step_are_appended_once(folder: Path) -> None:
    files = AppendedFiles({"0": folder / "out.csv"}, folder / "parts")
    files.open(folder)
    put_in_place(files.part("0", 1, 0), "a\n")
    put_in_place(files.part("0", 1, 1), "b\n")
    for slot in (0, 1):
        files.receive(1, files.part("0", 1, slot).name)
    files.append(1)
    again = AppendedFiles({"0": folder / "out.csv"}, folder / "parts")
    again.open(folder)
    put_in_place(again.part("0", 1, 0), "a\n")
    again.append(1)
    assert (folder / "out.csv").read_text() == "a\nb\n"


def test_a_folder_that_is_drafted_and_renamed(folder: Path) -> None:
    if not renames_folders(folder):
        make_folder(folder / "draft")
        with pytest.raises(OSError, match="folders of S3 cannot be renamed"):
            rename(folder / "draft", folder / "history")
        return
    with draft_folder(folder / "history") as draft:
        make_folder(draft / "2026")
        put_in_place(draft / "2026" / "file", "content")
        rename(draft, folder / "history")
    assert names(folder) == ["history/2026/file"]
    with draft_folder(folder / "other") as draft:
        put_in_place(draft / "file", "content")
    assert names(folder) == ["history/2026/file"]


def test_copies(folder: Path, tmp_path: Path) -> None:
    """Within a store, to a disk and back; what is there is replaced, and what is not there is an error."""
    make_folder(folder / "a" / "b")
    put_in_place(folder / "a" / "b" / "file", "content")
    put_in_place(folder / "a" / "0$ ä+%.zip", b"")
    copy_folder(folder / "a", folder / "c")
    copy_folder(folder / "c", tmp_path / "d")
    copy_folder(tmp_path / "d", folder / "e")
    assert names(folder / "e") == names(folder / "c") == names(folder / "a") == ["0$ ä+%.zip", "b/file"]
    copy_file(folder / "e" / "b" / "file", folder / "e" / "0$ ä+%.zip")
    assert (folder / "e" / "0$ ä+%.zip").read_text() == "content"
    with pytest.raises(FileNotFoundError):
        copy_file(folder / "none", folder / "file")


def test_drafts_of_killed_processes_are_removed(folder: Path) -> None:
    put_in_place(folder / ".status.json.0123456789abcdef.draft", "half")
    remove_drafts(folder)
    assert names(folder) == []


def test_a_run_that_was_taken_over_stops(folder: Path) -> None:
    take_over(folder, "one")
    check_epoch(folder, "one")
    take_over(folder, "two")
    check_epoch(folder, "two")
    with pytest.raises(RunError, match="has taken over the checkpoint"):
        check_epoch(folder, "one")


def _write(path: Path, writer: int) -> str:
    for turn in range(5):
        put_in_place(path, f"{writer}:{turn}:{'x' * 100_000}")
    return path.read_text()[:1]


def test_writers_that_do_not_know_of_each_other(folder: Path) -> None:
    """Each reader sees the whole content of one of them; the path goes to the others as a pickle."""
    path = pickle.loads(pickle.dumps(folder / "contended"))
    # Not forked: this process has threads of the stores' clients.
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert set(pool.map(_write, [path] * 3, range(3))) <= {"0", "1", "2"}
    assert len(path.read_text()) == 100_004
    assert names(folder) == ["contended"]


def test_a_bucket_that_is_not_there(s3: RunningStore) -> None:
    with pytest.raises(OSError, match="nowhere"):
        make_folder(path_of("s3://nowhere/run"))


def test_a_name_node_that_does_not_answer() -> None:
    with pytest.raises(MachineError, match=r"hdfs://127.0.0.1:1: nothing answers there .* expected the name node's"):
        path_of("hdfs://127.0.0.1:1/run").exists()
