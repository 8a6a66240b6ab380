"""The disk: the one place where the files of a run change, and what a durable run adds to it."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

from arterial.storage.appended import append_to
from arterial.storage.disk import Disk, be_durable, durably, is_durable, using
from arterial.storage.place import draft_folder, make_folder, put_if_absent, put_in_place, rename, write_parts

SOURCE = Path(__file__).parents[2] / "src" / "arterial"
ROOMS = ("engine", "connectors", "moving/application", "linearroad/application")
RAW = re.compile(
    r"\.(?:mkdir|unlink|write_text|write_bytes|touch|rmdir)\(|rmtree\(|\bos\.(?:replace|rename|link|remove|truncate)\("
    r"|open\([^)\n]*[\"'](?:[wax]b?|r\+b?)[\"']"
)
ALLOWED = {
    "engine/host/step_back.py",  # a priority in /proc
    "engine/spark/start/java.py",  # a folder of the machine's, not of a run
    "connectors/sinks/databases/sqlite.py",  # the database's own
    "engine/spark/errors.py",  # what Spark said, for a person to read
    "engine/steering/control.py",  # a lock of its own
    "engine/steering/taps.py",  # shown to a person
    "engine/spark/start/archive.py",
    "engine/spark/start/forks.py",
    "engine/spark/start/gateway.py",
    "engine/run/checkpoint/savepoint.py",  # a copy of a run
    "engine/run/watch/openlineage.py",  # told to others
    "engine/run/versions/views.py",
    "engine/run/versions/versions.py",
    "engine/run/checkpoint/lock.py",
    "engine/run/checkpoint/folder.py",  # temporary checkpoints
    "linearroad/application/run.py",  # --force
    "linearroad/application/frames.py",
    "moving/application/run.py",
    "moving/application/prepare.py",  # drafts of a whole folder
}
"""Files that change something else than what a run goes on from."""


def test_files_of_a_run_change_through_the_disk() -> None:
    found = {
        str(path.relative_to(SOURCE))
        for room in ROOMS
        for path in (SOURCE / room).rglob("*.py")
        if RAW.search(path.read_text())
    }
    assert found <= ALLOWED, "use the functions of arterial.storage.place and arterial.storage.appended"


class Noting(Disk):
    """Notes the names of what is called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def create(self, path: Path, *more: object) -> None:
        self.calls.append("create")
        super().create(path, *more)  # type: ignore[arg-type]

    def rename(self, path: Path, target: Path) -> None:
        self.calls.append(f"rename {target.name}")
        super().rename(path, target)

    def link(self, path: Path, target: Path) -> None:
        self.calls.append(f"link {target.name}")
        super().link(path, target)

    def sync(self, path: Path) -> None:
        self.calls.append(f"sync {'draft' if path.name.startswith('.') else path.name}")
        super().sync(path)


def test_a_durable_file_is_synced_before_its_name_and_the_folder_after(tmp_path: Path) -> None:
    folder, disk = tmp_path / "folder", Noting()
    with using(disk), durably(True):
        make_folder(folder)
        assert disk.calls == [f"sync {tmp_path.name}"]
        disk.calls.clear()
        put_in_place(folder / "file", b"content")
        assert disk.calls == ["create", "sync draft", "rename file", "sync folder"]
        disk.calls.clear()
        put_if_absent(folder / "first", b"content")
        assert disk.calls == ["create", "sync draft", "link first", "sync folder"]
        disk.calls.clear()
        write_parts(folder / "chunk", [b"content"])
        append_to(folder / "log", BytesIO(b"line"))
        assert disk.calls == ["create", "sync chunk", "sync log"]
        disk.calls.clear()
        with draft_folder(folder / "made") as draft:
            (draft / "member").write_bytes(b"")
            rename(draft, folder / "made")
        assert disk.calls[-4:] == ["sync member", "sync draft", "rename made", "sync folder"]


def test_what_is_not_durable_is_not_synced(tmp_path: Path) -> None:
    disk = Noting()
    with using(disk):
        put_in_place(tmp_path / "file", b"content")
    assert disk.calls == ["create", "rename file"]


def test_runs_of_one_process_may_differ() -> None:
    assert not is_durable()
    with durably(True):
        with durably(False):
            assert is_durable()
        with durably(True):
            pass
        assert is_durable()
    assert not is_durable()
    be_durable(True)
    assert is_durable()
    be_durable(False)
    assert not is_durable()
